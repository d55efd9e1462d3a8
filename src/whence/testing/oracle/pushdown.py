"""Which rows a watermark sees: Spark's optimizer moves filters below `withWatermark`, and those count.

Example: in `s.withWatermark("ts", ...).where("k = 1")` rows of other keys do not advance the watermark, though they
are read before the filter as written. The surprise: an inner join on `k` does the same to rows whose `k` is null, and
an `explode` to rows whose array is empty. An outer join under a filter (or a window) that drops its null-extended
rows runs as an inner one, and so has that effect, too.
"""

from __future__ import annotations

from dataclasses import replace

from whence.testing import description as d
from whence.testing import expression as e
from whence.testing.oracle.condition import never_null, split_condition
from whence.testing.oracle.facts import Conditions, across, facts, there, with_nulls
from whence.testing.oracle.substitute import substitute
from whence.testing.oracle.values import NonEmpty, conjuncts, evaluate
from whence.testing.schema import schema


def pushed(step: d.Step, above: Conditions) -> list[Conditions]:
    """For each input of a step, the conditions that end up below it, given those that come from above."""
    match step:
        case d.Where():
            return [above + with_nulls(tuple(conjuncts(step.condition)))]
        case d.Select():
            return [_through(above, {one.name: one.value for one in step.columns})]
        case d.WithColumn():
            names: dict[str, e.Expression] = _same(step.input)
            return [_through(above, {**names, step.column.name: step.column.value})]
        case d.Rename():
            names = {**_same(step.input), step.new: e.Column(step.old)}
            return [_through(above, names)]
        case d.Drop():
            return [above]
        case d.Watermark():
            return [tuple(one for one in above if step.column not in one.columns())]
        case d.Explode():
            others = tuple(one for one in above if step.name not in one.columns())
            return [others if step.outer else (*others, NonEmpty(e.Column(step.array)))]
        case d.WindowColumn():
            others = tuple(one for one in above if step.window.name not in one.columns())
            return [others + _timed(step.window)]
        case d.Union():
            return _union(step, above)
        case d.Aggregate():
            keys = {key.name: key.value for key in step.keys}
            if not keys and step.window is None:
                return [()]
            timed = _timed(step.window) if step.window else ()
            return [_through(tuple(one for one in above if one.columns() <= set(keys)), keys) + timed]
        case d.Join():
            return _join(step, above)
        case _:
            return [() for _ in step.inputs()]


def _timed(window: d.Window) -> Conditions:
    """A window drops rows without a time; where windows overlap unevenly, Spark does not say it so."""
    plain = window.gap or window.size % window.slide == 0
    return (there(window.column),) if plain else ()


def effective(step: d.Step, above: Conditions) -> d.Step:
    """A join as Spark runs it: an outer one is none where a condition above drops its null-extended rows."""
    if not isinstance(step, d.Join) or step.how not in ("left", "right", "full"):
        return step
    sides = [{one.name for one in schema(side)} - set(step.using) for side in step.inputs()]
    no_left, no_right = (
        any(one.columns() and one.columns() <= side and rejects_nulls(one) for one in above) for side in sides
    )
    kept_left = step.how in ("left", "full") and not no_right  # left rows without a partner
    kept_right = step.how in ("right", "full") and not no_left
    how: dict[tuple[bool, bool], d.JoinKind] = {
        (True, True): "full",
        (True, False): "left",
        (False, True): "right",
        (False, False): "inner",
    }
    return replace(step, how=how[kept_left, kept_right])


def rejects_nulls(condition: e.Expression) -> bool:
    """Whether a condition cannot be true when all its columns are null."""
    return evaluate(condition, dict.fromkeys(condition.columns())) is not True


def _same(step: d.Step) -> dict[str, e.Expression]:
    return {one.name: e.Column(one.name) for one in schema(step)}


def _through(above: Conditions, names: dict[str, e.Expression]) -> Conditions:
    return tuple(part for one in above for part in conjuncts(substitute(one, names)))


def _union(step: d.Union, above: Conditions) -> list[Conditions]:
    if step.by_name:
        return [above for _ in step.branches]
    names = [one.name for one in schema(step)]
    return [
        _through(
            above,
            {to: e.Column(own.name) for to, own in zip(names, schema(branch), strict=True)},
        )
        for branch in step.branches
    ]


def _join(step: d.Join, above: Conditions) -> list[Conditions]:
    condition = split_condition(step)
    names = [{one.name for one in schema(side)} for side in step.inputs()]
    needs_left, needs_right = (tuple(there(name) for name in sorted(needed)) for needed in never_null(step))
    left = tuple(one for one in above if one.columns() <= names[0])
    right = tuple(one for one in above if one.columns() <= names[1])
    match step.how:
        case "inner" | "cross" | "left_semi":
            left, right = (*left, *condition.left, *needs_left), (*right, *condition.right, *needs_right)
            of_left, of_right = across(step, left + facts(step.left), right + facts(step.right))
            return [left + of_left, right + of_right]
        case "left" | "left_anti":
            _, of_right = across(step, left + facts(step.left), ())
            return [left, (*condition.right, *needs_right, *of_right)]
        case "right":
            of_left, _ = across(step, (), right + facts(step.right))
            return [(*condition.left, *needs_left, *of_left), right]
    return [(), ()]
