"""What a mode is: an annotation algebra over Columns, and what it claims of itself.

Map, filter and union carry tags unchanged, so they are no part of a mode: they live once, in `weave`. A capability is
`False` until a mode proves it: a mode whose author proved nothing is refused, not wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pyspark.sql import Column


@dataclass(frozen=True)
class Part:
    """How one source's share of a tag rides on a row: in `column`, as one reference or as a list of them.

    `kept` says that each reference has its source row beside it (`keep="rows"`), `dated` that it has its batch.
    """

    column: str
    many: bool = False
    kept: bool = False
    dated: bool = False


Tag = dict[str, Part]
"""A tag: its parts by source. A source that cannot contribute has none."""


class Mode(Protocol):
    """How tags are made and read. Every method is Column in, Column out: Spark does the work."""

    name: str
    traces: bool
    """Whether answers can be had at all."""
    updates: bool
    """Whether versions of updating results (update and complete mode) are exact."""
    keeps: bool
    """Whether source rows can travel with their references (`keep="rows"`)."""
    stored: bool
    """Whether the store holds the ids themselves, so that an answer is a read."""

    def leaf(self, row_id: Column, row: Column | None, at: Column | None) -> Column:
        """The reference of a source row to itself; `row` where rows are kept, `at` the batch in which it came."""
        ...

    def pair(self, left: tuple[Column, Part], right: tuple[Column, Part]) -> Column:
        """Both sides of a join, as a list; either side may be null."""
        ...

    def promote(self, tag: Column) -> Column:
        """One reference, possibly null, as a list."""
        ...

    def fold(self, tag: Column, part: Part) -> Column:
        """An aggregate over a group's tags."""
        ...

    def ids(self, tag: Column, part: Part, at: Column | None) -> Column:
        """The set of source ids, sorted; of a `dated` tag only those that came in batch `at`, where it is given."""
        ...

    def kept(self, tag: Column, part: Part, at: Column | None) -> Column:
        """The references with their rows, as an array of `struct<id, row>`."""
        ...
