"""`keep_for`: how long kept source rows stay. What was freed is missing from then on, never "did not contribute"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from deltalake import CommitProperties
from deltalake.transaction import AddAction, RemoveAction

from whence.names import KEPT, OUTPUTS, TABLE
from whence.store.record import batch_rows, now
from whence.store.store import Store

_UNITS = {
    "microsecond": 1e-6,
    "millisecond": 1e-3,
    "second": 1,
    "minute": 60,
    "hour": 3600,
    "day": 86400,
    "week": 604800,
}


def kept_batches(rows: Sequence[dict[str, Any]], limit: str | int | None) -> set[int]:
    """Of a run's batches, in order, those whose kept rows are not freed.

    A time counts back from the last commit; a number of rows counts back from the last batch, whole batches at a time.
    """
    if limit is None or not rows:
        return {row["batch"] for row in rows}
    if isinstance(limit, str):
        horizon = rows[-1]["committed"] - timedelta(seconds=_seconds(limit))
        return {row["batch"] for row in rows if row["committed"] >= horizon}
    found: set[int] = set()
    count = 0
    for row in reversed(rows):
        if count < limit:
            found.add(row["batch"])
        count += sum(file["rows"] for file in row["files"] if file["table"] == KEPT)
    return found


def free(store: Store, run: str, limits: Sequence[str | int | None], done: set[str]) -> None:
    """Remove the files of kept rows that every source of the run has freed; `done` holds those gone before."""
    if not limits or None in limits:
        return
    rows = batch_rows(store, run)
    live: set[int] = set().union(*(kept_batches(rows, limit) for limit in limits))
    old = [f for row in rows if row["batch"] not in live for f in row["files"] if f["table"] == KEPT]
    gone = [file["path"] for file in old if file["path"] not in done]
    table = store.table(OUTPUTS, run) if gone else None
    if table is None:
        return
    known = {path.rpartition("/")[2] for path in table.file_uris()}
    removed: list[AddAction | RemoveAction] = [_removal(path) for path in gone if path.rpartition("/")[2] in known]
    if removed:
        table.create_write_transaction(removed, "append", table.schema(), [TABLE], commit_properties=CommitProperties())
    for path in gone:
        store.location.at(OUTPUTS, path).remove()
        done.add(path)


def _removal(path: str) -> RemoveAction:
    below = path.partition("/")[2]
    return RemoveAction(below, True, int(now().timestamp() * 1000), partition_values={TABLE: KEPT})


def _seconds(text: str) -> float:
    words = re.findall(r"(\d+(?:\.\d+)?)\s*([a-z]+?)s?\b", text.lower())
    return sum(float(amount) * _UNITS[unit] for amount, unit in words)
