"""A streaming query that can die by kill -9 at a named step of a named batch. Run as a script it is what dies.

python crash_query.py '{"network": "windowed", "at": "commit", "batch": 1, ...}'
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

import whence
from whence.deliver.batch import Delivery
from whence.deliver.sinks import FileSink
from whence.store import Location, Store

SCHEMA = "ts timestamp, car_id bigint, speed int"
START = datetime(2026, 1, 5, 8, 0, 20, tzinfo=UTC)
FILES = 4

POINTS = ["begin", "write", "files", "commit", "stage", "one move", "moves", "sink", "checkpoint"]
"""Where a batch can die: before its first step, then behind each step and in the middle of commit and sink."""

NETWORKS: dict[str, Callable[[whence.TracedFrame], whence.TracedFrame]] = {
    "stateless": lambda f: f.where("speed > 0").select("ts", "car_id", "speed"),
    "windowed": lambda f: (
        f.withWatermark("ts", "10 seconds")
        .groupBy(F.window("ts", "60 seconds", "30 seconds"), "car_id")
        .agg(F.count("*").alias("n"), F.sum("speed").alias("total"))
        .selectExpr("window.start as at", "car_id", "n", "total")
    ),
    "random": lambda f: f.selectExpr("ts", "car_id", "rand() as chance"),
}


@dataclass(frozen=True)
class Setting:
    """Where a query reads and writes, and where it is to die."""

    network: str
    source: str
    folder: str
    format: str = "parquet"
    partition_by: tuple[str, ...] = ()
    store: str = ""
    at: str = ""
    batch: int = 1

    @property
    def lineage(self) -> str:
        return self.store or f"{self.folder}/lineage"

    @property
    def out(self) -> str:
        return f"{self.folder}/out"

    @property
    def checkpoint(self) -> str:
        return f"{self.folder}/checkpoint"

    @property
    def marker(self) -> Path:
        return Path(self.folder, "died")


def write_source(folder: Path) -> None:
    """Four files of reports, half a minute each, read one a batch in this order; the last one closes the windows."""
    folder.mkdir(parents=True)
    for number in range(FILES):
        first = START + timedelta(seconds=30 * number if number < FILES - 1 else 3600)
        rows = [{"ts": first + timedelta(seconds=5 * i), "car_id": i % 2, "speed": number * 10 + i} for i in range(6)]
        path = folder / f"reports-{number}.parquet"
        kinds = pa.schema([("ts", pa.timestamp("us", tz="UTC")), ("car_id", pa.int64()), ("speed", pa.int32())])
        pq.write_table(pa.Table.from_pylist(rows, schema=kinds), path)
        os.utime(path, (1_767_600_000 + number, 1_767_600_000 + number))


def start(spark: SparkSession, setting: Setting) -> StreamingQuery:
    """The query, as any restart starts it."""
    read = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(setting.source)
    frame = NETWORKS[setting.network](whence.source(read, "reports", event_time="ts"))
    writer = frame.writeStream.lineage(setting.lineage, name="results").format(setting.format)
    if setting.partition_by:
        writer = writer.partitionBy(*setting.partition_by)
    writer = writer.option("checkpointLocation", setting.checkpoint).trigger(availableNow=True)
    return writer.start(setting.out)


def finish(spark: SparkSession, setting: Setting) -> None:
    """Run the query to its end."""
    start(spark, setting).awaitTermination()


def die(setting: Setting) -> None:
    """Say where, then kill the whole process group: this process and its JVM, with no time to tidy up."""
    with setting.marker.open("w") as marker:
        marker.write(f"{setting.at} {setting.batch}")
        marker.flush()
        os.fsync(marker.fileno())
    os.killpg(os.getpgrp(), signal.SIGKILL)


class _Dying:
    """Arms one step of the engine so that the process dies there, in the chosen batch only."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.now = -1

    def arm(self) -> None:
        at = self.setting.at
        self._note_batch()
        if at == "begin":
            self._wrap(Delivery, "write", before=True)
        elif at == "checkpoint":
            threading.Thread(target=self._watch, daemon=True).start()
        elif at == "one move":
            self._die_between_moves()
        else:
            steps: dict[str, tuple[type, str]] = {
                "write": (Delivery, "write"),
                "files": (Store, "add_files"),
                "commit": (Delivery, "commit"),
                "stage": (FileSink, "_write"),
                "moves": (FileSink, "_move"),
                "sink": (Delivery, "deliver"),
            }
            self._wrap(*steps[at])

    def _note_batch(self) -> None:
        call = Delivery.__call__

        def noted(delivery: Delivery, frame: Any, batch: int) -> None:
            self.now = batch
            call(delivery, frame, batch)

        Delivery.__call__ = noted  # type: ignore[method-assign]

    def _wrap(self, owner: type, name: str, *, before: bool = False) -> None:
        step = getattr(owner, name)

        def dying(*args: Any, **kwargs: Any) -> Any:
            here = self.now == self.setting.batch
            if here and before:
                die(self.setting)
            result = step(*args, **kwargs)
            if here:
                die(self.setting)
            return result

        setattr(owner, name, dying)

    def _die_between_moves(self) -> None:
        """Behind the first of a batch's files that gets its final name."""
        real, dying = Location.files.fget, self  # type: ignore[attr-defined]

        class Moving:
            def __init__(self, location: Location) -> None:
                self.files = real(location)

            def __getattr__(self, name: str) -> Any:
                return getattr(self.files, name)

            def move(self, source: str, target: str) -> None:
                self.files.move(source, target)
                final = target.rpartition("/")[2].startswith("part-") and "/_whence/" not in target
                if final and dying.now == dying.setting.batch:
                    die(dying.setting)

        Location.files = property(Moving)  # type: ignore[assignment]

    def _watch(self) -> None:
        done = Path(self.setting.checkpoint, "commits", str(self.setting.batch))
        while not done.exists():
            time.sleep(0.001)
        die(self.setting)


def session() -> SparkSession:
    """A session like the tests' own."""
    made = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .getOrCreate()
    )
    made.sparkContext.setLogLevel("ERROR")
    return made


def as_json(setting: Setting) -> str:
    return json.dumps(asdict(setting))


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    asked = Setting(**{**given, "partition_by": tuple(given["partition_by"])})
    if asked.at:
        _Dying(asked).arm()
    finish(session(), asked)
