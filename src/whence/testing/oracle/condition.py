"""A join's condition taken apart: key pairs, parts of one side, and the rest.

The surprise: Spark itself takes it apart so, and what only one side decides is decided before the sides meet: a left
row of a left join that fails its own part is delivered with nulls at once, not when its time has passed.
"""

from __future__ import annotations

from dataclasses import dataclass

from whence.testing import description as d
from whence.testing import expression as e
from whence.testing.oracle.values import conjuncts
from whence.testing.schema import schema


@dataclass(frozen=True)
class Condition:
    """Pairs of equal columns, and what else must hold: of the left, of the right, of both."""

    pairs: tuple[tuple[str, str], ...]
    left: tuple[e.Expression, ...]
    right: tuple[e.Expression, ...]
    both: tuple[e.Expression, ...]


def split_condition(step: d.Join) -> Condition:
    """The parts of a join's condition."""
    lefts = {one.name for one in schema(step.left)}
    rights = {one.name for one in schema(step.right)}
    pairs = [(name, name) for name in step.using]
    left, right, both = [], [], []
    for part in conjuncts(step.condition):
        names = part.columns()
        pair = _pair(part, lefts, rights)
        if pair is not None:
            pairs.append(pair)
        elif names <= lefts:
            left.append(part)
        elif names <= rights:
            right.append(part)
        else:
            both.append(part)
    return Condition(tuple(pairs), tuple(left), tuple(right), tuple(both))


def _pair(part: e.Expression, lefts: set[str], rights: set[str]) -> tuple[str, str] | None:
    match part:
        case e.Compare("=", e.Column(one), e.Column(other)):
            if one in lefts and other in rights:
                return one, other
            if one in rights and other in lefts:
                return other, one
    return None


def never_null(step: d.Join) -> tuple[frozenset[str], frozenset[str]]:
    """Columns of the left and of the right that a match needs: comparisons with null do not hold."""
    condition = split_condition(step)
    lefts = {one.name for one in schema(step.left)}
    rights = {one.name for one in schema(step.right)}
    needed_left = {left for left, _ in condition.pairs}
    needed_right = {right for _, right in condition.pairs}
    for part in (*condition.both, *condition.left, *condition.right):
        if isinstance(part, e.Compare) and part.operator != "<=>":
            needed_left |= strict(part) & lefts
            needed_right |= strict(part) & rights
    return frozenset(needed_left), frozenset(needed_right)


def strict(part: e.Expression) -> frozenset[str]:
    """Columns whose null makes the whole null."""
    match part:
        case e.Compare("<=>"):
            return frozenset()
        case e.Column():
            return part.columns()
        case e.Compare() | e.Arithmetic() | e.Shift() | e.Not():
            return frozenset().union(*(strict(one) for one in part.parts()))
    return frozenset()
