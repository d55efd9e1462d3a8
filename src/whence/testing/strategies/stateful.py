"""Strategies for stateful steps, for a column that carries the watermark and an output mode that Spark allows.

Example: in append mode an aggregate has the event time among its keys, as a window or plain; a session has a key.
The surprise: two watermark columns must never meet in one stateful step, so whatever makes a second one (a window
beside its time, a join of two streams) drops the first.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from whence.testing import description as d
from whence.testing import expression as e
from whence.testing.schema import event_times, schema
from whence.testing.strategies.scalars import longs, names

DELAYS = (0, 2, 5, 15, 40)


@st.composite
def computed(draw: st.DrawFn, step: d.Step, *, arrival: bool = True) -> tuple[d.Computed, ...]:
    """One to three aggregates over a step's columns."""
    columns = schema(step)
    numbers = names(columns, "long")
    made = [d.Computed("c", "count_all")]
    if numbers:
        plain = ["sum", "min", "max", "count", "avg", "collect"]
        wild = ["first", "last", "min_by", "max_by"] if arrival else []
        for at in range(draw(st.integers(0, 2))):
            function = draw(st.sampled_from(plain * 2 + wild))
            argument = draw(longs(columns)) if function in plain else e.Column(numbers[0])
            by = e.Column(draw(st.sampled_from(numbers))) if function.endswith("_by") else None
            made.append(d.Computed(f"a{at}", function, argument, by))  # type: ignore[arg-type]
    return tuple(made)


@st.composite
def keys(draw: st.DrawFn, step: d.Step, least: int = 0) -> tuple[d.Named, ...]:
    """Grouping keys: columns as they are, or a computed one."""
    columns = schema(step)
    made: list[d.Named] = []
    strings = names(columns, "string")
    if strings and (least or draw(st.booleans())):
        name = draw(st.sampled_from(strings))
        made.append(d.Named(name, e.Column(name)))
    numbers = names(columns, "long")
    if numbers and ((least and not made) or draw(st.integers(0, 3)) == 0):
        made.append(d.Named("g", e.Arithmetic("pmod", e.Column(numbers[0]), e.literal(2))))
    return tuple(made)


@st.composite
def windows(draw: st.DrawFn, column: str, *, over: str = "time", session: bool = False) -> d.Window:
    """A tumbling, sliding or session window over a column."""
    if session:
        return d.Window(column, gap=draw(st.sampled_from([3, 5, 10])), name="session_window")
    size, slide = draw(st.sampled_from([(10, 10), (10, 5), (12, 4), (7, 3), (5, 5), (20, 10)]))
    offset = draw(st.sampled_from([0, 0, 0, 2])) if slide > 2 else 0
    return d.Window(column, size, slide, offset, over=over)  # type: ignore[arg-type]


@st.composite
def windowed(draw: st.DrawFn, step: d.Step, mode: str) -> d.Step:
    """An aggregate over the event time."""
    (column,) = event_times(step)
    if {one.name: one.kind for one in schema(step)}[column] == "window":
        if draw(st.booleans()):  # grouped by the window itself
            groups = (d.Named(column, e.Column(column)), *draw(keys(step)))
            return d.Aggregate(step, draw(computed(step)), groups)
        over = draw(st.sampled_from(["window", "window_time"]))
        return d.Aggregate(step, draw(computed(step)), draw(keys(step)), draw(windows(column, over=over)))
    kind = draw(st.sampled_from(["window"] * 5 + ["session"] * 2 + ["plain"]))
    if kind == "session" and mode != "update" and (names(schema(step), "string") or names(schema(step), "long")):
        window = draw(windows(column, session=True))
        return d.Aggregate(step, draw(computed(step)), draw(keys(step, least=1)), window)
    if kind == "plain":
        groups = (d.Named(column, e.Column(column)), *draw(keys(step)))
        return d.Aggregate(step, draw(computed(step)), groups)
    return d.Aggregate(step, draw(computed(step)), draw(keys(step)), draw(windows(column)))


@st.composite
def deduplicated(draw: st.DrawFn, step: d.Step) -> d.Step:
    """One row a key; the event time is a column of the key or not, or bounds how long it is known."""
    columns = [one.name for one in schema(step) if one.kind != "longs"]
    times = list(event_times(step))
    timed = [one.name for one in schema(step) if one.name in times and one.kind == "timestamp"]
    match draw(st.integers(0, 4)):
        case 0:
            return d.Distinct(step)
        case 1 if timed:
            plain = [one for one in columns if one not in times] or columns
            return d.Deduplicate(step, (draw(st.sampled_from(plain)),), within_watermark=True)
        case 2:
            return d.Deduplicate(step, ())
    chosen = draw(st.lists(st.sampled_from(columns), min_size=1, max_size=2, unique=True))
    if draw(st.booleans()) and times:
        chosen = list(dict.fromkeys([*chosen, times[0]]))
    return d.Deduplicate(step, tuple(chosen))


@st.composite
def stream_join(draw: st.DrawFn, left: d.Step, right: d.Step) -> d.Step:
    """A join of two streams that both carry a watermark on `ts`; the result carries one."""
    how: Any = draw(st.sampled_from(["inner", "inner", "left", "right", "full"]))
    kind: str = draw(st.sampled_from(["range", "range", "time", "window"]))
    renames = tuple(d.Named(f"r_{one.name}", e.Column(one.name)) for one in schema(right))
    right = d.Select(right, renames)
    if kind == "window":
        size = draw(st.sampled_from([5, 10]))
        left = d.Drop(d.WindowColumn(left, d.Window("ts", size, size)), ("ts",))
        right = d.Drop(d.WindowColumn(right, d.Window("r_ts", size, size)), ("r_ts",))
        if draw(st.booleans()):
            return d.Join(left, right, how, ("window",))
        right = d.Rename(right, "window", "r_window")
        pair = e.Compare("=", e.Column("window"), e.Column("r_window"))
        return d.Drop(d.Join(left, right, how, (), _with_key(draw(st.booleans()), pair)), ("r_window",))
    times: e.Expression = e.Compare("=", e.Column("ts"), e.Column("r_ts"))
    if kind == "range":
        before, after = draw(st.sampled_from([(0, 10), (5, 5), (-2, 8), (3, 0)]))
        bounds: tuple[Any, Any] = draw(st.sampled_from([(">=", "<="), (">", "<"), (">=", "<")]))
        times = e.Logic(
            "and",
            e.Compare(bounds[0], e.Column("r_ts"), e.Shift(e.Column("ts"), -before)),
            e.Compare(bounds[1], e.Column("r_ts"), e.Shift(e.Column("ts"), after)),
        )
    condition = _with_key(kind == "range" or draw(st.booleans()), times)
    joined = d.Join(left, right, how, (), condition)
    return d.Drop(joined, (draw(st.sampled_from(["ts", "r_ts"])),))


def _with_key(keyed: bool, condition: e.Expression) -> e.Expression:
    pair = e.Compare("=", e.Column("k"), e.Column("r_k"))
    return e.Logic("and", pair, condition) if keyed else condition
