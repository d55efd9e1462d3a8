"""Expressions evaluated on one row, in plain Python, with SQL's null logic.

Example: `evaluate(Logic("and", literal(False), IsNull(Column("v"))), {"v": 1})` is False.
The surprise: `false and null` is False though null is unknown, since no value of the unknown could make it true.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from whence.testing import expression as e

Value = Any  # int, str, bool, float, None; micros for timestamps; (start, end) for windows; tuples for arrays

SECOND = 1_000_000

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def evaluate(value: e.Expression, row: Mapping[str, Value]) -> Value:
    """The value of an expression on a row; None is null."""
    match value:
        case e.Column():
            return row[value.name]
        case e.Literal():
            return value.value
        case e.Arithmetic():
            return _arithmetic(value.operator, evaluate(value.left, row), evaluate(value.right, row))
        case e.Compare():
            left, right = evaluate(value.left, row), evaluate(value.right, row)
            if value.operator == "<=>":
                return (left is None and right is None) or (left is not None and right is not None and left == right)
            if left is None or right is None:
                return None
            return _COMPARE[value.operator](left, right)
        case e.Logic():
            return _logic(value.operator, evaluate(value.left, row), evaluate(value.right, row))
        case e.Not():
            inner = evaluate(value.inner, row)
            return None if inner is None else not inner
        case e.IsNull():
            return evaluate(value.inner, row) is None
        case e.Coalesce():
            found = (evaluate(one, row) for one in value.inner)
            return next((one for one in found if one is not None), None)
        case e.Case():
            return evaluate(value.yes if evaluate(value.condition, row) is True else value.no, row)
        case e.Shift():
            inner = evaluate(value.inner, row)
            return None if inner is None else inner + value.seconds * SECOND
        case e.Bound():
            inner = evaluate(value.inner, row)
            return None if inner is None else inner[0 if value.end == "start" else 1]
        case e.WindowTime():
            inner = evaluate(value.inner, row)
            return None if inner is None else inner[1] - 1
        case NonEmpty():
            return bool(evaluate(value.inner, row))
    raise TypeError(f"no expression is a {type(value).__name__}")


def _arithmetic(sign: str, left: Value, right: Value) -> Value:
    if left is None or right is None:
        return None
    if sign == "+":
        return left + right
    if sign == "-":
        return left - right
    return left * right if sign == "*" else left % right


def _logic(word: str, left: Value, right: Value) -> Value:
    decisive = word == "or"
    if left is decisive or right is decisive:
        return decisive
    return None if left is None or right is None else not decisive


def conjuncts(value: e.Expression | None) -> list[e.Expression]:
    """The parts that a condition joins by `and`; `not (a or b)` joins `not a` and `not b`."""
    if value is None:
        return []
    if isinstance(value, e.Logic) and value.operator == "and":
        return conjuncts(value.left) + conjuncts(value.right)
    if isinstance(value, e.Not) and isinstance(value.inner, e.Not):
        return conjuncts(value.inner.inner)
    if isinstance(value, e.Not) and isinstance(value.inner, e.Logic) and value.inner.operator == "or":
        return conjuncts(e.Not(value.inner.left)) + conjuncts(e.Not(value.inner.right))
    return [value]


def holds(values: list[e.Expression], row: Mapping[str, Value]) -> bool:
    """Whether all conditions are true on a row: null is not true."""
    return all(evaluate(one, row) is True for one in values)


@dataclass(frozen=True)
class NonEmpty(e.Expression):
    """Whether an array has elements: what Spark asks of a row before it explodes it."""

    inner: e.Expression

    def sql(self) -> str:
        return f"size({self.inner.sql()}) > 0"
