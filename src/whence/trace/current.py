"""Which runs of a sink are current, and what each of their batches holds."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from whence.errors import NotFoundError
from whence.names import OUTPUTS
from whence.store import NetworkRecord, Store, batch_rows, networks


@dataclass(frozen=True)
class Run:
    """A run of a sink: its network as last started, its committed batches in order."""

    network: NetworkRecord
    batches: tuple[dict[str, Any], ...]
    later: tuple[str, ...] = ()
    """Columns that a changed network has and the one before it had not: files may lack them."""

    @property
    def id(self) -> str:
        """The query's id, from the checkpoint."""
        return self.network.run

    @property
    def updating(self) -> bool:
        """Whether rows are versions of results, and not results for good."""
        return self.network.output_mode != "append"

    @property
    def watermark(self) -> datetime | None:
        """The last batch's watermark."""
        return self.batches[-1]["watermark"] if self.batches else None

    def files(self, store: Store, table: str) -> list[str]:
        """The data files of one table, as DuckDB takes them."""
        root = store.location.at(OUTPUTS)
        found = [f["path"] for row in self.batches for f in row["files"] if f["table"] == table]
        return [root.at(path).table_uri for path in found]


def runs(store: Store) -> dict[str, list[Run]]:
    """The current runs by sink: a start of a stream and an overwrite end the runs before, a failed write never was."""
    records = networks(store)
    failed = {n.run for n in records if n.declared.get("failed")}
    batches: dict[str, list[dict[str, Any]]] = {}
    for row in batch_rows(store):
        batches.setdefault(row["run"], []).append(row)
    current: dict[str, dict[str, Run]] = {}
    for record in records:
        if record.run in failed:
            continue
        own = current.setdefault(record.sink, {})
        if own and record.run not in batches:
            continue  # it owns the name from its first commit on
        if record.replaces and record.run not in own:
            own.clear()
        own[record.run] = Run(record, tuple(batches.get(record.run, ())), _later(own.get(record.run), record))
    return {sink: list(own.values()) for sink, own in current.items()}


def _later(before: Run | None, record: NetworkRecord) -> tuple[str, ...]:
    if before is None:
        return ()
    new = set(record.layout["payload"]) - set(before.network.layout["payload"])
    return tuple(sorted(new | set(before.later)))


def runs_of(store: Store, sink: str) -> list[Run]:
    """The current runs of one sink, or an error that says which sinks there are."""
    every = runs(store)
    if sink not in every:
        raise NotFoundError(*_unknown("sink", sink, list(every)))
    return every[sink]


def declared_sources(store: Store) -> dict[str, dict[str, Any]]:
    """Every source that the store knows, as last declared."""
    return {name: source for n in networks(store) for name, source in n.declared["sources"].items()}


def source_of(store: Store, name: str) -> dict[str, Any]:
    """One source's declaration, or an error that says which there are."""
    known = declared_sources(store)
    if name not in known:
        raise NotFoundError(*_unknown("source", name, list(known)))
    return known[name]


def _unknown(what: str, name: str, known: list[str]) -> tuple[str, str, str]:
    close = difflib.get_close_matches(name, known, 1)
    hint = f'did you mean "{close[0]}"?' if close else "whence show STORE lists them"
    return f'the store has no {what} "{name}"', f"it has {', '.join(sorted(known)) or 'none yet'}", hint
