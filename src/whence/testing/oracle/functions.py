"""Aggregate functions over the rows of a group.

Example: `sum` of nulls alone is null and `count` of them 0. The surprise: `first`, `last` and ties of `min_by` depend
on arrival; a group remembers what was taken for them, and the choice is read from the tape.
"""

from __future__ import annotations

from typing import Any

from whence.testing.description import Computed
from whence.testing.oracle.choices import Choices
from whence.testing.oracle.rows import Row
from whence.testing.oracle.values import Value, evaluate


def computed(one: Computed, rows: list[Row], taken: Value, choices: Choices) -> Value:
    """The value of one aggregate over a group's rows; `taken` is what arrival decided so far."""
    if one.function == "count_all":
        return len(rows)
    if one.function in ("first", "last"):
        return taken
    assert one.argument is not None
    if one.function in ("min_by", "max_by"):
        return _extreme(one, rows, choices)
    found = [v for row in rows if (v := evaluate(one.argument, row.values)) is not None]
    if one.function == "count":
        return len(found)
    if one.function == "collect":
        return tuple(sorted(found))
    if not found:
        return None
    if one.function == "avg":
        return float(sum(found)) / len(found)
    plain: dict[str, Any] = {"sum": sum, "min": min, "max": max}
    return plain[one.function](found)


def _extreme(one: Computed, rows: list[Row], choices: Choices) -> Value:
    assert one.argument is not None
    assert one.by is not None
    ordered = [(evaluate(one.by, row.values), evaluate(one.argument, row.values)) for row in rows]
    ordered = [pair for pair in ordered if pair[0] is not None]
    if not ordered:
        return None
    best = (min if one.function == "min_by" else max)(by for by, _ in ordered)
    tied = distinct([value for by, value in ordered if by == best])
    return tied[choices.choose(len(tied))]


def take(one: Computed, before: list[Value], rows: list[Row], choices: Choices) -> list[Value]:
    """What `first` or `last` holds after a batch brought `rows`; `before` is empty or what it held."""
    if one.function == "first" and before:
        return before
    if one.function not in ("first", "last") or one.argument is None:
        return before
    values = distinct([evaluate(one.argument, row.values) for row in rows])
    return [values[choices.choose(len(values))]] if values else before


def distinct(values: list[Value]) -> list[Value]:
    """Each value once, in order."""
    return list(dict.fromkeys(values))
