"""Steps one and two of a batch: Spark writes its rows into the store, one commit makes them part of it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from whence.names import BATCH, BATCHES, BATCHES_SCHEMA, ID, KEPT, OUTPUTS, ROW, SOURCE, TABLE
from whence.store import AddAction, Location, Store, now

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WRITE = {
    "compression": "zstd",
    # Sorted ids differ by little: version 2 pages store their differences, packed.
    "parquet.writer.version": "PARQUET_2_0",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}


@dataclass(frozen=True)
class Written:
    """A data file that Spark wrote: `table` is `outputs` or `rows` (kept source rows)."""

    table: str
    path: str
    rows: int
    edges: int
    bytes: int


def write_rows(frame: DataFrame, store: Store, run: str, batch: int, layout: dict[str, Any]) -> list[Written]:
    """Run the batch: its rows, with ids and tags, become Parquet files below `outputs/<run>`; nothing shows yet."""
    folder = store.location.at(OUTPUTS, run)
    attempt = f"{batch}-{uuid.uuid4().hex[:8]}"
    ids, kept = layout["ids"], layout["kept"]
    lists = {column for column in ids.values() if column != ID}
    data = _with_kept(frame, kept) if kept else frame
    writer = data.withColumn(BATCH, _batch(batch)).write.mode("error").options(**_WRITE)
    for column in {ids[source] for source in layout["consecutive"]} & lists:
        # Of ids that lie close together the differences are shorter than any dictionary; of hashed keys they are not.
        writer = writer.option(f"parquet.enable.dictionary#{column}.list.element", "false")
    if kept:
        writer = writer.partitionBy(TABLE)
    writer.parquet(folder.at(attempt).uri)
    return list(_written(folder, attempt, lists, own=ID in ids.values()))


def _batch(batch: int) -> Any:
    from pyspark.sql import functions as F

    return F.lit(batch).cast("bigint")


def _with_kept(frame: DataFrame, kept: dict[str, str]) -> DataFrame:
    """Each output row, and beside it one row for each source row that it keeps: one job writes both tables."""
    from pyspark.sql import functions as F

    shape = {c: frame.schema[c].dataType.elementType for c in kept.values()}  # type: ignore[attr-defined]
    outputs = [c for c in frame.columns if c not in shape]
    lists = [F.array(F.struct(F.lit(OUTPUTS).alias(TABLE), *_nothing(shape), F.lit(None).cast("string").alias(SOURCE)))]
    for source, column in kept.items():
        lists.append(_kept_rows(source, column, shape))
    one = F.explode(F.concat(*lists)).alias(ROW)
    wide = frame.select(*outputs, one)
    is_output = F.col(f"{ROW}.{TABLE}") == OUTPUTS
    return wide.select(
        *(F.when(is_output, F.col(_quoted(c))).alias(c) for c in outputs if c != ID),
        F.when(is_output, F.col(ID)).alias(ID),
        F.col(f"{ROW}.{TABLE}").alias(TABLE),
        F.col(f"{ROW}.{SOURCE}").alias(SOURCE),
        *(F.col(f"{ROW}.{column}").alias(column) for column in shape),
    )


def _nothing(shape: dict[str, Any]) -> list[Any]:
    from pyspark.sql import functions as F

    return [F.lit(None).cast(kind).alias(column) for column, kind in shape.items()]


def _kept_rows(source: str, column: str, shape: dict[str, Any]) -> Any:
    from pyspark.sql import functions as F

    def row(entry: Any) -> Any:
        values = [(entry if c == column else F.lit(None).cast(kind)).alias(c) for c, kind in shape.items()]
        return F.struct(F.lit(KEPT).alias(TABLE), *values, F.lit(source).alias(SOURCE))

    return F.transform(F.col(column), row)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _written(folder: Location, attempt: str, lists: set[str], own: bool) -> Iterator[Written]:
    root = folder.at(attempt)
    for info in folder.files.get_file_info(fs.FileSelector(root.path, recursive=True)):
        if info.type != fs.FileType.File or not info.base_name.endswith(".parquet"):
            continue
        below = info.path[len(folder.path) :].lstrip("/")
        table = KEPT if f"{TABLE}={KEPT}/" in below else OUTPUTS
        with folder.files.open_input_file(info.path) as stream:
            footer = pq.read_metadata(stream)
        if footer.num_rows:
            edges = _edges(footer, lists) + (footer.num_rows if own else 0) if table == OUTPUTS else 0
            yield Written(table, below, footer.num_rows, edges, info.size)


def _edges(footer: pq.FileMetaData, lists: set[str]) -> int:
    total = 0
    for group in range(footer.num_row_groups):
        for at in range(footer.num_columns):
            column = footer.row_group(group).column(at)
            if column.path_in_schema.split(".")[0] in lists:
                nulls = column.statistics.null_count if column.statistics and column.statistics.has_null_count else 0
                total += column.num_values - nulls
    return total


def commit(
    store: Store,
    run: str,
    sink: str,
    batch: int,
    files: list[Written],
    *,
    started: datetime,
    offsets: tuple[str | None, ...],
    watermark: datetime | None,
    segments: list[dict[str, Any]],
) -> dict[str, Any]:
    """Make a batch part of the store: its files' own tables first, its row in `batches` last of all."""
    if files:
        store.add_files(run, [_action(file) for file in files], _schema(store, run, files), (run, batch))
    outputs = [file for file in files if file.table == OUTPUTS]
    row = {
        "run": run,
        "sink": sink,
        "batch": batch,
        "started": started,
        "committed": now(),
        "offsets": json.dumps(list(offsets)),
        "watermark": watermark,
        "event_min": min((s["event_min"] for s in segments if s.get("event_min")), default=None),
        "event_max": max((s["event_max"] for s in segments if s.get("event_max")), default=None),
        "rows": sum(file.rows for file in outputs),
        "edges": sum(file.edges for file in outputs),
        "files": [{"table": f.table, "path": f"{run}/{f.path}", "rows": f.rows, "bytes": f.bytes} for f in files],
        "segments": segments,
    }
    store.append(BATCHES, [row], BATCHES_SCHEMA, (run, batch))
    return row


def _action(file: Written) -> AddAction:
    parts = {TABLE: file.table} if f"{TABLE}=" in file.path else {}
    stats = json.dumps({"numRecords": file.rows})
    return AddAction(file.path, file.bytes, parts, int(now().timestamp() * 1000), True, stats)


def _schema(store: Store, run: str, files: list[Written]) -> pa.Schema:
    location = store.location.at(OUTPUTS, run, files[0].path)
    with location.files.open_input_file(location.path) as stream:
        schema = pq.read_schema(stream).remove_metadata()
    schema = pa.schema([pa.field(f.name, f.type) for f in schema])
    return schema.append(pa.field(TABLE, pa.string())) if f"{TABLE}=" in files[0].path else schema
