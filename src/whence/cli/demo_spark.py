"""The part of the demo that needs Spark: reports are made, and two queries run over them with lineage."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import whence
from whence.workloads import lr_q1, lr_q2, read_in_order, reports, write_in_order

ROUNDS = 120  # an hour: one report a car every 30 seconds
FILES = 5
QUERIES = {"stopped_cars": lr_q1, "accidents": lr_q2}


@dataclass(frozen=True)
class Places:
    """Where the demo keeps what it makes."""

    folder: Path

    @property
    def reports(self) -> Path:
        return self.folder / "reports"

    @property
    def store(self) -> Path:
        return self.folder / "lineage"

    @property
    def log(self) -> Path:
        return self.folder / "spark.log"

    def out(self, sink: str) -> Path:
        return self.folder / "out" / sink

    def checkpoint(self, sink: str) -> Path:
        return self.folder / "checkpoints" / sink


def local_spark(places: Places) -> SparkSession:
    """A Spark of the demo's own, whose log goes to a file: its Java inherits stderr, which is that file meanwhile."""
    os.environ.pop("SPARK_REMOTE", None)
    cores = min(4, os.cpu_count() or 1)
    builder = (
        SparkSession.builder.master(f"local[{cores}]")
        .appName("whence demo")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", str(cores))
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
    )
    with _stderr_to(places.log):
        return builder.getOrCreate()


@contextmanager
def _stderr_to(path: Path) -> Iterator[None]:
    sys.stderr.flush()
    kept = os.dup(2)
    with path.open("ab") as log:
        os.dup2(log.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def make_reports(spark: SparkSession, places: Places, wanted: int) -> int:
    """Writes about ``wanted`` reports, some twenty accidents among them, and says how many it wrote."""
    cars = max(2, wanted // ROUNDS)
    trips = cars // 2 * (ROUNDS // 20)
    frame = reports(spark, cars=cars, rounds=ROUNDS, stopping=0.02, accidents=min(0.5, max(0.005, 20 / trips)))
    write_in_order(frame, places.reports, time="ts", files=FILES, name="reports")
    return cars * ROUNDS + 1


def run_queries(spark: SparkSession, places: Places, total: int, progress: Callable[[int, int], None]) -> None:
    """Runs both queries to their end, with lineage into one store; tells how many rows have been read, of how many."""
    source = whence.source(read_in_order(spark, places.reports), "reports", event_time="ts")
    running = [
        query(source)
        .writeStream.queryName(name)
        .lineage(str(places.store))
        .format("parquet")
        .option("path", str(places.out(name)))
        .option("checkpointLocation", str(places.checkpoint(name)))
        .trigger(availableNow=True)
        .start()
        for name, query in QUERIES.items()
    ]
    whole = total * len(running)
    while any(query.isActive for query in running):
        progress(min(whole, sum(map(_rows_read, running))), whole)
        time.sleep(0.1)
    for query in running:
        query.awaitTermination()
    progress(whole, whole)


def _rows_read(query: Any) -> int:
    return sum(int(batch["numInputRows"]) for batch in query.recentProgress)
