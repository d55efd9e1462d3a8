"""Strategies for a source's rows and for the batches in which they are read.

Example: times mostly rise, some rows come late, some have no time, some lie at or before 1970. The surprise:
rows far in the future end most splits, since otherwise most windows never close and nothing is delivered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from whence.testing.description import Table
from whence.testing.oracle.run import Split
from whence.testing.strategies.scalars import KEYS, SECOND

FAR = 4_000 * SECOND  # beyond every window, gap and delay that the strategies draw


@st.composite
def rows(draw: st.DrawFn, table: Table, most: int = 12) -> list[dict[str, Any]]:
    """Rows of a source, in the order in which they arrive."""
    count = draw(st.integers(3, most))
    low = draw(st.sampled_from([-8, 0, 1, 20]))
    grid = draw(st.sampled_from([1, 5]))  # a coarse one makes ties, and pairs that join
    steps = draw(st.lists(st.integers(0, 50 // grid), min_size=count, max_size=count))
    times = sorted(low + step * grid for step in steps)
    for _ in range(draw(st.integers(0, 4))):  # some rows come at another's place
        one, other = draw(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)))
        times[one], times[other] = times[other], times[one]
    made = []
    for time in times:
        row: dict[str, Any] = {}
        for column in table.columns:
            if column.kind == "timestamp":
                exact = time * SECOND + draw(st.sampled_from([0] * 12 + [500_000, 1]))
                row[column.name] = None if draw(st.integers(0, 11)) == 0 else exact
            else:
                row[column.name] = draw(_value(column.kind))
        made.append(row)
    for _ in range(draw(st.integers(0, 2))):  # the same row again: two equal rows are two rows
        made.insert(draw(st.integers(0, len(made))), dict(made[draw(st.integers(0, count - 1))]))
    return made


def _value(kind: str) -> st.SearchStrategy[Any]:
    values: dict[str, st.SearchStrategy[Any]] = {
        "string": st.sampled_from([*KEYS, "a", "b", None]),
        "long": st.sampled_from([0, 1, 1, 2, 3, 4, -1, None]),
        "longs": st.one_of(st.none(), st.lists(st.sampled_from([0, 1, 2, None]), max_size=3).map(tuple)),
    }
    return values[kind]


def closing(table: Table) -> list[dict[str, Any]]:
    """Rows far in the future: they close what a watermark can close. Several, that a filter may leave one."""
    made = []
    for key, number in (("a", 1), ("b", 3), ("c", 2)):
        values = {"timestamp": FAR, "string": key, "long": number, "longs": (1,)}
        made.append({one.name: values[one.kind] for one in table.columns})
    return made


@st.composite
def splits(draw: st.DrawFn, data: Mapping[str, Sequence[Any]]) -> Split:
    """Batches that read each source's rows in their order, in one or two files, over one or two starts."""
    count = draw(st.integers(1, 5))
    parts = {name: draw(_cut(len(rows), count)) for name, rows in data.items()}
    batches = []
    for at in range(count):
        batch = {}
        for name, cut in parts.items():
            indices = tuple(range(cut[at], cut[at + 1]))
            middle = draw(st.integers(0, len(indices))) if draw(st.booleans()) else len(indices)
            files = [indices[:middle], indices[middle:]]
            batch[name] = tuple(one for one in files if one)
        batches.append(batch)
    if count > 1 and draw(st.integers(0, 2)) == 0:
        stop = draw(st.integers(1, count - 1))
        return Split((tuple(batches[:stop]), tuple(batches[stop:])))
    return Split((tuple(batches),))


@st.composite
def _cut(draw: st.DrawFn, rows: int, parts: int) -> list[int]:
    inner = draw(st.lists(st.integers(0, rows), min_size=parts - 1, max_size=parts - 1))
    return [0, *sorted(inner), rows]
