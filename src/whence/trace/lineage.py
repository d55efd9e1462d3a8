"""`whence.open`: a store, asked without Spark."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Self

import pyarrow as pa

from whence.errors import BadInputError, NotFoundError
from whence.names import BATCH, ID, OUTPUTS, RUN
from whence.store import NetworkRecord, networks, open_store
from whence.trace import forward
from whence.trace.answer import Impact, Trace
from whence.trace.condition import checked
from whence.trace.current import Run, declared_sources, runs, runs_of, source_of
from whence.trace.engine import EDGE_SCHEMA, arrow, ask, connect, current_rows, edges, quoted
from whence.trace.rows import Resolver, segments_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class SinkInfo:
    """A sink of the store, as it is now."""

    name: str
    mode: str
    output_mode: str
    streaming: bool
    runs: tuple[str, ...]
    batches: int
    last_batch: int | None
    last_commit: datetime | None
    watermark: datetime | None
    rows: int
    edges: int
    columns: tuple[str, ...]
    sources: tuple[str, ...]
    bounds: dict[str, int | None]
    network: str


@dataclass(frozen=True)
class SourceInfo:
    """A source of the store, as last declared."""

    name: str
    ids: str
    key: tuple[str, ...]
    keep: str
    event_time: str | None
    sinks: tuple[str, ...]
    segments: int


RUN_ORDER = f"{BATCH}, {ID}, {RUN}"
"""Answers come in the order of delivery."""


class Lineage:
    """A lineage store, opened for asking; a context manager.

    >>> with whence.open("lineage/") as lineage:
    ...     lineage.trace("stopped_cars", where="car_id = 7")

    Each question sees the whole batches that are committed when it is asked.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        relocate: Mapping[str, str] | None = None,
        storage_options: Mapping[str, str] | None = None,
        kafka: Mapping[str, str] | None = None,
    ) -> None:
        if kafka is not None:
            raise BadInputError("rows cannot be read back from Kafka yet", hint='declare the source with keep="rows"')
        self._store = open_store(folder, storage_options=storage_options)
        self._resolver = Resolver(self._store.location.uri, dict(relocate or {}), storage_options, self._store)
        self._connection = connect([self._store.location.at(OUTPUTS).table_uri])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the store."""
        self._connection.close()

    def trace(self, sink: str, where: str | None = None, id: int | None = None) -> Trace:
        """The output rows of `sink` that match, each with the exact source rows that made it."""
        found = runs_of(self._store, sink)
        columns = list(dict.fromkeys([c for run in found for c in run.network.layout["payload"]]))
        condition = _condition(where, id, columns, ID)
        parts = [sql for run in found if (sql := current_rows(run, self._store, condition))]
        untraced = tuple(dict.fromkeys(u for run in found for u in run.network.declared["untraced"]))
        if not parts:
            outputs = _no_outputs(columns)
        else:
            outputs = ask(self._connection, f"{' UNION ALL BY NAME '.join(parts)} ORDER BY {RUN_ORDER}", where)
        if id is not None and outputs.num_rows == 0:
            raise NotFoundError(f'sink "{sink}" has no result {id}', hint="ids are the column _whence_id of an answer")
        return Trace(outputs, self._edges(found, outputs), untraced, self._resolver)

    def impact(self, source: str, where: str | None = None, id: int | None = None) -> Impact:
        """Every output row, in every sink, that the matching rows of `source` reached."""
        declared = source_of(self._store, source)
        if id is None and where is None:
            raise BadInputError("impact of what?", hint='give where="..." over the source\'s columns, or id=...')
        ids = [] if id is None else [_checked_id(id)]
        if where is not None:
            found = forward.matching(self._store, source, declared, where, self._resolver)
            ids = found if id is None else [i for i in ids if i in found]
        every = runs(self._store)
        by_sink: dict[str, pa.Table] = {}
        reached: list[pa.Table] = []
        for sink, own in every.items():
            using = [run for run in own if source in run.network.layout["ids"]]
            if using:
                by_sink[sink], own_edges = self._reached(using, source, ids)
                reached.append(own_edges)
        table = pa.concat_tables(reached) if reached else EDGE_SCHEMA.empty_table()
        if id is not None and not table.num_rows and not forward.known(self._store, source, declared, id):
            raise NotFoundError(
                f'source "{source}" has no row {id} that the store knows',
                hint="ids stand in an answer's edges",
            )
        untraced = tuple(
            dict.fromkeys(u for own in every.values() for run in own for u in run.network.declared["untraced"])
        )
        alive = forward.alive(self._store, source, declared, ids, every, self._resolver)
        outputs = forward.together(by_sink)
        return Impact(outputs, table, untraced, self._resolver, {}, source, tuple(ids), alive, by_sink)

    def sinks(self) -> list[SinkInfo]:
        """The sinks of the store."""
        return [_sink(name, own) for name, own in sorted(runs(self._store).items())]

    def sources(self) -> list[SourceInfo]:
        """The sources of the store."""
        every = runs(self._store)
        found = []
        for name, declared in sorted(declared_sources(self._store).items()):
            own = [sink for sink, rs in every.items() if any(name in r.network.declared["sources"] for r in rs)]
            count = len(segments_of(self._store, name))
            key = tuple(declared["key"])
            found.append(
                SourceInfo(name, declared["ids"], key, declared["keep"], declared["event_time"], tuple(own), count)
            )
        return found

    def networks(self) -> list[NetworkRecord]:
        """Every network that was started, in order."""
        return networks(self._store)

    def to_spark(self, spark: SparkSession, table: str, *, sink: str | None = None) -> DataFrame:
        """Committed lineage: `outputs`, `edges`, `rows` (of one `sink`), `batches`, `segments` or `networks`."""
        from whence.trace.spark import table_of

        return table_of(spark, self._store, table, sink)

    def _edges(self, found: list[Run], outputs: pa.Table) -> pa.Table:
        """The edges of output rows, up to the version that each row is."""
        if not outputs.num_rows:
            return EDGE_SCHEMA.empty_table()
        self._connection.register("chosen", outputs.select([ID, BATCH, RUN]))
        parts = [sql for run in found if (sql := edges(run, self._store))]
        if not parts:
            return EDGE_SCHEMA.empty_table()
        chosen = f"(SELECT DISTINCT {ID}, {BATCH}, {RUN} FROM chosen)"
        sql = " UNION ALL ".join(
            f"SELECT e.* FROM ({part}) e JOIN {chosen} c"
            f" ON e.output_id = c.{ID} AND e.run = c.{RUN} AND e.batch <= c.{BATCH}"
            for part in parts
        )
        table = arrow(self._connection, f"SELECT DISTINCT * FROM ({sql}) ORDER BY output_id, source, source_id")
        return table.cast(EDGE_SCHEMA)

    def _reached(self, using: list[Run], source: str, ids: list[int]) -> tuple[pa.Table, pa.Table]:
        self._connection.register("asked", pa.table({"id": pa.array(ids, pa.int64())}))
        parts = [sql for run in using if (sql := edges(run, self._store, source))]
        if not parts:
            return pa.table({ID: pa.array([], pa.int64())}), EDGE_SCHEMA.empty_table()
        semi = " UNION ALL ".join(f"SELECT * FROM ({p}) WHERE source_id IN (SELECT id FROM asked)" for p in parts)
        reached = arrow(self._connection, semi).cast(EDGE_SCHEMA)
        self._connection.register("reached", reached)
        condition = f"{ID} IN (SELECT output_id FROM reached)"
        rows = [sql for run in using if (sql := current_rows(run, self._store, condition))]
        outputs = arrow(self._connection, f"{' UNION ALL BY NAME '.join(rows)} ORDER BY {RUN_ORDER}")
        self._connection.register("standing", outputs.select([ID, RUN]))
        standing = f"SELECT r.* FROM reached r SEMI JOIN standing s ON r.output_id = s.{ID} AND r.run = s.{RUN}"
        edges_now = arrow(self._connection, f"{standing} ORDER BY output_id, source_id")
        return outputs, edges_now.cast(EDGE_SCHEMA)


def open(
    folder: str | os.PathLike[str],
    *,
    relocate: Mapping[str, str] | None = None,
    storage_options: Mapping[str, str] | None = None,
    kafka: Mapping[str, str] | None = None,
) -> Lineage:
    """Open a lineage store, without Spark. `relocate={"/old": "/new"}` says where source files have moved."""
    return Lineage(folder, relocate=relocate, storage_options=storage_options, kafka=kafka)


def _no_outputs(columns: list[str]) -> pa.Table:
    ends = {BATCH: pa.array([], pa.int64()), RUN: pa.array([], pa.string())}
    return pa.table({ID: pa.array([], pa.int64()), **{c: pa.nulls(0) for c in columns}, **ends})


def _condition(where: str | None, row_id: int | None, columns: list[str], id_column: str) -> str:
    parts = []
    if row_id is not None:
        parts.append(f"{quoted(id_column)} = {_checked_id(row_id)}")
    if where is not None:
        parts.append(f"({checked(where, [*columns, id_column])}\n)")
    return " AND ".join(parts) or "true"


def _checked_id(row_id: object) -> int:
    if not isinstance(row_id, int) or isinstance(row_id, bool) or not 0 <= row_id < 1 << 63:
        raise BadInputError(
            f"{row_id!r} is not an id", "an id is a non-negative integer of 63 bits", "answers hold ids: _whence_id"
        )
    return row_id


def _sink(name: str, own: list[Run]) -> SinkInfo:
    rows = [row for run in own for row in run.batches]
    last = own[-1]
    return SinkInfo(
        name=name,
        mode=last.network.mode,
        output_mode=last.network.output_mode,
        streaming=last.network.streaming,
        runs=tuple(run.id for run in own),
        batches=len(rows),
        last_batch=rows[-1]["batch"] if rows else None,
        last_commit=rows[-1]["committed"] if rows else None,
        watermark=last.watermark,
        rows=sum(row["rows"] for row in rows),
        edges=sum(row["edges"] for row in rows),
        columns=tuple(last.network.layout["payload"]),
        sources=tuple(last.network.declared["sources"]),
        bounds={s: d["bound"] for s, d in last.network.declared["sources"].items()},
        network=last.network.declared["text"],
    )
