"""Small files of car reports, and the queries over them that tests of the store run."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import whence
from whence import TracedFrame

SCHEMA = "ts timestamp, car_id bigint, speed int"
ROWS = 4
START = datetime(2026, 1, 5, 8, tzinfo=UTC)
_ARROW = pa.schema([("ts", pa.timestamp("us", tz="UTC")), ("car_id", pa.int64()), ("speed", pa.int32())])


def write(folder: Path, *numbers: int, rows: int = ROWS) -> list[Path]:
    """A file a number, half a minute each, read in the order of their numbers."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for number in numbers:
        data = [
            {"ts": START + timedelta(seconds=30 * number + 5 * i), "car_id": i % 2, "speed": 10 * number + i}
            for i in range(rows)
        ]
        path = folder / f"reports-{number}.parquet"
        pq.write_table(pa.Table.from_pylist(data, schema=_ARROW), path)
        os.utime(path, (1_767_600_000 + number, 1_767_600_000 + number))
        made.append(path)
    return made


def stream(spark: SparkSession, folder: Path, name: str = "reports", **options: Any) -> TracedFrame:
    """The files as a traced stream, one a batch."""
    read = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder))
    return whence.source(read, name, event_time="ts", **options)


def static(spark: SparkSession, folder: Path) -> DataFrame:
    """The files as a plain static frame."""
    return spark.read.schema(SCHEMA).parquet(str(folder))


def start(frame: TracedFrame, base: Path, *, store: Path | None = None, name: str = "results") -> StreamingQuery:
    """The frame into `base/out`, its lineage into `base/lineage` unless told otherwise, over all input there is."""
    writer = frame.writeStream.lineage(store or base / "lineage", name=name).format("parquet")
    writer = writer.option("checkpointLocation", str(base / "checkpoint")).trigger(availableNow=True)
    return writer.start(str(base / "out"))


def run(frame: TracedFrame, base: Path, **options: Any) -> None:
    """`start`, to its end."""
    start(frame, base, **options).awaitTermination()


def keep(frame: TracedFrame, store: Path, name: str = "results", mode: str = "append") -> None:
    """A static write of which only the lineage stays."""
    frame.write.lineage(store, name=name).format("noop").mode(mode).save()
