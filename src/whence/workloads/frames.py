"""What a workload's query asks of a frame: DataFrame's own method names, and no more.

A plain PySpark DataFrame and a TracedFrame both have them, so each query is written once and runs on either.
"""

from typing import Any, Protocol, TypeVar


class Grouped(Protocol):
    """What ``groupBy`` gives."""

    def agg(self, *exprs: Any) -> Any: ...


class Frame(Protocol):
    """The part of DataFrame's interface that the workloads use."""

    def select(self, *cols: Any) -> Any: ...

    def where(self, condition: Any) -> Any: ...

    def groupBy(self, *cols: Any) -> Any: ...

    def join(self, other: Any, on: Any = None, how: Any = None) -> Any: ...

    def withWatermark(self, eventTime: str, delayThreshold: str) -> Any: ...


FrameT = TypeVar("FrameT", bound=Frame)
