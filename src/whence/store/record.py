"""What the store keeps of a batch and of a network, as values."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from whence.names import BATCHES, BATCHES_SCHEMA, NETWORKS, NETWORKS_SCHEMA
from whence.store.store import Store


@dataclass(frozen=True)
class NetworkRecord:
    """A network as a run started it. `declared` holds sources, steps and bounds, `layout` how rows are stored."""

    run: str
    sink: str
    version: int
    started: datetime
    mode: str
    output_mode: str
    streaming: bool
    replaces: bool
    declared: dict[str, Any]
    layout: dict[str, Any]
    plan: str
    whence: str

    def to_row(self) -> dict[str, Any]:
        """The row of table `networks`."""
        row = dict(self.__dict__)
        row["network"] = json.dumps(row.pop("declared"), sort_keys=True)
        row["layout"] = json.dumps(row["layout"], sort_keys=True)
        return row


def networks(store: Store) -> list[NetworkRecord]:
    """Every network, in the order of their starts."""
    return store.parsed(NETWORKS, NETWORKS_SCHEMA, _records)


def _records(table: pa.Table) -> list[NetworkRecord]:
    found = []
    for row in sorted(table.to_pylist(), key=lambda r: (r["started"], r["version"])):
        declared, layout = json.loads(row.pop("network")), json.loads(row.pop("layout"))
        found.append(NetworkRecord(declared=declared, layout=layout, **row))
    return found


def batch_rows(store: Store, run: str | None = None) -> list[dict[str, Any]]:
    """The committed batches, each once, in order. Should one have been committed twice, the first commit counts."""
    rows = store.parsed(BATCHES, BATCHES_SCHEMA, _first_commits)
    return rows if run is None else [row for row in rows if row["run"] == run]


def _first_commits(table: pa.Table) -> list[dict[str, Any]]:
    seen: dict[tuple[str, int], dict[str, Any]] = {}
    for row in sorted(table.to_pylist(), key=lambda r: r["committed"]):
        seen.setdefault((row["run"], row["batch"]), row)
    return sorted(seen.values(), key=lambda r: (r["committed"], r["batch"]))


def now() -> datetime:
    """The present, in UTC."""
    return datetime.now(UTC)
