"""Restarts from a checkpoint: what goes on with the same ids, and what is refused before the query starts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import reports
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import whence
from whence import TracedFrame
from whence.errors import CheckpointError, SinkError

Network = Callable[[TracedFrame], TracedFrame]


def _windows(frame: TracedFrame, size: str = "60 seconds") -> TracedFrame:
    windows = frame.withWatermark("ts", "0 seconds").groupBy(F.window("ts", size), "car_id")
    return windows.agg(F.count("*").alias("n")).selectExpr("window.start as at", "car_id", "n")


def _groups(frame: TracedFrame) -> TracedFrame:
    return frame.groupBy("car_id").agg(F.count("*").alias("n"))


def _start(frame: TracedFrame, base: Path, output_mode: str = "append", **lineage: object) -> None:
    lineage = {"name": "results", **lineage}
    writer = frame.writeStream.lineage(base / "lineage", **lineage).format("noop").outputMode(output_mode)
    writer = writer.option("checkpointLocation", str(base / "checkpoint")).trigger(availableNow=True)
    writer.start().awaitTermination()


@pytest.fixture(scope="module")
def windowed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A windowed query that ended: what a restart with something else may find."""
    base = tmp_path_factory.mktemp("windowed")
    reports.write(base / "in", 0)
    _start(_windows(reports.stream(spark, base / "in")), base)
    return base


def _refused(frame: TracedFrame, base: Path, **options: object) -> CheckpointError:
    active = frame.sparkSession.streams.active
    with pytest.raises(CheckpointError) as caught:
        _start(frame, base, **options)
    assert frame.sparkSession.streams.active == active
    assert caught.value.hint
    return caught.value


def test_a_restart_gives_the_ids_of_one_run(spark: SparkSession, tmp_path: Path) -> None:
    """Stopped after every file and started again, a windowed query has the ids and edges of one that never stopped."""
    once, often = tmp_path / "once", tmp_path / "often"
    for number in range(4):
        reports.write(tmp_path / "in", number)
        reports.run(_windows(reports.stream(spark, tmp_path / "in")), often, store=tmp_path / "often")
    reports.run(_windows(reports.stream(spark, tmp_path / "in")), once, store=tmp_path / "once")
    answers = []
    for store in (once, often):
        with whence.open(store) as lineage:
            trace = lineage.trace("results")
            rows = [(row["_whence_id"], row["at"], row["car_id"], row["n"]) for row in trace.outputs.to_pylist()]
            edges = [(e["output_id"], e["source_id"]) for e in trace.edges.to_pylist()]
            assert len(set(edges)) == len(edges) > 0
            answers.append((sorted(rows), sorted(edges)))
            assert len(lineage.sinks()[0].runs) == 1
    assert answers[0] == answers[1]
    assert spark.read.parquet(str(often / "out")).count() == len(answers[0][0])


def test_a_checkpoint_made_without_lineage_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """Lineage cannot be switched on over old state; the checkpoint is named."""
    reports.write(tmp_path / "in", 0)
    plain = _groups(reports.stream(spark, tmp_path / "in")).writeStream.format("noop").outputMode("update")
    plain = plain.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
    plain.start().awaitTermination()
    error = _refused(_groups(reports.stream(spark, tmp_path / "in")), tmp_path, output_mode="update")
    assert "made without lineage" in error.primary
    assert str(tmp_path / "checkpoint") in error.primary


def test_a_checkpoint_of_another_store_is_refused(spark: SparkSession, windowed: Path, tmp_path: Path) -> None:
    """Its earlier results would be in no store that this query writes."""
    frame = _windows(reports.stream(spark, windowed / "in"))
    writer = frame.writeStream.lineage(tmp_path / "other", name="results").format("noop")
    with pytest.raises(CheckpointError, match="another store"):
        writer.option("checkpointLocation", str(windowed / "checkpoint")).start()


CHANGES: dict[str, tuple[Network, str]] = {
    "another window": (lambda f: _windows(f, "30 seconds"), "aggregate 1 has changed"),
    "another step instead": (lambda f: f.withWatermark("ts", "0 seconds").dropDuplicates(["ts"]), "aggregate 1"),
    "a step more": (lambda f: _windows(f).dropDuplicates(["at", "car_id"]), "dedup 1 is new"),
    "a step less": (lambda f: f.where("speed > 0"), "aggregate 1 is gone"),
}


@pytest.mark.parametrize(("network", "primary"), CHANGES.values(), ids=CHANGES.keys())
def test_a_changed_network_is_refused_by_the_step(
    spark: SparkSession, windowed: Path, network: Network, primary: str
) -> None:
    """A step that keeps state or enters an id may not change, come or go: it is named."""
    error = _refused(network(reports.stream(spark, windowed / "in")), windowed)
    assert primary in error.primary
    assert "new checkpoint" in error.hint


