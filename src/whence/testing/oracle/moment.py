"""What a stateful step is told about one batch.

The surprise: two watermarks, not one. Rows are late by the watermark of the batch before; state is closed by this
batch's. So what an upstream step closes now is still in time for the step below it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from whence.testing.oracle.choices import Choices
from whence.testing.oracle.rows import Row
from whence.testing.oracle.values import Value

Mode = Literal["append", "update", "complete", "static"]


@dataclass
class Moment:
    """One batch as one step sees it. Watermarks are microseconds; a static run has none."""

    mode: Mode
    choices: Choices
    seen: Counter[str]
    late: int | None = None
    evict: int | None = None
    batch: int = 0
    happened: dict[str, set[object]] = field(default_factory=dict)


def passed(value: Value, watermark: int | None) -> bool:
    """Whether a time, or the end of a window, is not after a watermark. A null never is."""
    if value is None or watermark is None:
        return False
    time = value[1] if isinstance(value, tuple) else value
    return bool(time <= watermark)


def in_time(rows: Iterable[Row], column: str | None, moment: Moment) -> list[Row]:
    """The rows that are not late, by the column that carries the watermark."""
    if column is None:
        return list(rows)
    kept = []
    for row in rows:
        if passed(row.values[column], moment.late):
            moment.seen["late"] += 1
        else:
            kept.append(row)
    return kept


def event_column(columns: Mapping[str, int]) -> str | None:
    """The one column that carries a watermark, if any; Spark refuses a stateful step over two."""
    if len(columns) > 1:
        raise ValueError(f"more than one event-time column: {sorted(columns)}")
    return next(iter(columns), None)
