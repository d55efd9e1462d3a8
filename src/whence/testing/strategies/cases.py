"""Whole cases: a network that Spark accepts in an output mode, rows for its sources, and a batch split.

Example: `cases()` draws a kind first (stateless, windowed, chained, joined ...) and builds that, so all kinds come up.
The surprise: chained stateful steps come in append mode only, as Spark has it; an aggregate over a deduplication
runs in complete mode as well.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from hypothesis import strategies as st

from whence.testing import description as d
from whence.testing import expression as e
from whence.testing.oracle.moment import Mode
from whence.testing.oracle.run import Data, Split
from whence.testing.schema import event_times, schema, with_tables
from whence.testing.strategies.rows import closing, rows, splits
from whence.testing.strategies.scalars import conditions
from whence.testing.strategies.stateful import (
    DELAYS,
    computed,
    deduplicated,
    keys,
    stream_join,
    windowed,
    windows,
)
from whence.testing.strategies.steps import stacked, stream
from whence.testing.text import text

KINDS = ("stateless", "windowed", "grouped", "chained", "joined", "deduplicated")


@dataclass(frozen=True)
class Case:
    """One thing to test: what runs, over what, in which batches, in which output mode."""

    kind: str
    network: d.Step
    data: Data
    split: Split
    mode: Mode
    keyed: bool  # whether ids are declared keys, the same numbers in every source
    untraced: bool  # whether static sources are left untraced
    closed: bool  # whether last rows far in the future close every window

    def __repr__(self) -> str:
        rows = "".join(f"\n  {name}: {list(enumerate(rows))}" for name, rows in self.data.items())
        notes = [name for name in ("keyed", "untraced") if getattr(self, name)]
        return f"Case {self.kind}, {self.mode} {notes}\n{text(self.network, 1)}{rows}\n  {self.split}"


@st.composite
def cases(draw: st.DrawFn, kinds: tuple[str, ...] = KINDS) -> Case:
    """A case of one of the kinds."""
    kind = draw(st.sampled_from(kinds))
    network, mode = draw(_KINDS[kind]())
    keyed, untraced = draw(st.integers(0, 3)) == 0, draw(st.integers(0, 3)) == 0
    if any(isinstance(one, d.Join) and one.how == "right" for one in network.walk()):
        untraced = False  # a plain frame cannot be joined to a traced one, only the other way round
    if keyed:
        network = with_tables(network, _with_id)
    data: dict[str, list[dict[str, object]]] = {
        table.name: draw(rows(table, most=5 if table.static else 12)) for table in network.tables()
    }
    streams = [table for table in network.tables() if not table.static]
    split = draw(splits({table.name: data[table.name] for table in streams}))
    closed = draw(st.integers(0, 4)) > 0
    if closed:
        last = {}
        for table in streams:
            before = len(data[table.name])
            data[table.name] += closing(table)
            last[table.name] = (tuple(range(before, len(data[table.name]))),)
        split = Split((*split.stages[:-1], (*split.stages[-1], last)))
    if keyed:
        data = {
            name: [{**row, "id": at} if "ts" in row else row for at, row in enumerate(rows)]
            for name, rows in data.items()
        }
    return Case(kind, network, data, split, mode, keyed, untraced, closed)


def _with_id(table: d.Table) -> d.Table:
    return table if table.static else replace(table, columns=(*table.columns, d.Field("id", "long")))


Built = tuple[d.Step, Mode]


@st.composite
def _source(draw: st.DrawFn, name: str = "s", most: int = 2) -> d.Step:
    return draw(stacked(d.Scan(stream(name)), most))


@st.composite
def _watched(draw: st.DrawFn, name: str = "s", most: int = 1) -> d.Step:
    """A stream with a watermark, with some steps below and above it, or two streams united."""
    if draw(st.integers(0, 6)) == 0:
        delay = draw(st.sampled_from(DELAYS))
        both = tuple(d.Watermark(d.Scan(stream(one)), "ts", delay) for one in draw(st.permutations([name, "other"])))
        return d.Union(both)
    step = d.Watermark(draw(_source(name, most)), "ts", draw(st.sampled_from(DELAYS)))
    return draw(stacked(step, most))


@st.composite
def _stateless(draw: st.DrawFn) -> Built:
    step = draw(_source(most=4))
    if draw(st.integers(0, 2)) == 0:
        step = d.WindowColumn(step, draw(windows("ts")))
        step = draw(stacked(step, 1))
    return step, draw(st.sampled_from(["append", "append", "update"]))


@st.composite
def _windowed(draw: st.DrawFn) -> Built:
    mode: Mode = draw(st.sampled_from(["append", "append", "append", "update", "complete"]))
    step = draw(_watched(most=2))
    if draw(st.integers(0, 4)) == 0:  # a window as a column, then grouped by it
        step = d.Drop(d.WindowColumn(step, draw(windows("ts"))), ("ts",))
        groups = (d.Named("window", e.Column("window")), *draw(keys(step)))
        step = d.Aggregate(step, draw(computed(step)), groups)
    else:
        step = draw(windowed(step, mode))
    return draw(_finished(step)), mode


@st.composite
def _grouped(draw: st.DrawFn) -> Built:
    """Groups without a time: for ever updating."""
    step = draw(_watched() if draw(st.integers(0, 3)) == 0 else _source())
    step = d.Aggregate(step, draw(computed(step)), draw(keys(step)))
    return draw(_finished(step)), draw(st.sampled_from(["update", "update", "complete"]))


@st.composite
def _finished(draw: st.DrawFn, step: d.Step) -> d.Step:
    """A HAVING and a projection, or neither."""
    if draw(st.integers(0, 2)) == 0:
        step = d.Where(step, draw(conditions(schema(step))))
    if draw(st.integers(0, 3)) == 0:
        kept = [one for one in schema(step) if one.kind != "longs"]
        step = d.Select(step, tuple(d.Named(f"o_{one.name}", e.Column(one.name)) for one in kept))
    return step


@st.composite
def _chained(draw: st.DrawFn) -> Built:
    step = draw(_watched())
    if draw(st.booleans()):
        step = draw(deduplicated(step))
        if draw(st.integers(0, 3)) == 0:
            step = d.Aggregate(step, draw(computed(step, arrival=False)), draw(keys(step)))
            return step, "complete"
    else:
        step = draw(windowed(step, "append"))
        if draw(st.integers(0, 2)) == 0:
            step = d.Where(step, draw(conditions(schema(step))))
        if _time(step) is None:
            return step, "append"
    step = draw(windowed(step, "append"))
    return draw(_finished(step)), "append"


@st.composite
def _joined(draw: st.DrawFn) -> Built:
    left = d.Watermark(draw(_source("s", 1)), "ts", draw(st.sampled_from(DELAYS)))
    other = draw(st.sampled_from(["t", "t", "t", "s"]))
    right = d.Watermark(d.Scan(stream(other)), "ts", draw(st.sampled_from(DELAYS)))
    sides = [one if "w" not in {c.name for c in schema(one)} else left.input for one in (left, right)]
    sides = [one if isinstance(one, d.Watermark) else d.Watermark(d.Scan(stream("s")), "ts", 5) for one in sides]
    step = draw(stream_join(sides[0], sides[1]))
    if draw(st.integers(0, 2)) == 0:
        step = d.Where(step, draw(conditions(schema(step))))
    match draw(st.integers(0, 4)):
        case 0 if _time(step) is not None:
            step = draw(windowed(step, "append"))
        case 1 if len(event_times(step)) == 1:
            step = draw(deduplicated(step))
    return step, "append"


@st.composite
def _deduplicated(draw: st.DrawFn) -> Built:
    step = draw(_watched() if draw(st.integers(0, 2)) else _source())
    step = draw(deduplicated(step))
    step = draw(stacked(step, 1))
    if draw(st.integers(0, 3)) == 0:
        step = d.Drop(step, ("ts",))
    return step, draw(st.sampled_from(["append", "append", "update"]))


def _time(step: d.Step) -> str | None:
    """The one column that carries a watermark and that a window can be over."""
    found = list(event_times(step))
    kinds = {one.name: one.kind for one in schema(step)}
    if len(found) != 1 or found[0] == "session_window" or kinds[found[0]] not in ("timestamp", "window"):
        return None
    return found[0]


_KINDS = {
    "stateless": _stateless,
    "windowed": _windowed,
    "grouped": _grouped,
    "chained": _chained,
    "joined": _joined,
    "deduplicated": _deduplicated,
}
