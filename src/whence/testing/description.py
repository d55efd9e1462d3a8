"""Networks as plain values: what a query is, without Spark and without the engine.

Example: `Where(Scan(Table("s", (Field("v", "long"),))), Compare(">", Column("v"), literal(3)))`.
The surprise: a description is a tree, yet equal subtrees are one step: `Union((s, s))` reads `s` once and delivers
each of its rows twice, just as `df.union(df)` does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Literal as OneOf

from whence.testing.expression import Expression, Kind

JoinKind = OneOf["inner", "cross", "left", "right", "full", "left_semi", "left_anti"]
Function = OneOf["count_all", "count", "sum", "min", "max", "avg", "collect", "first", "last", "min_by", "max_by"]


@dataclass(frozen=True)
class Field:
    """A column of a source: its name and kind. `longs` is an array of longs."""

    name: str
    kind: Kind


@dataclass(frozen=True)
class Table:
    """A source: a name and columns. A `static` one is a batch frame, also where the network streams."""

    name: str
    columns: tuple[Field, ...]
    static: bool = False


@dataclass(frozen=True)
class Step:
    """A step of a network. Its inputs are its fields that are steps."""

    def inputs(self) -> tuple[Step, ...]:
        found: list[Step] = []
        for one in fields(self):
            value = getattr(self, one.name)
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, Step):
                    found.append(part)
        return tuple(found)

    def walk(self) -> Iterator[Step]:
        """This step after all that it rests on, each distinct step once."""
        seen: set[Step] = set()

        def visit(step: Step) -> Iterator[Step]:
            if step not in seen:
                for below in step.inputs():
                    yield from visit(below)
                if step not in seen:
                    seen.add(step)
                    yield step

        return visit(self)

    def tables(self) -> tuple[Table, ...]:
        """The sources read, each once, in the order of first use."""
        return tuple(dict.fromkeys(step.table for step in self.walk() if isinstance(step, Scan)))


@dataclass(frozen=True)
class Scan(Step):
    table: Table


@dataclass(frozen=True)
class Where(Step):
    """Keeps the rows where the condition is true: neither false nor null. After an aggregate it is HAVING."""

    input: Step
    condition: Expression


@dataclass(frozen=True)
class Named:
    """A named expression: `expression AS name`."""

    name: str
    value: Expression


@dataclass(frozen=True)
class Select(Step):
    input: Step
    columns: tuple[Named, ...]


@dataclass(frozen=True)
class WithColumn(Step):
    input: Step
    column: Named


@dataclass(frozen=True)
class Rename(Step):
    input: Step
    old: str
    new: str


@dataclass(frozen=True)
class Drop(Step):
    input: Step
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Explode(Step):
    """All columns but the array's, and one row an element as `name`; `outer` keeps rows of empty and null arrays."""

    input: Step
    array: str
    name: str
    outer: bool = False


@dataclass(frozen=True)
class Union(Step):
    """Rows of all inputs, by position, or by name where `by_name`. One input may be there twice."""

    branches: tuple[Step, ...]
    by_name: bool = False


@dataclass(frozen=True)
class Watermark(Step):
    input: Step
    column: str
    seconds: int


@dataclass(frozen=True)
class Window:
    """A window over a time: tumbling (`slide` is `size`), sliding, or a session (`gap`). Seconds throughout.

    `over` says what `column` is: a `time`stamp, a `window` given as it is (Spark then takes its window_time), or a
    window inside `window_time(...)`, which is the older spelling of the same.
    """

    column: str
    size: int = 0
    slide: int = 0
    offset: int = 0
    gap: int = 0
    over: OneOf["time", "window", "window_time"] = "time"
    name: str = "window"


@dataclass(frozen=True)
class Computed:
    """An aggregate: `function(argument) AS name`; `by` orders `min_by` and `max_by`; `collect` sorts its list."""

    name: str
    function: Function
    argument: Expression | None = None
    by: Expression | None = None


@dataclass(frozen=True)
class Aggregate(Step):
    """Groups by keys, a window, both or nothing (one global group), and computes. Columns: window, keys, computed."""

    input: Step
    computed: tuple[Computed, ...]
    keys: tuple[Named, ...] = ()
    window: Window | None = None


@dataclass(frozen=True)
class WindowColumn(Step):
    """A window as a column: a sliding one multiplies the row, and a row without a time is dropped."""

    input: Step
    window: Window


@dataclass(frozen=True)
class Join(Step):
    """Two inputs on columns of one name (`using`, delivered once) or on a condition over disjoint names."""

    left: Step
    right: Step
    how: JoinKind
    using: tuple[str, ...] = ()
    condition: Expression | None = None


@dataclass(frozen=True)
class Deduplicate(Step):
    """`dropDuplicates`: one row for each value of the columns; none named means all of them."""

    input: Step
    columns: tuple[str, ...] = ()
    within_watermark: bool = False


@dataclass(frozen=True)
class Distinct(Step):
    input: Step
