"""The join step, and what of a join's condition is known: how far apart in time its rows may be."""

from __future__ import annotations

import re
from typing import Any

from pyspark.sql import Column, DataFrame

from whence.errors import BadInputError, RefusedError
from whence.frame.texts import bare, duration, expr, over_window, subquery
from whence.network import Join, Node, Source, Untraced, in_order, sources

_HOW = {
    "inner": "inner", "cross": "cross", "left": "left", "leftouter": "left", "right": "right", "rightouter": "right",
    "outer": "outer", "full": "outer", "fullouter": "outer", "semi": "left_semi", "leftsemi": "left_semi",
    "anti": "left_anti", "leftanti": "left_anti",
}  # fmt: skip
_SHIFT = r"(?:\s*[-+]\s*(interval\s+(?:'[^']*'\s*\w*|\d+\s+\w+)))?"


def side(other: Any) -> tuple[Node, DataFrame]:
    """The other side's node and plain frame; a plain DataFrame becomes an untraced side."""
    from whence.frame.chain import Chain

    if isinstance(other, Chain):
        return other._node, other._plain
    if isinstance(other, DataFrame):
        return Untraced(columns=tuple(other.columns), streaming=other.isStreaming, frame=other), other
    raise BadInputError(f"join takes a frame, not {type(other).__name__}", hint="a TracedFrame or a DataFrame")


def plain_of(other: Any) -> DataFrame:
    """The plain frame of a side."""
    return side(other)[1]


def join(left: Node, left_plain: DataFrame, right: Node, right_plain: DataFrame, on: Any, how: str | None) -> Join:
    """The join step, or a refusal where the set of contributing rows could not be exact."""
    kind = _HOW.get((how or "inner").lower().replace("_", ""))
    if kind is None:
        raise BadInputError(
            f'unknown join type "{how}"', f"there are {', '.join(sorted(_HOW))}", "leave it out for inner"
        )
    conditions = [] if on is None else list(on) if isinstance(on, list | tuple) else [on]
    using = tuple(c for c in conditions if isinstance(c, str))
    given = tuple(expr(c) for c in conditions if isinstance(c, Column))
    if len(using) + len(given) != len(conditions) or (using and given):
        raise BadInputError("join takes column names or conditions", f"on was {on!r}", 'on="id" or on=a.id == b.id')
    for condition in given:
        if over_window(condition.text) or subquery(condition.text):
            raise RefusedError(
                "a join condition that reads other rows is not traced",
                f"in {condition}",
                "join with those rows in a step of its own",
            )
    both = left_plain.isStreaming and right_plain.isStreaming
    _check_semi(kind, using, right, both)
    span = _span(left_plain, right_plain, using, given) if both else 0
    return Join((left, right), on=given, using=using, how=kind, span=span, keeps_state=both)


def _check_semi(kind: str, using: tuple[str, ...], right: Node, both: bool) -> None:
    traced = any(isinstance(node, Source) for node in in_order(right)) and bool(sources(right))
    if kind != "left_semi" or not traced:
        return
    if both:
        raise RefusedError(
            "a left semi join of two streams is not traced",
            "Spark emits a row at its first match, so the matches that come later would be missing",
            "use an inner join, then dropDuplicates",
        )
    if not using:
        raise RefusedError(
            "a left semi join on a condition is not traced",
            "the rows that match are gathered by the join's columns",
            'join on column names: on=["key"], or drop the tracing of the right side with .to_spark()',
        )


def _span(left: DataFrame, right: DataFrame, using: tuple[str, ...], on: tuple[Any, ...]) -> int | None:
    """The reach of a stream-stream join's time condition in microseconds, `None` where none can be read.

    Read are equal event times, `x between y - ... and y + ...`, and one bound each way; anything else is without bound.
    """
    timed = {f.name for frame in (left, right) for f in frame.schema.fields if "spark.watermarkDelayMs" in f.metadata}
    if timed & set(using):
        return 0
    text = " and ".join(str(c) for c in on).lower().replace("`", "")
    if not timed or re.search(r"\b(or|not|case|if)\b", bare(text)):
        return None
    column = rf"(?:\w+\.)?({'|'.join(re.escape(name.lower()) for name in timed)})\b"
    if re.search(rf"{column}\s*(?:=|<=>)\s*{column}|=\(\s*{column}\s*,\s*{column}\s*\)", text):
        return 0
    between = re.search(rf"{column}\s+between\s+{column}{_SHIFT}\s+and\s+{column}{_SHIFT}", text)
    if between:
        x, y, low, z, high = between.groups()
        return _sum(low, high) if x != y and y == z else None
    bounds = re.findall(rf"{column}\s*([<>])=?\s*{column}{_SHIFT}", text)
    if len(bounds) != 2:
        return None
    (x, way, y, low), (other_x, other_way, other_y, high) = bounds
    facing = (x, y) == (other_x, other_y) and way != other_way
    crossed = (x, y) == (other_y, other_x) and way == other_way
    return _sum(low, high) if x != y and (facing or crossed) else None


def _sum(*shifts: str | None) -> int | None:
    found = [duration(shift) if shift else 0 for shift in shifts]
    return None if None in found else sum(abs(value or 0) for value in found)
