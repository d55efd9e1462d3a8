"""Joins: of frames that are there as a whole, and of two streams, which keep each other's rows.

Example: `left join` delivers a left row with nulls once no partner can come any more. The surprise: between two
streams that is when the watermark passes what the time condition allows, possibly many batches later.
"""

from __future__ import annotations

from dataclasses import dataclass

from whence.testing import description as d
from whence.testing.oracle.condition import split_condition
from whence.testing.oracle.moment import Moment, event_column, in_time, passed
from whence.testing.oracle.needed import Names
from whence.testing.oracle.reach import state_watermarks
from whence.testing.oracle.rows import Row, together
from whence.testing.oracle.values import Value, holds
from whence.testing.schema import event_times, schema

Key = tuple[Value, ...]


def combine(step: d.Join, left: Row | None, right: Row | None, more: list[Row] | None = None) -> Row:
    """The joined row; a side that is missing gives nulls. `more` are rows that only contribute."""
    there = [row for row in (left, right, *(more or ())) if row is not None]
    if step.how in ("left_semi", "left_anti"):
        assert left is not None
        return Row(left.values, together(there))
    values: dict[str, Value] = {}
    for one in schema(step):
        values[one.name] = None
        for side in (left, right):
            if side is not None and side.values.get(one.name) is not None:
                values[one.name] = side.values[one.name]
                break
    return Row(values, together(there))


class Matcher:
    """Whether two rows match: null keys match nothing, except in Spark's full join of two streams."""

    def __init__(self, step: d.Join, *, nulls_match: bool = False) -> None:
        self.condition = split_condition(step)
        self._nulls_match = nulls_match

    def left_key(self, row: Row) -> Key:
        return tuple(row.values[name] for name, _ in self.condition.pairs)

    def right_key(self, row: Row) -> Key:
        return tuple(row.values[name] for _, name in self.condition.pairs)

    def match(self, left: Row, right: Row) -> bool:
        """Whether keys are equal and all else holds."""
        keys = zip(self.left_key(left), self.right_key(right), strict=True)
        if not all(one == other and (one is not None or self._nulls_match) for one, other in keys):
            return False
        parts = [*self.condition.left, *self.condition.right, *self.condition.both]
        return holds(parts, {**right.values, **left.values})


def join_rows(step: d.Join, lefts: list[Row], rights: list[Row], moment: Moment) -> list[Row]:
    """The join of rows that are all there: of static frames, or of a batch with a static side."""
    matcher = Matcher(step)
    made: list[Row] = []
    met: set[int] = set()
    for left in lefts:
        partners = [right for right in rights if matcher.match(left, right)]
        met.update(id(right) for right in partners)
        if step.how == "left_semi":
            made += [combine(step, left, None, partners)] if partners else []
        elif step.how == "left_anti":
            made += [] if partners else [combine(step, left, None)]
        else:
            made += [combine(step, left, right) for right in partners]
            if not partners and step.how in ("left", "full"):
                moment.seen["null_extended"] += 1
                made.append(combine(step, left, None))
    if step.how in ("right", "full"):
        alone = [right for right in rights if id(right) not in met]
        moment.seen["null_extended"] += len(alone)
        made += [combine(step, None, right) for right in alone]
    return made


@dataclass(eq=False)
class Waiting:
    """A row that waits for partners."""

    row: Row
    key: Key
    matched: bool


class StreamJoin:
    """The two sides' waiting rows of a join of two streams."""

    def __init__(self, step: d.Join, reads: list[Names]) -> None:
        self._step = step
        self._matcher = Matcher(step, nulls_match=step.how == "full")
        times = [
            {name: delay for name, delay in event_times(side).items() if name in names}
            for side, names in zip(step.inputs(), reads, strict=True)
        ]
        self._events = event_column(times[0]), event_column(times[1])
        self._waiting: tuple[list[Waiting], list[Waiting]] = ([], [])

    def batch(self, lefts: list[Row], rights: list[Row], moment: Moment) -> list[Row]:
        """Takes both sides' rows of a batch in and says what is delivered."""
        made = []
        for row in in_time(lefts, self._events[0], moment):
            made += self._left(row, moment)
        for row in in_time(rights, self._events[1], moment):
            made += self._right(row, moment)
        return made + self._evict(moment)

    def _left(self, row: Row, moment: Moment) -> list[Row]:
        how = self._step.how
        if not holds(list(self._matcher.condition.left), row.values):
            if how in ("left", "full"):
                moment.seen["null_extended"] += 1
                return [combine(self._step, row, None)]
            return []
        partners = [one for one in self._waiting[1] if self._matcher.match(row, one.row)]
        for one in partners:
            one.matched = True
        if how == "left_semi" and partners:
            return [combine(self._step, row, None, [one.row for one in partners])]
        self._waiting[0].append(Waiting(row, self._matcher.left_key(row), bool(partners)))
        return [combine(self._step, row, one.row) for one in partners]

    def _right(self, row: Row, moment: Moment) -> list[Row]:
        how = self._step.how
        if not holds(list(self._matcher.condition.right), row.values):
            if how in ("right", "full"):
                moment.seen["null_extended"] += 1
                return [combine(self._step, None, row)]
            return []
        partners = [one for one in self._waiting[0] if self._matcher.match(one.row, row)]
        if how == "left_semi":
            partners = [one for one in partners if not one.matched]
        for one in partners:
            one.matched = True
        self._waiting[1].append(Waiting(row, self._matcher.right_key(row), bool(partners)))
        if how == "left_semi":
            return [combine(self._step, one.row, None, [row]) for one in partners]
        return [combine(self._step, one.row, row) for one in partners]

    def _evict(self, moment: Moment) -> list[Row]:
        made = []
        bounds = state_watermarks(self._step, moment.evict)
        for side, (waiting, bound) in enumerate(zip(self._waiting, bounds, strict=True)):
            if bound is None:
                continue
            for one in list(waiting):
                time = one.key[bound.pair] if bound.pair is not None else None
                if bound.column is not None:
                    time = one.row.values[bound.column]
                if not passed(time, bound.watermark):
                    continue
                waiting.remove(one)
                if not one.matched and self._step.how in (("left", "right")[side], "full"):
                    moment.seen["null_extended"] += 1
                    sides = (one.row, None) if side == 0 else (None, one.row)
                    made.append(combine(self._step, *sides))
        return made
