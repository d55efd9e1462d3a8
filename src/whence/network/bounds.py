"""The static bound U (Ananke, Theorem 4.1): how far behind the watermark a source row can still contribute."""

from __future__ import annotations

from whence.network.graph import fold
from whence.network.node import Node, Source


def static_bounds(root: Node) -> dict[str, int | None]:
    """For each source the largest, over paths, of the sum of reaches, in microseconds; `None` where unbounded.

    >>> static_bounds(accidents)          # 120 s windows, then 30 s windows
    {'reports': 150000000}
    """

    def rule(node: Node, below: list[dict[str, int | None]]) -> dict[str, int | None]:
        if isinstance(node, Source):
            return {node.source: 0}
        reach = node.reach
        merged: dict[str, int | None] = {}
        for bounds in below:
            for source, bound in bounds.items():
                total = None if bound is None or reach is None else bound + reach
                seen = merged.get(source, 0)
                merged[source] = None if total is None or seen is None else max(total, seen)
        return merged

    return fold(root, rule)


def keeps_state(root: Node) -> bool:
    """Whether any step keeps rows from one batch to the next: without one, a row is done when its batch is."""
    return fold(root, lambda node, below: any(below) or (node.stateful and node.reach != 0))
