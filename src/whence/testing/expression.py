"""Scalar expressions: one small tree, rendered to Spark SQL here and evaluated in plain Python by the oracle.

Example: `Compare(">", Column("v"), literal(3)).sql()` is `` (`v` > 3L) ``.
The surprise: timestamps are whole microseconds since 1970 in Python, so a literal one renders as
`timestamp_micros(n)`, and no time zone can come between the two.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Literal as OneOf

Kind = OneOf["long", "string", "timestamp", "boolean", "double", "window", "longs"]
Scalar = int | str | bool | float | None

SQL_TYPES: dict[str, str] = {
    "long": "bigint",
    "string": "string",
    "timestamp": "timestamp",
    "boolean": "boolean",
    "double": "double",
    "window": "struct<start:timestamp,end:timestamp>",
    "longs": "array<bigint>",
}


def quoted(name: str) -> str:
    """A column name as SQL spells it: `` quoted("n") `` is `` `n` ``."""
    return "`" + name.replace("`", "``") + "`"


@dataclass(frozen=True)
class Expression(ABC):
    """Anything that has a value on a row. Null is a value; comparisons with it are null, as in SQL."""

    @abstractmethod
    def sql(self) -> str:
        """The expression as Spark's SQL spells it."""

    def parts(self) -> Iterator[Expression]:
        """The expressions directly inside this one."""
        for one in fields(self):
            value = getattr(self, one.name)
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, Expression):
                    yield part

    def columns(self) -> frozenset[str]:
        """Names of all columns that the expression reads."""
        return frozenset().union(*(part.columns() for part in self.parts()))


@dataclass(frozen=True)
class Column(Expression):
    name: str

    def sql(self) -> str:
        return quoted(self.name)

    def columns(self) -> frozenset[str]:
        return frozenset({self.name})


@dataclass(frozen=True)
class Literal(Expression):
    value: Scalar
    kind: Kind

    def sql(self) -> str:
        if self.value is None:
            return f"CAST(NULL AS {SQL_TYPES[self.kind]})"
        if self.kind == "string":
            return "'" + str(self.value).replace("\\", "\\\\").replace("'", "\\'") + "'"
        if self.kind == "timestamp":
            return f"timestamp_micros({self.value}L)"
        if self.kind == "boolean":
            return "true" if self.value else "false"
        if self.kind == "long":
            return f"({self.value}L)" if int(self.value) < 0 else f"{self.value}L"
        return f"CAST({self.value!r} AS {SQL_TYPES[self.kind]})"


def literal(value: int | str | bool) -> Literal:
    """A literal whose kind is plain from its value: `literal(3)` is a long."""
    if isinstance(value, bool):
        return Literal(value, "boolean")
    return Literal(value, "string" if isinstance(value, str) else "long")


@dataclass(frozen=True)
class Arithmetic(Expression):
    """`+`, `-`, `*` or `pmod` of two longs; null where either is. `pmod` wants a positive right side."""

    operator: OneOf["+", "-", "*", "pmod"]
    left: Expression
    right: Expression

    def sql(self) -> str:
        if self.operator == "pmod":
            return f"pmod({self.left.sql()}, {self.right.sql()})"
        return f"({self.left.sql()} {self.operator} {self.right.sql()})"


@dataclass(frozen=True)
class Compare(Expression):
    """A comparison: null where either side is, except `<=>`, which holds for two nulls."""

    operator: OneOf["=", "<>", "<", "<=", ">", ">=", "<=>"]
    left: Expression
    right: Expression

    def sql(self) -> str:
        return f"({self.left.sql()} {self.operator} {self.right.sql()})"


@dataclass(frozen=True)
class Logic(Expression):
    """Three-valued `and` and `or`: `false and null` is false, `true and null` is null."""

    operator: OneOf["and", "or"]
    left: Expression
    right: Expression

    def sql(self) -> str:
        return f"({self.left.sql()} {self.operator} {self.right.sql()})"


@dataclass(frozen=True)
class Not(Expression):
    inner: Expression

    def sql(self) -> str:
        return f"(not {self.inner.sql()})"


@dataclass(frozen=True)
class IsNull(Expression):
    inner: Expression

    def sql(self) -> str:
        return f"({self.inner.sql()} is null)"


@dataclass(frozen=True)
class Coalesce(Expression):
    inner: tuple[Expression, ...]

    def sql(self) -> str:
        return f"coalesce({', '.join(one.sql() for one in self.inner)})"


@dataclass(frozen=True)
class Case(Expression):
    """`case when condition then yes else no end`; a null condition takes `no`."""

    condition: Expression
    yes: Expression
    no: Expression

    def sql(self) -> str:
        return f"(case when {self.condition.sql()} then {self.yes.sql()} else {self.no.sql()} end)"


@dataclass(frozen=True)
class Shift(Expression):
    """A timestamp moved by whole seconds: the bounds of a join's time condition are written with it."""

    inner: Expression
    seconds: int

    def sql(self) -> str:
        sign = "-" if self.seconds < 0 else "+"
        return f"({self.inner.sql()} {sign} interval {abs(self.seconds)} seconds)"


@dataclass(frozen=True)
class Bound(Expression):
    """The `start` or `end` of a window column."""

    inner: Expression
    end: OneOf["start", "end"]

    def sql(self) -> str:
        return f"{self.inner.sql()}.{quoted(self.end)}"


@dataclass(frozen=True)
class WindowTime(Expression):
    """`window_time(w)`: a window's end less one microsecond, still carrying the watermark."""

    inner: Expression

    def sql(self) -> str:
        return f"window_time({self.inner.sql()})"
