"""What is known to hold of every row of a step, as Spark's optimizer derives it.

Example: below an inner join on `l.k = r.k`, `where("k = 'a'")` on the left holds of the right as well. The surprise:
Spark then filters the right side by it, too, below its `withWatermark`, and so changes when windows close.
"""

from __future__ import annotations

from whence.testing import description as d
from whence.testing import expression as e
from whence.testing.oracle.condition import split_condition, strict
from whence.testing.oracle.substitute import substitute
from whence.testing.oracle.values import conjuncts
from whence.testing.schema import schema

Conditions = tuple[e.Expression, ...]


def there(name: str) -> e.Expression:
    """`name is not null`."""
    return e.Not(e.IsNull(e.Column(name)))


def with_nulls(conditions: Conditions) -> Conditions:
    """Conditions and, of each column that they need, that it is there."""
    needed = sorted({name for one in conditions for name in strict(one)})
    return conditions + tuple(there(name) for name in needed)


def facts(step: d.Step) -> Conditions:
    """Conditions over a step's columns that all its rows fulfil."""
    match step:
        case d.Where():
            return facts(step.input) + with_nulls(tuple(conjuncts(step.condition)))
        case d.Select():
            plain = {o.value.name: o.name for o in step.columns if isinstance(o.value, e.Column)}
            return _renamed(facts(step.input), plain)
        case d.WithColumn():
            return tuple(one for one in facts(step.input) if step.column.name not in one.columns())
        case d.Rename():
            names = {one.name: one.name for one in schema(step.input)} | {step.old: step.new}
            return _renamed(facts(step.input), names)
        case d.Drop() | d.WindowColumn():
            names = {one.name: one.name for one in schema(step)}
            return _renamed(facts(step.input), names)
        case d.Explode():
            return _renamed(facts(step.input), {o.name: o.name for o in schema(step)[:-1]})
        case d.Watermark() | d.Deduplicate() | d.Distinct():
            return facts(step.input)
        case d.Aggregate():
            keys = {o.value.name: o.name for o in step.keys if isinstance(o.value, e.Column)}
            return _renamed(facts(step.input), keys)
        case d.Join():
            return _join(step)
    return ()


def _join(step: d.Join) -> Conditions:
    left, right = facts(step.left), facts(step.right)
    match step.how:
        case "inner" | "cross":
            return left + right + with_nulls(tuple(conjuncts(step.condition)))
        case "left" | "left_semi" | "left_anti":
            return left
        case "right":
            return right
    return ()


def _renamed(conditions: Conditions, names: dict[str, str]) -> Conditions:
    columns: dict[str, e.Expression] = {old: e.Column(new) for old, new in names.items()}
    return tuple(substitute(one, columns) for one in conditions if one.columns() <= set(names))


def across(step: d.Join, left: Conditions, right: Conditions) -> tuple[Conditions, Conditions]:
    """What the left's facts say of the right by the equal columns, and the right's of the left: (of left, of right)."""
    pairs = split_condition(step).pairs
    to_right: dict[str, e.Expression] = {one: e.Column(other) for one, other in pairs}
    to_left: dict[str, e.Expression] = {other: e.Column(one) for one, other in pairs}
    of_right = tuple(substitute(one, to_right) for one in left if one.columns() and one.columns() <= set(to_right))
    of_left = tuple(substitute(one, to_left) for one in right if one.columns() and one.columns() <= set(to_left))
    return of_left, of_right
