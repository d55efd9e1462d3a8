"""A described network run through the engine, and what its store then answers, in the oracle's terms.

The surprise: ids are turned into (source, row index) by arithmetic on the files that were written, so the engine is
never asked whether the engine is right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import whence
from whence.testing import description as d
from whence.testing.build import Frame
from whence.testing.drive import Payload, Sources, Taken, numbers, payload
from whence.testing.ids import origins_by_id
from whence.testing.oracle.rows import Origin, Origins
from whence.testing.schema import schema

SINK = "results"
BATCH = "_whence_batch"
PROVENANCE = ("_whence_id", "transform(_whence_rows, r -> concat(r.source, ':', r.id)) as _rows")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Result:
    """One output row: its id, its values, its source rows."""

    id: int
    values: Payload
    origins: Origins
    batch: int = 0


@dataclass(frozen=True)
class Captured:
    """What a run with lineage left: the sink's rows a batch, and the store's answer."""

    sink: list[list[Payload]]
    results: list[Result]
    edges: list[tuple[int, Origin]]


@dataclass(frozen=True)
class Engine:
    """Runs one network through the engine; `keyed` declares the column `id`, `untraced` leaves static sides plain."""

    sources: Sources
    mode: str
    keyed: bool = False
    untraced: bool = False

    def wrap(self, frame: Any, table: d.Table) -> Frame:
        """A source's frame, traced, unless it is one that stays untraced."""
        if table.static and self.untraced:
            return frame
        key = "id" if self.keyed and not table.static else None
        return whence.source(frame, table.name, key=key)

    def known(self) -> dict[tuple[str, int], Origin]:
        """Source rows by (source, id)."""
        keyed = [t.name for t in self.sources.network.tables() if self.keyed and not t.static]
        return origins_by_id(self.sources.written, keyed)

    def capture(self, folder: Path, *, stages: bool = True, together: int = 1) -> Captured:
        """Runs with lineage, a stage at a time or over files that are there already, and asks the store."""
        taken = Taken(self.sources.network)
        for stage in range(len(self.sources.split.stages)) if stages else [-1]:
            if stages:
                self.sources.add(stage)
            query = (
                self.sources.build(self.wrap, together=together)
                .writeStream.queryName(SINK)
                .lineage(str(folder / "store"))
                .outputMode(self.mode)
                .foreachBatch(taken)
                .option("checkpointLocation", str(folder / "checkpoint"))
                .trigger(availableNow=True)
                .start()
            )
            query.awaitTermination()
        results, edges = self.answer(folder / "store")
        return Captured(taken.batches, results, edges)

    def answer(self, store: Path) -> tuple[list[Result], list[tuple[int, Origin]]]:
        """What `trace` says of all results."""
        known = self.known()
        with whence.open(str(store)) as lineage:
            trace = lineage.trace(SINK)
            if not trace.outputs.num_rows:
                return [], []
            edges = [(one["output_id"], known[one["source"], one["source_id"]]) for one in trace.edges.to_pylist()]
            rows = arrow_numbers(schema(self.sources.network), trace.outputs)
            batches = trace.outputs.column(BATCH).to_pylist()
            ids = trace.outputs.column("_whence_id").to_pylist()
        origins: dict[int, set[Origin]] = {}
        for output, origin in edges:
            origins.setdefault(output, set()).add(origin)
        results = [
            Result(id, values, frozenset(origins.get(id, ())), batch)
            for id, values, batch in zip(ids, rows, batches, strict=True)
        ]
        return results, edges

    def source_rows(self, store: Path) -> dict[Origin, dict[str, Any]]:
        """The source rows that `trace` reads back, each with its values; of keyed sources none can be."""
        known, found = self.known(), {}
        with whence.open(str(store)) as lineage:
            trace = lineage.trace(SINK)
            for table in self.sources.network.tables():
                if table.name not in trace.sources or (self.keyed and not table.static):
                    continue
                rows = trace.rows(table.name)
                values = arrow_numbers(table.columns, rows)
                names = [one.name for one in table.columns]
                for id, row in zip(rows.column("_whence_id").to_pylist(), values, strict=True):
                    found[known[table.name, id]] = dict(zip(names, row, strict=True))
        return found

    def forward(self, store: Path, origin: Origin) -> set[int]:
        """The results that `impact` finds for a source row."""
        (id,) = (id for (_, id), one in self.known().items() if one == origin)
        with whence.open(str(store)) as lineage:
            return set(lineage.impact(origin[0], id=id).edges.column("output_id").to_pylist())

    def provenance(self, folder: Path) -> list[list[Result]]:
        """What `provenance()` delivers as a stream, batch by batch, over files that are there already."""
        taken = Taken(self.sources.network, PROVENANCE)
        query = (
            self.sources.build(self.wrap)
            .provenance(mode="listed")
            .writeStream.outputMode(self.mode)
            .foreachBatch(taken)
            .option("checkpointLocation", str(folder / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        known = self.known()
        return [[_result(row, known) for row in batch] for batch in taken.batches]

    def static_provenance(self) -> list[Result]:
        """What `provenance()` gives of the static form."""
        frame = self.sources.build(self.wrap, static=True).provenance(mode="listed")
        columns = numbers(self.sources.network, PROVENANCE)
        known = self.known()
        rows = frame.selectExpr(*columns).collect()
        return [_result(payload(row, len(columns)), known) for row in rows]


def _result(row: Payload, known: Mapping[tuple[str, int], Origin]) -> Result:
    *values, id, rows = row
    origins = []
    for one in rows or ():
        source, _, number = one.rpartition(":")
        origins.append(known[source, int(number)])
    twice = [one for one, count in Counter(origins).items() if count > 1]
    if twice:
        raise AssertionError(f"source rows listed more than once for {values}: {twice}")
    return Result(id, tuple(values), frozenset(origins))


def arrow_numbers(fields: Sequence[d.Field], table: Any) -> list[Payload]:
    """An answer's columns in the oracle's form."""
    columns = [[_number(value, one.kind) for value in table.column(one.name).to_pylist()] for one in fields]
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def _number(value: Any, kind: str) -> Any:
    if value is None:
        return None
    if kind == "timestamp":
        return micros(value)
    if kind == "window":
        return micros(value["start"]), micros(value["end"])
    return tuple(value) if kind == "longs" else value


def micros(time: datetime) -> int:
    """A moment as microseconds since 1970, exactly."""
    aware = time if time.tzinfo else time.replace(tzinfo=UTC)
    return (aware - EPOCH) // timedelta(microseconds=1)
