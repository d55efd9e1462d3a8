"""Aggregates by keys, a window, both or nothing, kept over batches.

Example: in append mode a group is delivered once, in the batch whose watermark reaches its window's end. The
surprise: lateness is a matter of row and window: a row may be too late for one sliding window and count in the next.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from whence.testing import description as d
from whence.testing.oracle.functions import computed, take
from whence.testing.oracle.moment import Moment, event_column, passed
from whence.testing.oracle.rows import Row, together
from whence.testing.oracle.values import Value, evaluate
from whence.testing.oracle.windows import time_of, windows_of
from whence.testing.schema import event_times

Key = tuple[Value, ...]


@dataclass(eq=False)
class Group:
    """The rows of a group so far, and what arrival decided for `first` and `last`."""

    rows: list[Row] = field(default_factory=list)
    taken: dict[str, list[Value]] = field(default_factory=dict)
    batches: set[int] = field(default_factory=set)


class Aggregation:
    """The state of one aggregate step."""

    def __init__(self, step: d.Aggregate) -> None:
        self._step = step
        self._names = ([step.window.name] if step.window else []) + [key.name for key in step.keys]
        self._event = event_column(event_times(step))
        self._groups: dict[Key, Group] = {}

    def batch(self, rows: list[Row], moment: Moment) -> list[Row]:
        """Takes a batch in and says what is delivered."""
        touched = self._arrive(rows, moment)
        if moment.mode == "append":
            delivered = [key for key in self._groups if self._closed(key, moment)]
        elif moment.mode == "update":
            delivered = touched
        else:
            delivered = list(self._groups)
        if not self._names and not delivered:  # a global aggregate speaks also of nothing
            self._groups.setdefault((), Group())
            delivered = [()]
        made = [self._row(key, self._groups[key], moment) for key in delivered]
        if moment.mode in ("append", "update"):
            for key in [key for key in self._groups if self._closed(key, moment)]:
                del self._groups[key]
        return made

    def _arrive(self, rows: list[Row], moment: Moment) -> list[Key]:
        arrived: dict[Key, list[Row]] = {}
        for row in rows:
            for key in self._keys(row):
                arrived.setdefault(key, []).append(row)
        touched = []
        for key, news in arrived.items():
            if moment.mode in ("append", "update") and passed(self._time(key), moment.late):
                moment.seen["late"] += len(news)
                continue
            group = self._groups.setdefault(key, Group())
            for one in self._step.computed:
                held = group.taken.get(one.name, [])
                group.taken[one.name] = take(one, held, news, moment.choices)
            group.rows += news
            if group.batches:
                moment.seen["multi_batch_group"] += 1
                if moment.mode == "update":
                    moment.seen["version"] += 1
            group.batches.add(moment.batch)
            touched.append(key)
        return touched

    def _keys(self, row: Row) -> list[Key]:
        keys = tuple(evaluate(key.value, row.values) for key in self._step.keys)
        if self._step.window is None:
            return [keys]
        spans = windows_of(self._step.window, time_of(self._step.window, row.values))
        return [(span, *keys) for span in spans]

    def _time(self, key: Key) -> Value:
        return None if self._event is None else key[self._names.index(self._event)]

    def _closed(self, key: Key, moment: Moment) -> bool:
        return passed(self._time(key), moment.evict)

    def _row(self, key: Key, group: Group, moment: Moment) -> Row:
        if any(value is None for value in key):
            moment.seen["null_key"] += 1
        return Row(
            dict(zip(self._names, key, strict=True)) | results(self._step, group, moment),
            together(group.rows),
            key if moment.mode == "update" else None,
        )


def results(step: d.Aggregate, group: Group, moment: Moment) -> dict[str, Value]:
    """The computed columns of a group."""
    return {
        one.name: computed(one, group.rows, (group.taken.get(one.name) or [None])[0], moment.choices)
        for one in step.computed
    }
