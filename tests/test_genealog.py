"""GeneaLog's sample query (Figures 1, 2 and 4 of the paper), row by row, as a stream and as a static frame.

Its text gives the four reports and the alert; the reports of other cars around them are ours, to be left out.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import whence
from whence.workloads import lr_q1, lr_q2

SCHEMA = "ts timestamp, car_id string, speed int, pos string"
FIGURE_1 = [("08:00:01", "a", 0, "X"), ("08:00:31", "a", 0, "X"), ("08:01:01", "a", 0, "X"), ("08:01:31", "a", 0, "X")]
OTHERS = [
    ("08:00:02", "b", 55, "X"), ("08:00:32", "b", 0, "Y"), ("08:01:02", "b", 0, "Y"), ("08:01:32", "b", 0, "Z"),
    ("08:00:03", "c", 0, "X"), ("08:00:33", "c", 0, "X"), ("08:01:03", "c", 0, "X"), ("08:01:33", "c", 1, "X"),
    ("08:02:01", "a", 40, "X"), ("08:09:00", "z", 0, "W"),
]  # fmt: skip
Report = tuple[str, str, int, str]


def moment(time: str) -> datetime:
    return datetime.fromisoformat(f"2026-01-05 {time}").replace(tzinfo=UTC)


def write(folder: Path, reports: list[Report], files: int) -> None:
    """The reports in order of time, a number of files."""
    folder.mkdir()
    ordered = sorted(reports)
    size = -(-len(ordered) // files)
    fields = [
        ("ts", pa.timestamp("us", tz="UTC")),
        ("car_id", pa.string()),
        ("speed", pa.int32()),
        ("pos", pa.string()),
    ]
    for number in range(files):
        rows = [(moment(time), *rest) for time, *rest in ordered[number * size : (number + 1) * size]]
        columns = [list(column) for column in zip(*rows, strict=True)]
        table = pa.table(columns, schema=pa.schema(fields))
        path = folder / f"{number:02d}.parquet"
        pq.write_table(table, path)
        os.utime(path, (1_767_600_000 + number, 1_767_600_000 + number))  # files are read in the order of their times


def report(row: dict[str, Any]) -> Report:
    return (row["ts"].astimezone(UTC).strftime("%H:%M:%S"), row["car_id"], row["speed"], row["pos"])


Sets = dict[tuple[Any, ...], set[Report]]


def by_stream(spark: SparkSession, folder: Path, base: Path, query: Any, columns: tuple[str, ...]) -> Sets:
    """Each result with its reports, from the store of a stream that read one file a batch, without Spark."""
    read = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder))
    alerts = query(whence.source(read, "reports", event_time="ts"))
    writer = alerts.writeStream.queryName("alerts").lineage(base / "store").format("parquet")
    writer = writer.option("checkpointLocation", str(base / "checkpoint")).trigger(availableNow=True)
    writer.start(str(base / "out")).awaitTermination()
    with whence.open(base / "store") as lineage:
        trace = lineage.trace("alerts")
        rows = {row["_whence_id"]: report(row) for row in trace.rows("reports").to_pylist()}
        results = {row["_whence_id"]: tuple(row[c] for c in columns) for row in trace.outputs.to_pylist()}
        found: Sets = {result: set() for result in results.values()}
        for edge in trace.edges.to_pylist():
            found[results[edge["output_id"]]].add(rows[edge["source_id"]])
    return {(result[0].astimezone(UTC).strftime("%H:%M:%S"), *result[1:]): own for result, own in found.items()}


def by_provenance(spark: SparkSession, folder: Path, query: Any, columns: tuple[str, ...]) -> Sets:
    """The same of a static frame, through `provenance()`."""
    source = whence.source(spark.read.schema(SCHEMA).parquet(str(folder)), "reports", event_time="ts")
    rows = {row["_whence_id"]: report(row.asDict()) for row in source.provenance().collect()}
    found: Sets = {}
    for row in query(source).provenance().collect():
        result = (row["ts"].astimezone(UTC).strftime("%H:%M:%S"), *(row[c] for c in columns[1:]))
        found[result] = {rows[one.id] for one in row["_whence_rows"] if one.source == "reports"}
    return found


ALERT = ("ts", "car_id", "n", "positions")


@pytest.mark.parametrize("files", [1, 7])
def test_figure_1(spark: SparkSession, tmp_path: Path, files: int) -> None:
    """The alert (08:00:00, a, 4, 1) comes from exactly the four reports of car a, however the stream is split."""
    write(tmp_path / "in", FIGURE_1 + OTHERS, files)
    expected = {("08:00:00", "a", 4, 1): set(FIGURE_1)}
    assert by_stream(spark, tmp_path / "in", tmp_path, lr_q1, ALERT) == expected
    assert by_provenance(spark, tmp_path / "in", lr_q1, ALERT) == expected


def test_each_report_reaches_the_alert(spark: SparkSession, tmp_path: Path) -> None:
    """Figure 2's arrows, followed forward: the four reports reach the alert, every other report reaches nothing."""
    write(tmp_path / "in", FIGURE_1 + OTHERS, 2)
    by_stream(spark, tmp_path / "in", tmp_path, lr_q1, ALERT)
    with whence.open(tmp_path / "store") as lineage:
        for time, car, speed, pos in FIGURE_1 + OTHERS:
            where = f"ts = TIMESTAMPTZ '2026-01-05 {time}+00' AND car_id = '{car}'"
            impact = lineage.impact("reports", where=where)
            assert len(impact.ids) == 1
            assert impact.outputs.num_rows == ((time, car, speed, pos) in FIGURE_1)


def test_overlapping_windows_share_their_reports(spark: SparkSession, tmp_path: Path) -> None:
    """Figure 4 with a fifth report: two windows, two alerts, and the three reports in the middle belong to both."""
    fifth = ("08:02:01", "a", 0, "X")
    write(tmp_path / "in", [*FIGURE_1, fifth, ("08:09:00", "z", 0, "W")], 3)
    expected = {("08:00:00", "a", 4, 1): set(FIGURE_1), ("08:00:30", "a", 4, 1): {*FIGURE_1[1:], fifth}}
    assert by_stream(spark, tmp_path / "in", tmp_path, lr_q1, ALERT) == expected
    assert by_provenance(spark, tmp_path / "in", lr_q1, ALERT) == expected


def test_figure_9(spark: SparkSession, tmp_path: Path) -> None:
    """An accident of two cars comes from their eight reports, through two aggregates."""
    other = [(time[:-1] + "9", "d", 0, "X") for time, *_ in FIGURE_1]
    write(tmp_path / "in", [*FIGURE_1, *other, *OTHERS[:4], ("08:20:00", "z", 0, "W")], 4)
    expected = {("08:01:30", "X", 2): {*FIGURE_1, *other}}
    assert by_provenance(spark, tmp_path / "in", lr_q2, ("ts", "pos", "cars")) == expected
    assert by_stream(spark, tmp_path / "in", tmp_path, lr_q2, ("ts", "pos", "cars")) == expected
