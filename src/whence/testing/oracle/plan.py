"""A description as a tree of nodes that hold state: each occurrence of a step is a node of its own.

The surprise: a step that two branches share is read once by Spark but kept twice, so two copies of one
deduplication may choose differently.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from whence.testing import description as d
from whence.testing.oracle.aggregate import Aggregation
from whence.testing.oracle.deduplicate import Deduplication
from whence.testing.oracle.facts import Conditions
from whence.testing.oracle.join import StreamJoin, join_rows
from whence.testing.oracle.moment import Moment
from whence.testing.oracle.needed import Names, needed
from whence.testing.oracle.pushdown import effective, pushed
from whence.testing.oracle.rows import Row
from whence.testing.oracle.sessions import Sessions
from whence.testing.oracle.stateless import apply
from whence.testing.schema import is_streaming, schema

State = Aggregation | Sessions | Deduplication | StreamJoin | None


@dataclass(eq=False)
class Node:
    """One occurrence of a step: its inputs, its state, and the conditions that Spark pushes below it."""

    step: d.Step
    inputs: tuple[Node, ...]
    state: State
    below: Conditions = ()
    arrived: list[Row] = field(default_factory=list)

    def walk(self) -> Iterator[Node]:
        """All nodes, inputs first."""
        for one in self.inputs:
            yield from one.walk()
        yield self


def plan(step: d.Step, above: Conditions = (), of_it: Names | None = None) -> Node:
    """The tree of nodes for a description, below these conditions, where these columns are needed of it."""
    wanted = frozenset(one.name for one in schema(step)) if of_it is None else of_it
    step = effective(step, above)
    below = pushed(step, above)
    reads = needed(step, wanted)
    inputs = tuple(plan(*one) for one in zip(step.inputs(), below, reads, strict=True))
    first = below[0] if below else ()
    return Node(step, inputs, _state(step, reads), first)


def _state(step: d.Step, reads: list[Names]) -> State:
    match step:
        case d.Aggregate():
            return Sessions(step) if step.window and step.window.gap else Aggregation(step)
        case d.Deduplicate() | d.Distinct():
            return Deduplication(step, reads[0])
        case d.Join() if is_streaming(step.left) and is_streaming(step.right):
            return StreamJoin(step, reads)
    return None


def batch(node: Node, sources: Mapping[str, list[Row]], moments: Mapping[Node, Moment]) -> list[Row]:
    """What a node delivers for a batch in which the sources brought these rows."""
    if isinstance(node.step, d.Scan):
        return sources[node.step.table.name]
    inputs = [batch(one, sources, moments) for one in node.inputs]
    node.arrived = inputs[0]
    if isinstance(node.state, StreamJoin):
        return node.state.batch(inputs[0], inputs[1], moments[node])
    if node.state is not None:
        return node.state.batch(inputs[0], moments[node])
    if isinstance(node.step, d.Join):
        return join_rows(node.step, inputs[0], inputs[1], moments[node])
    return apply(node.step, inputs)
