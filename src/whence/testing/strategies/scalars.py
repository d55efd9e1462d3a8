"""Strategies for scalar expressions over columns of known kinds.

The surprise: a condition on a time is never inside an `or`. Spark's optimizer may take such a condition apart in
ways that change what a watermark sees, and the oracle does not follow it there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from whence.testing import expression as e
from whence.testing.description import Field

SECOND = 1_000_000
KEYS = ("a", "b", "c")


def names(columns: Sequence[Field], kind: str) -> list[str]:
    """Names of the columns of a kind."""
    return [one.name for one in columns if one.kind == kind]


def small() -> st.SearchStrategy[e.Expression]:
    """A small whole number."""
    return st.integers(-1, 5).map(e.literal)


@st.composite
def longs(draw: st.DrawFn, columns: Sequence[Field]) -> e.Expression:
    """A whole number computed from the columns."""
    numbers = names(columns, "long")
    if not numbers:
        return draw(small())
    column = e.Column(draw(st.sampled_from(numbers)))
    match draw(st.integers(0, 6)):
        case 0:
            arithmetic: Any = draw(st.sampled_from(["+", "-", "*"]))
            return e.Arithmetic(arithmetic, column, draw(small()))
        case 1:
            return e.Arithmetic("+", column, e.Column(draw(st.sampled_from(numbers))))
        case 2:
            return e.Arithmetic("pmod", column, e.literal(draw(st.integers(2, 3))))
        case 3:
            return e.Coalesce((column, draw(small())))
        case 4:
            return e.Case(draw(simple(columns)), column, draw(small()))
    return column


@st.composite
def simple(draw: st.DrawFn, columns: Sequence[Field]) -> e.Expression:
    """One comparison or null test of a number or string column."""
    numbers, strings = names(columns, "long"), names(columns, "string")
    kinds = (["long"] * 3 if numbers else []) + (["string"] if strings else [])
    if not kinds:
        return e.Compare("=", e.literal(1), e.literal(1))
    kind = draw(st.sampled_from(kinds))
    column = e.Column(draw(st.sampled_from(numbers if kind == "long" else strings)))
    if draw(st.integers(0, 5)) == 0:
        test = e.IsNull(column)
        return e.Not(test) if draw(st.integers(0, 3)) else test
    tests = _STRING_TESTS if kind == "string" else _NUMBER_TESTS
    operator, value = draw(st.sampled_from(tests))
    return e.Compare(operator, column, e.literal(value))


# Mostly wide: a network that keeps nothing tests nothing.
_STRING_TESTS: list[tuple[Any, str]] = [("<>", "b"), ("<=", "b"), ("<", "c"), ("=", "a"), ("<=>", "a")]
_NUMBER_TESTS: list[tuple[Any, int]] = [
    (">", -1),
    (">=", 1),
    ("<", 4),
    ("<=", 3),
    ("<>", 2),
    (">", 1),
    ("<=>", 1),
    ("=", 1),
]


@st.composite
def conditions(draw: st.DrawFn, columns: Sequence[Field]) -> e.Expression:
    """A condition: one test, several joined, or a bound on a time."""
    times = names(columns, "timestamp")
    match draw(st.integers(0, 7)):
        case 0:
            return e.Logic("and", draw(simple(columns)), draw(simple(columns)))
        case 1:
            return e.Logic("or", draw(simple(columns)), draw(simple(columns)))
        case 2:
            return e.Not(draw(simple(columns)))
        case 3 if times:
            bound = e.Literal(draw(st.integers(-5, 20)) * SECOND, "timestamp")
            sign: Any = draw(st.sampled_from([">", ">=", "<>"]))
            return e.Compare(sign, e.Column(draw(st.sampled_from(times))), bound)
    return draw(simple(columns))
