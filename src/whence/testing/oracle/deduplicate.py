"""`dropDuplicates`, `distinct` and `dropDuplicatesWithinWatermark`: the first row of a key survives.

Example: two rows of a key in one batch: either may be it, as Spark reads them. The surprise: with the event time
among the columns a key is forgotten once the watermark has passed it, and rows of it that come later are late. Where
no step reads the event time any more, Spark has dropped it, and no row is late.
"""

from __future__ import annotations

from whence.testing import description as d
from whence.testing.oracle.aggregate import Key
from whence.testing.oracle.moment import Moment, event_column, in_time, passed
from whence.testing.oracle.needed import Names
from whence.testing.oracle.rows import Row
from whence.testing.oracle.values import SECOND, Value
from whence.testing.schema import event_times, schema


class Deduplication:
    """The keys that one deduplicating step has seen, each with the time at which it is forgotten."""

    def __init__(self, step: d.Deduplicate | d.Distinct, reads: Names) -> None:
        named = step.columns if isinstance(step, d.Deduplicate) else ()
        self._columns = named or tuple(one.name for one in schema(step))
        self._within = isinstance(step, d.Deduplicate) and step.within_watermark
        self._delays = {name: delay for name, delay in event_times(step).items() if name in reads}
        self._event = event_column(self._delays)
        self._known: dict[Key, Value] = {}

    def batch(self, rows: list[Row], moment: Moment) -> list[Row]:
        """Takes a batch in and gives the survivors."""
        candidates: dict[Key, list[Row]] = {}
        for row in in_time(rows, self._event, moment):
            key = tuple(row.values[name] for name in self._columns)
            if key in self._known:
                moment.seen["displaced"] += 1
            else:
                candidates.setdefault(key, []).append(row)
        made = []
        for key, same in candidates.items():
            moment.seen["displaced"] += len(same) - 1
            if any(value is None for value in key):
                moment.seen["null_key"] += 1
            row = same[moment.choices.choose(len(same))]
            self._known[key] = self._expiry(row)
            made.append(row)
        for key, expiry in list(self._known.items()):
            if passed(expiry, moment.evict):
                del self._known[key]
        return made

    def _expiry(self, row: Row) -> Value:
        if self._event is None:
            return None
        if self._within:  # a null time counts as 1970: Spark reads the long below the null
            return (row.values[self._event] or 0) + self._delays[self._event] * SECOND
        return row.values[self._event] if self._event in self._columns else None
