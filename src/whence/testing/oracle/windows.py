"""Windows of a time, in whole microseconds.

Example: `windows_of(Window("ts", size=10, slide=5), 7_000_000)` is `[(0, 10 s), (5 s, 15 s)]`.
The surprise: times before 1970 are negative and belong to windows that start below them, so all division floors.
"""

from __future__ import annotations

from collections.abc import Mapping

from whence.testing.description import Window
from whence.testing.oracle.values import SECOND, Value

Span = tuple[int, int]


def time_of(window: Window, row: Mapping[str, Value]) -> int | None:
    """The time that a window is asked for: of a window column it is the end less one microsecond."""
    value = row[window.column]
    if value is None or window.over == "time":
        return None if value is None else int(value)
    return int(value[1]) - 1


def windows_of(window: Window, time: int | None) -> list[Span]:
    """Every window that holds a time; none for a null. A session starts as the time and its gap."""
    if time is None:
        return []
    if window.gap:
        return [(time, time + window.gap * SECOND)]
    size, slide = window.size * SECOND, window.slide * SECOND
    last = time - (time - window.offset * SECOND) % slide
    starts = range(last, time - size, -slide)
    return [(start, start + size) for start in reversed(starts)]
