"""What the store keeps of a batch and of a network, as values."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

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
    rows = store.read(NETWORKS, NETWORKS_SCHEMA).to_pylist()
    found = []
    for row in sorted(rows, key=lambda r: (r["started"], r["version"])):
        declared, layout = json.loads(row.pop("network")), json.loads(row.pop("layout"))
        found.append(NetworkRecord(declared=declared, layout=layout, **row))
    return found


def batch_rows(store: Store, run: str | None = None) -> list[dict[str, Any]]:
    """The committed batches, each once, in order. Should one have been committed twice, the first commit counts."""
    table = store.read(BATCHES, BATCHES_SCHEMA)
    seen: dict[tuple[str, int], dict[str, Any]] = {}
    for row in sorted(table.to_pylist(), key=lambda r: r["committed"]):
        if run is None or row["run"] == run:
            seen.setdefault((row["run"], row["batch"]), row)
    return sorted(seen.values(), key=lambda r: (r["committed"], r["batch"]))


def now() -> datetime:
    """The present, in UTC."""
    return datetime.now(UTC)