def test_what_is_fixed_for_a_checkpoint_is_refused(spark: SparkSession, windowed: Path) -> None:
    """Output mode, sink name, source name and what is kept of its rows belong to the checkpoint."""
    frame = reports.stream(spark, windowed / "in")
    assert "output mode append" in _refused(_windows(frame), windowed, output_mode="update").primary
    assert 'sink "results"' in _refused(_windows(frame), windowed, name="other").primary
    renamed = reports.stream(spark, windowed / "in", name="renamed")
    assert "sources have changed" in _refused(_windows(renamed), windowed).primary
    kept = reports.stream(spark, windowed / "in", keep="rows")
    assert "what rides on a row" in _refused(_windows(kept), windowed).primary


def test_lineage_cannot_be_switched_off_over_a_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    """mode="off" over state that carries tags: Spark's own error or ours, but no wrong results."""
    reports.write(tmp_path / "in", 0)
    _start(_groups(reports.stream(spark, tmp_path / "in")), tmp_path, output_mode="update")
    reports.write(tmp_path / "in", 1)
    with pytest.raises(Exception, match=r"(?i)state|lineage|checkpoint"):
        _start(_groups(reports.stream(spark, tmp_path / "in")), tmp_path, output_mode="update", mode="off")


def test_a_stateless_step_may_change(spark: SparkSession, tmp_path: Path) -> None:
    """A filter or a column more: the query goes on, earlier results stay as they were delivered."""
    reports.write(tmp_path / "in", 0)
    _start(reports.stream(spark, tmp_path / "in").select("speed"), tmp_path)
    reports.write(tmp_path / "in", 1)
    changed = reports.stream(spark, tmp_path / "in").where("speed > 10").selectExpr("speed", "speed * 2 as twice")
    _start(changed, tmp_path)
    with whence.open(tmp_path / "lineage") as lineage:
        trace = lineage.trace("results")
        rows = {(row["speed"], row["twice"]) for row in trace.outputs.to_pylist()}
        assert len(lineage.networks()) == 2
        assert lineage.trace("results", where="twice = 24").edges.num_rows == 1
        assert lineage.to_spark(spark, "outputs", sink="results").count() == 7
    assert rows == {(0, None), (1, None), (2, None), (3, None), (11, 22), (12, 24), (13, 26)}


def test_a_column_of_another_type_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """Old files hold the old type: one name cannot stand for both."""
    reports.write(tmp_path / "in", 0)
    _start(reports.stream(spark, tmp_path / "in"), tmp_path)
    error = _refused(
        reports.stream(spark, tmp_path / "in").withColumn("speed", F.col("speed").cast("string")), tmp_path
    )
    assert 'column "speed"' in error.primary


def test_a_changed_network_that_delivered_nothing_yet_is_asked(spark: SparkSession, tmp_path: Path) -> None:
    """Between a restart with a column more and its first commit, the column is there and empty."""
    reports.write(tmp_path / "in", 0)
    _start(reports.stream(spark, tmp_path / "in").select("speed"), tmp_path)
    reports.write(tmp_path / "in", 1)
    broken = reports.stream(spark, tmp_path / "in").selectExpr("speed", "raise_error('broken') as twice")
    with pytest.raises(StreamingQueryException, match="broken"):
        _start(broken.withColumn("twice", F.col("twice").cast("int")), tmp_path)
    with whence.open(tmp_path / "lineage") as lineage:
        trace = lineage.trace("results")
        assert trace.outputs.column("twice").to_pylist() == [None] * reports.ROWS
        assert lineage.trace("results", where="speed = 2").edges.num_rows == 1
        assert lineage.to_spark(spark, "outputs", sink="results").where("twice is null").count() == reports.ROWS


def test_a_folder_that_a_plain_stream_wrote_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """Spark's readers follow its _spark_metadata and would not see new files: the folder is named."""
    reports.write(tmp_path / "in", 0)
    plain = reports.stream(spark, tmp_path / "in").writeStream.format("parquet")
    plain = plain.option("checkpointLocation", str(tmp_path / "plain")).trigger(availableNow=True)
    plain.start(str(tmp_path / "out")).awaitTermination()
    with pytest.raises(SinkError, match="without lineage") as caught:
        reports.run(reports.stream(spark, tmp_path / "in"), tmp_path)
    assert str(tmp_path / "out") in caught.value.primary
    assert "new folder" in caught.value.hint
    assert not (tmp_path / "lineage").exists()
