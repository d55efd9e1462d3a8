"""The static bound U: how far behind the watermark a source row can still reach a result (Ananke, Theorem 4.1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from steps import frames, streams, traced

import whence
from whence import TracedFrame
from whence.network import keeps_state, sources, static_bounds
from whence.workloads import lr_q1, lr_q2, sg_q3, sg_q4

SECOND = 1_000_000
HOUR = 3600 * SECOND
Pair = tuple[TracedFrame, TracedFrame]


@pytest.fixture(scope="module")
def two(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return traced(*streams(spark, tmp_path_factory.mktemp("network")))


def reports(spark: SparkSession) -> TracedFrame:
    made = spark.readStream.format("rate").load().select("value", F.col("timestamp").alias("ts"))
    frame = made.selectExpr("value", "ts", "value as car_id", "1 as speed", "'X' as pos")
    return whence.source(frame, "reports", ids="rate", event_time="ts")


def readings(spark: SparkSession) -> TracedFrame:
    made = spark.readStream.format("rate").load().select("value", F.col("timestamp").alias("hour"))
    frame = made.selectExpr("value", "hour", "value as meter_id", "1 as consumption")
    return whence.source(frame, "readings", ids="rate", event_time="hour")


def bounds(frame: TracedFrame) -> dict[str, int | None]:
    return static_bounds(frame._node)


def test_bounds_of_the_workloads(spark: SparkSession) -> None:
    """The largest sum of window sizes over the paths from a source (Ananke, Theorem 4.1), to the microsecond."""
    assert bounds(lr_q1(reports(spark))) == {"reports": 120 * SECOND}
    assert bounds(lr_q2(reports(spark))) == {"reports": 150 * SECOND}
    assert bounds(sg_q3(readings(spark))) == {"readings": 48 * HOUR}
    assert bounds(sg_q4(readings(spark))) == {"readings": 25 * HOUR}


def test_a_path_without_state_has_no_reach(two: Pair) -> None:
    """U = 0: such a row is done when its batch is."""
    a, _ = two
    frame = a.where("v > 1").select("id", F.explode("xs").alias("x"))
    assert bounds(frame) == {"a": 0}
    assert not keeps_state(frame._node)
    assert bounds(a.dropDuplicatesWithinWatermark(["k"])) == {"a": 0}


def test_the_longest_of_several_paths_counts(two: Pair) -> None:
    """A source that is read twice, and two sources with bounds of their own."""
    a, b = two

    def per(frame: TracedFrame, time: str, size: str) -> TracedFrame:
        return frame.groupBy(F.window(time, size)).agg(F.count("*").alias("n"))

    twice = per(a, "ts", "1 minute").union(per(a, "ts", "5 minutes"))
    assert bounds(twice) == {"a": 300 * SECOND}
    both = per(a, "ts", "1 minute").union(per(b, "bts", "1 hour"))
    assert bounds(both) == {"a": 60 * SECOND, "b": HOUR}
    assert [source.source for source in sources(twice._node)] == ["a"]
    assert [source.source for source in sources(both._node)] == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("sessions", lambda a, b: a.groupBy(F.session_window("ts", "1 minute")).count()),
        ("a global group", lambda a, b: a.agg(F.count("*"))),
        ("groups without time", lambda a, b: a.groupBy("k").count()),
        ("a window on another time", lambda a, b: a.groupBy(F.window(F.timestamp_seconds("id"), "1 minute")).count()),
        ("a join without a time condition", lambda a, b: a.join(b, "k")),
        ("a join with half a condition", lambda a, b: a.join(b.drop("k"), F.expr("bts > ts"))),
        ("distinct", lambda a, b: a.select("k").distinct()),
        ("dropDuplicates without time", lambda a, b: a.dropDuplicates(["k"])),
    ],
)
def test_state_without_bound_is_unbounded(two: Pair, name: str, step: Any) -> None:
    """Where no watermark frees state, no row is ever known to be done; and what follows is unbounded too."""
    a, b = two
    result = step(a, b)
    assert bounds(result)["a"] is None
    assert keeps_state(result._node)
    assert bounds(result.where("true"))["a"] is None


def test_joins_with_a_time_condition_are_bounded(two: Pair) -> None:
    """By how far apart in time the two rows may be; equal times not at all."""
    a, b = two
    b = b.withColumnRenamed("k", "bk")
    near = a.join(b, F.expr("k = bk and bts between ts - interval 10 seconds and ts + interval 1 minute"))
    assert bounds(near)["a"] is not None
    assert bounds(near)["a"] >= 60 * SECOND
    assert bounds(a.join(b.withColumnRenamed("bts", "ts"), "ts")) == {"a": 0, "b": 0}


@pytest.mark.parametrize(
    ("condition", "bound"),
    [
        ("bts >= ts - interval 10 seconds and bts <= ts + interval 5 seconds", 15 * SECOND),
        ("b.bts >= a.ts and a.ts >= b.bts - interval 5 seconds", 5 * SECOND),
        ("bts >= ts and bts >= ts - interval 5 seconds", None),
        ("bts >= ts - interval 5 seconds", None),
        ("bts = ts or bts between ts and ts + interval 5 seconds", None),
        ("bts between ts - interval 1 month and ts", None),
        ("k = bk", None),
    ],
)
def test_only_a_bound_each_way_is_a_bound(two: Pair, condition: str, bound: int | None) -> None:
    """What is not surely bounded is unbounded: a row is never called expired that can still reach more."""
    a, b = two
    joined = a.alias("a").join(b.withColumnRenamed("k", "bk").alias("b"), F.expr(condition))
    assert bounds(joined)["a"] == bound


def test_a_stream_joined_with_a_static_side_keeps_nothing(spark: SparkSession, two: Pair) -> None:
    """Neither side waits for the other, traced or not."""
    fixed = frames(spark)[1]
    assert bounds(two[0].join(whence.source(fixed, "fixed", key="bid"), "k")) == {"a": 0, "fixed": 0}
    assert bounds(two[0].join(fixed, "k")) == {"a": 0}


def test_complete_mode_is_unbounded(spark: SparkSession, two: Pair, tmp_path: Path) -> None:
    """Nothing is evicted there, whatever the window: the store says so of the sink."""
    windows = two[0].groupBy(F.window("ts", "1 minute")).agg(F.count("*").alias("n"))
    for mode, bound in (("append", 60 * SECOND), ("complete", None)):
        writer = windows.writeStream.outputMode(mode).lineage(tmp_path / "store", name=mode).format("noop")
        writer.trigger(availableNow=True).start().awaitTermination()
        with whence.open(tmp_path / "store") as lineage:
            (sink,) = (sink for sink in lineage.sinks() if sink.name == mode)
        assert sink.bounds == {"a": bound}
