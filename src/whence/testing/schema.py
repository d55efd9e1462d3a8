"""The columns of a described step: names and kinds, and which of them carry a watermark.

Example: a tumbling window over a watermarked `ts` has the columns `window` and what it computes, and `window` carries
the watermark on. The surprise: an alias keeps a watermark, an expression loses it, and `withWatermark` takes it from
every other column.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from whence.testing import description as d
from whence.testing import expression as e


def kind_of(value: e.Expression, columns: dict[str, e.Kind]) -> e.Kind:
    """The kind of an expression over columns of known kinds."""
    match value:
        case e.Column():
            return columns[value.name]
        case e.Literal():
            return value.kind
        case e.Arithmetic():
            return "long"
        case e.Compare() | e.Logic() | e.Not() | e.IsNull():
            return "boolean"
        case e.Coalesce():
            return kind_of(value.inner[0], columns)
        case e.Case():
            return kind_of(value.yes, columns)
        case e.Shift() | e.Bound() | e.WindowTime():
            return "timestamp"
    raise TypeError(f"no expression is a {type(value).__name__}")


@lru_cache(maxsize=4096)
def schema(step: d.Step) -> tuple[d.Field, ...]:
    """Columns in the order in which Spark delivers them."""
    match step:
        case d.Scan():
            return step.table.columns
        case d.Where() | d.Watermark() | d.Deduplicate() | d.Distinct():
            return schema(step.input)
        case d.Select():
            kinds = kinds_of(step.input)
            return tuple(d.Field(one.name, kind_of(one.value, kinds)) for one in step.columns)
        case d.WithColumn():
            added = d.Field(step.column.name, kind_of(step.column.value, kinds_of(step.input)))
            return _with(schema(step.input), added)
        case d.WindowColumn():
            return _with(schema(step.input), d.Field(step.window.name, "window"))
        case d.Rename():
            return tuple(d.Field(step.new, one.kind) if one.name == step.old else one for one in schema(step.input))
        case d.Drop():
            return tuple(one for one in schema(step.input) if one.name not in step.columns)
        case d.Explode():
            others = tuple(one for one in schema(step.input) if one.name != step.array)
            return (*others, d.Field(step.name, "long"))
        case d.Union():
            return schema(step.branches[0])
        case d.Aggregate():
            return _aggregate(step)
        case d.Join():
            return _join(step)
    raise TypeError(f"no step is a {type(step).__name__}")


def kinds_of(step: d.Step) -> dict[str, e.Kind]:
    """Kinds of a step's columns by name."""
    return {one.name: one.kind for one in schema(step)}


def _with(columns: tuple[d.Field, ...], added: d.Field) -> tuple[d.Field, ...]:
    if any(one.name == added.name for one in columns):
        return tuple(added if one.name == added.name else one for one in columns)
    return (*columns, added)


def _aggregate(step: d.Aggregate) -> tuple[d.Field, ...]:
    kinds = kinds_of(step.input)
    window = (d.Field(step.window.name, "window"),) if step.window else ()
    keys = tuple(d.Field(key.name, kind_of(key.value, kinds)) for key in step.keys)
    return (*window, *keys, *(d.Field(one.name, _computed(one, kinds)) for one in step.computed))


def _computed(one: d.Computed, kinds: dict[str, e.Kind]) -> e.Kind:
    if one.function in ("count_all", "count", "sum"):
        return "long"
    if one.function == "avg":
        return "double"
    if one.function == "collect":
        return "longs"
    if one.argument is None:
        raise ValueError(f"{one.function} wants an argument")
    return kind_of(one.argument, kinds)


def _join(step: d.Join) -> tuple[d.Field, ...]:
    left, right = schema(step.left), schema(step.right)
    if step.how in ("left_semi", "left_anti"):
        # `using` moves its columns to the front for these kinds, too
        first = tuple(one for name in step.using for one in left if one.name == name)
        return first + tuple(one for one in left if one.name not in step.using)
    using = tuple(one for name in step.using for one in left if one.name == name)
    return (
        *using,
        *(one for one in left if one.name not in step.using),
        *(one for one in right if one.name not in step.using),
    )


@lru_cache(maxsize=4096)
def event_times(step: d.Step) -> dict[str, int]:
    """Columns that carry a watermark, with its delay in seconds."""
    match step:
        case d.Scan():
            return {}
        case d.Watermark():
            return {step.column: step.seconds}
        case d.Where() | d.Deduplicate() | d.Distinct():
            return event_times(step.input)
        case d.Select():
            below = event_times(step.input)
            return {one.name: kept for one in step.columns if (kept := _kept(one.value, below)) is not None}
        case d.WithColumn():
            below = event_times(step.input)
            kept = _kept(step.column.value, below)
            others = {name: delay for name, delay in below.items() if name != step.column.name}
            return others if kept is None else {**others, step.column.name: kept}
        case d.WindowColumn():
            below = event_times(step.input)
            others = {name: delay for name, delay in below.items() if name != step.window.name}
            return {**others, **_window(step.window, below)}
        case d.Rename():
            return {step.new if name == step.old else name: delay for name, delay in event_times(step.input).items()}
        case d.Drop():
            return {name: delay for name, delay in event_times(step.input).items() if name not in step.columns}
        case d.Explode():
            return event_times(step.input)
        case d.Union():
            return event_times(step.branches[0])
        case d.Aggregate():
            below = event_times(step.input)
            keys = {key.name: kept for key in step.keys if (kept := _kept(key.value, below)) is not None}
            return {**(_window(step.window, below) if step.window else {}), **keys}
        case d.Join():
            return _join_times(step)
    raise TypeError(f"no step is a {type(step).__name__}")


def _kept(value: e.Expression, below: dict[str, int]) -> int | None:
    if isinstance(value, e.WindowTime):
        return _kept(value.inner, below)
    return below.get(value.name) if isinstance(value, e.Column) else None


def _window(window: d.Window, below: dict[str, int]) -> dict[str, int]:
    return {window.name: below[window.column]} if window.column in below else {}


def _join_times(step: d.Join) -> dict[str, int]:
    left, right = event_times(step.left), event_times(step.right)
    if step.how in ("left_semi", "left_anti"):
        return left
    lost = set(step.using)
    rights = {name: delay for name, delay in right.items() if name not in lost}
    if step.how == "full":
        return {**{name: delay for name, delay in left.items() if name not in lost}, **rights}
    if step.how == "right":
        kept = {name: delay for name, delay in left.items() if name not in lost}
        return {**kept, **right}
    return {**left, **rights}


@lru_cache(maxsize=4096)
def is_streaming(step: d.Step) -> bool:
    """Whether a step reads any stream."""
    return any(not table.static for table in step.tables())


def with_tables(step: d.Step, change: Callable[[d.Table], d.Table]) -> d.Step:
    """The same network over other sources: each as `change` makes it."""
    match step:
        case d.Scan():
            return d.Scan(change(step.table))
        case d.Union():
            return d.Union(tuple(with_tables(one, change) for one in step.branches), step.by_name)
        case d.Join():
            left, right = with_tables(step.left, change), with_tables(step.right, change)
            return replace(step, left=left, right=right)
    (below,) = step.inputs()
    return replace(step, input=with_tables(below, change))  # type: ignore[call-arg]


def all_static(step: d.Step) -> d.Step:
    """The same network over static sources: what `batch = stream` compares with."""
    return with_tables(step, lambda table: replace(table, static=True))
