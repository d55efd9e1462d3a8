"""Kept source rows: those that contributed, from the store itself."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from whence.names import ID, KEPT, OUTPUTS, SOURCE
from whence.store import Store, batch_rows, kept_batches, networks
from whence.trace.engine import arrow, connect, quoted, scan, text


def kept_rows(store: Store, source: str, ids: Sequence[int] | None) -> tuple[pa.Table, bool]:
    """The kept rows of a source with these ids (all, for None), and whether any were freed by `keep_for`."""
    tables: list[pa.Table] = []
    empty = pa.table({ID: pa.array([], pa.int64())})
    layouts = {n.run: n.layout["kept"].get(source) for n in networks(store)}
    live, freed = live_files(store, source)
    with connect([store.location.at(OUTPUTS).path]) as connection:
        connection.register("wanted", pa.table({"id": pa.array(list(ids or []), pa.int64())}))
        for run, column in layouts.items():
            paths = live.get(run, [])
            if not column or not paths:
                continue
            named = f"SELECT DISTINCT {quoted(column)}.id AS {ID}, {quoted(column)}.row AS row FROM {scan(paths)}"
            rows = f"{named} WHERE {SOURCE} = {text(source)}"
            chosen = "" if ids is None else f"WHERE {ID} IN (SELECT id FROM wanted)"
            tables.append(arrow(connection, f"SELECT {ID}, unnest(row) FROM ({rows}) {chosen}"))
    if not tables:
        return empty, freed
    table = pa.concat_tables(tables, promote_options="permissive")
    return _distinct(table), freed


def _distinct(table: pa.Table) -> pa.Table:
    """Each row once, though several runs kept it."""
    with connect() as connection:
        connection.register("kept", table)
        return arrow(connection, f"SELECT DISTINCT * FROM kept ORDER BY {ID}")


def live_files(store: Store, source: str) -> tuple[dict[str, list[str]], bool]:
    """The files of kept rows by run, without those that `keep_for` has freed, and whether there were such."""
    root = store.location.at(OUTPUTS)
    limits = {
        n.run: n.declared["sources"][source].get("keep_for") for n in networks(store) if source in n.declared["sources"]
    }
    live: dict[str, list[str]] = {}
    freed = False
    for run, limit in limits.items():
        rows = batch_rows(store, run)
        kept = [row for row in rows if any(f["table"] == KEPT for f in row["files"])]
        keep = kept_batches(rows, limit)
        freed = freed or any(row["batch"] not in keep for row in kept)
        for row in kept:
            if row["batch"] in keep:
                live.setdefault(run, []).extend(
                    root.at(f["path"]).table_uri for f in row["files"] if f["table"] == KEPT
                )
    return live, freed
