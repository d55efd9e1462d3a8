"""Watermarks: how the query's own one moves on, and what each stateful step is given of it.

Example: two `withWatermark`s: the query's watermark is the lower of what both have seen, and stays 0 until both
have seen something. The surprise: what each has seen is forgotten at a restart, the query's watermark is not; so a
query with two watermarks may advance later than it would have without the restart.
"""

from __future__ import annotations

from whence.testing import description as d
from whence.testing.oracle.deduplicate import Deduplication
from whence.testing.oracle.join import StreamJoin
from whence.testing.oracle.plan import Node
from whence.testing.oracle.reach import state_watermarks
from whence.testing.oracle.values import SECOND, holds

MILLISECOND = 1_000


class Tracker:
    """The query's watermark, in microseconds at millisecond steps; never below 0."""

    def __init__(self, root: Node) -> None:
        self._nodes = [one for one in root.walk() if isinstance(one.step, d.Watermark)]
        self._seen: dict[d.Step, int] = {}
        self.now = 0

    def restart(self) -> None:
        """Forgets what each `withWatermark` has seen; the query's own watermark stays."""
        self._seen.clear()

    def update(self) -> None:
        """Reads what passed each `withWatermark` in the batch that has just run."""
        for node in self._nodes:
            assert isinstance(node.step, d.Watermark)
            rows = [row for row in node.arrived if holds(list(node.below), row.values)]
            if not rows:
                continue
            latest = max(row.values[node.step.column] or 0 for row in rows)
            reached = latest // MILLISECOND * MILLISECOND - node.step.seconds * SECOND
            self._seen[node.step] = max(self._seen.get(node.step, reached), reached)
        if self._nodes:
            self.now = max(self.now, min(self._seen.get(one.step, 0) for one in self._nodes))


def step_watermarks(root: Node, watermark: int) -> dict[Node, int]:
    """What each stateful step takes for its watermark when the query's is this."""
    given: dict[Node, int] = {}
    if watermark:
        _propagate(root, watermark, given)
    return {node: given.get(node, 0) for node in root.walk()}


def _propagate(node: Node, watermark: int, given: dict[Node, int]) -> int | None:
    below = [_propagate(one, watermark, given) for one in node.inputs]
    known = [one for one in below if one is not None]
    if isinstance(node.step, d.Watermark):
        return watermark
    lowest = min(known) if known else None
    if node.state is None or lowest is None:
        return lowest
    given[node] = max(lowest, 0)
    if isinstance(node.state, StreamJoin):
        assert isinstance(node.step, d.Join)
        bounds = state_watermarks(node.step, lowest)
        return min([lowest, *(one.watermark for one in bounds if one is not None)])
    return lowest


def wants_another_batch(node: Node, mode: str, used: int, coming: int) -> bool:
    """Whether a step would have Spark run a batch without data, its watermark having moved on."""
    if node.state is None or coming <= used:
        return False
    if isinstance(node.state, StreamJoin):
        assert isinstance(node.step, d.Join)
        return any(one is not None for one in state_watermarks(node.step, coming))
    return isinstance(node.state, Deduplication) or mode in ("append", "update")
