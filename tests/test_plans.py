"""What Spark is given to do: native columns only, no further job, and in mode `off` nothing but the plain plan."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from steps import GROUPING, JOINING, MULTIPLYING, STATIC, STREAMED, frames, halved, plus_one, streams, traced

import whence
from whence.deliver import batch as delivery
from whence.frame.capture import capture
from whence.modes import choose
from whence.store import open_store

STATEFUL = ["where", "select", *MULTIPLYING, *GROUPING, *JOINING]
"""What makes other plans of streams than of static frames; two of the steps that do not stand for all."""

PYTHON = re.compile(
    r"\b(\w*Eval\w*Python\w*|\w*Python\w*UDT?F\w*|pythonUDF\d*|Map\w*In(?:Pandas|Arrow)|MapPartitions\w*"
    r"|\w*Groups?\w*In(?:Pandas|Arrow|Python|PySpark)\w*|\w+In(?:Pandas|Arrow|PySpark)\w*|ArrowAggregate\w*"
    r"|ArrowWindow\w*|SerializeFromObject|DeserializeToObject|MapElements\w*)"
)


def explained(frame: Any) -> str:
    """What `explain(extended=True)` of a frame or of a running query prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        frame.explain(extended=True)
    return printed.getvalue()


def python_in(frame: Any) -> set[str]:
    """The operators and expressions of a plan that run Python for rows."""
    text = explained(frame)
    assert "== Physical Plan ==" in text
    return set(PYTHON.findall(text))


def plain_text(frame: DataFrame) -> str:
    """A frame's plan, from analysed to physical, with the numbers that Spark hands out replaced by their order."""
    numbers: dict[str, str] = {}

    def ordered(found: re.Match[str]) -> str:
        return numbers.setdefault(found.group(), f"<{len(numbers)}>")

    text = explained(frame)
    text = text[text.index("== Analyzed Logical Plan ==") :]
    text = re.sub(r"plan_id=\d+|runId = [0-9a-f-]+", "-", text)
    text = re.sub(r"\b(lambda \w+|x|namedlambdavariable\(\))_\d+", r"\1_", text)
    return re.sub(r"#\d+|\[id=#?\d+\]|ScanV?2?\w*@\w+|\w+@[0-9a-f]{5,}", ordered, text)


def given(frame: whence.TracedFrame, store: Path) -> DataFrame:
    """The frame that a writer with lineage hands to Spark."""
    opened = open_store(str(store), create=True)
    return capture(frame._node, frame._plain, choose("listed"), "append", opened).frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("plans")


@pytest.mark.parametrize("name", STATIC)
def test_no_python_runs_for_a_row_of_a_static_frame(spark: SparkSession, name: str) -> None:
    """Whatever the step, `provenance()` and the plain result are native Spark from end to end."""
    result = STATIC[name](*traced(*frames(spark)))
    assert python_in(result.provenance()) == set()
    assert python_in(result.to_spark()) == set()


@pytest.mark.parametrize("name", STATEFUL)
def test_no_python_runs_for_a_row_of_a_stream(spark: SparkSession, folder: Path, name: str) -> None:
    """The frame that a writer with lineage hands to Spark has no Python in it either."""
    result = STREAMED[name](*traced(*streams(spark, folder)))
    assert python_in(given(result, folder / "store")) == set()


def test_python_in_a_plan_is_seen(spark: SparkSession, folder: Path) -> None:
    """The check above does report: users' own functions, where they are and only there."""
    for own in (plus_one("v"), halved("v")):
        frame = traced(*frames(spark))[0].select("id", own.alias("f"))
        assert python_in(frame.provenance())
        assert python_in(given(frame, folder / "store"))
    a, _ = frames(spark)
    assert python_in(a.mapInPandas(lambda batches: batches, a.schema))
    assert python_in(a.mapInArrow(lambda batches: batches, a.schema))
    assert python_in(a.groupBy("k").applyInPandas(lambda one: one, a.schema))


@pytest.mark.parametrize("name", STATIC)
def test_mode_off_is_the_plain_plan(spark: SparkSession, name: str) -> None:
    """Without lineage a traced frame is, node for node, what the same calls make of plain DataFrames."""
    a, b = frames(spark)
    assert plain_text(STATIC[name](*traced(a, b)).to_spark()) == plain_text(STATIC[name](a, b))


@pytest.mark.parametrize("name", STATEFUL)
def test_mode_off_is_the_plain_plan_of_a_stream(spark: SparkSession, folder: Path, name: str) -> None:
    """The same of streams."""
    a, b = streams(spark, folder)
    assert plain_text(STREAMED[name](*traced(a, b)).to_spark()) == plain_text(STREAMED[name](a, b))


def test_two_plans_that_differ_are_told_apart(spark: SparkSession) -> None:
    """The comparison of plans does report: one literal, one column or one step more is another plan."""
    a, b = frames(spark)
    assert plain_text(a.where("v = 30")) != plain_text(a.where("v = 31"))
    assert plain_text(a.select("id", "k")) != plain_text(a.select("k", "id"))
    assert plain_text(a.join(b, "k")) != plain_text(a.join(b, "k").drop("w"))
    ((first, second),) = [(a.select(F.col("id") + F.col("v")), a.select(F.col("v") + F.col("id")))]
    assert plain_text(first) != plain_text(second)


class Run:
    """A stream of two batches through a writer, and what can be seen of it."""

    def __init__(self, query: Any) -> None:
        assert query.awaitTermination(120)
        self.query = query
        tracker = query_session(query).sparkContext.statusTracker()
        self.jobs = len(tracker.getJobIdsForGroup(str(query.runId)))
        self.batches = [p.batchId for p in query.recentProgress if p.numInputRows]


def query_session(query: Any) -> SparkSession:
    session = SparkSession.getActiveSession()
    assert session is not None, query
    return session


@pytest.fixture
def two_files(spark: SparkSession, tmp_path: Path) -> DataFrame:
    folder = str(tmp_path / "in")
    frame = frames(spark)[0]
    frame.where("id <= 3").coalesce(1).write.parquet(folder)
    frame.where("id > 3").coalesce(1).write.mode("append").parquet(folder)
    return spark.readStream.schema(frame.schema).option("maxFilesPerTrigger", 1).parquet(folder)


def stateless(frame: Any) -> Any:
    return frame.where("v > 1").select("id", "k", "v")


def windowed(frame: Any) -> Any:
    per_minute = frame.withWatermark("ts", "10 seconds").groupBy(F.window("ts", "1 minute"), "k")
    return per_minute.agg(F.count("*").alias("n")).where("n >= 1")


@pytest.mark.parametrize("network", [stateless, windowed])
def test_capture_needs_no_job_of_its_own(spark: SparkSession, tmp_path: Path, two_files: DataFrame, network) -> None:
    """With a sink that costs nothing a batch with lineage runs as many Spark jobs as one without."""
    noop = lambda frame, batch: frame.write.format("noop").mode("overwrite").save()  # noqa: E731
    plain = Run(network(two_files).writeStream.foreachBatch(noop).trigger(availableNow=True).start())
    source = whence.source(two_files, "reports", event_time="ts")
    writer = network(source).writeStream.queryName("jobs").lineage(tmp_path / "store").format("noop")
    captured = Run(writer.trigger(availableNow=True).start())
    assert len(plain.batches) == 2
    assert captured.batches == plain.batches
    assert plain.jobs > 0
    assert captured.jobs == plain.jobs


@pytest.mark.parametrize("network", [stateless, windowed])
def test_no_python_runs_for_a_row_of_a_batch(
    spark: SparkSession, tmp_path: Path, two_files: DataFrame, network, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the plan that a batch ran nor what is written of it into the store has Python in it."""
    written: list[set[str]] = []
    columns: list[list[str]] = []
    write_rows = delivery.capture.write_rows

    def seen(frame: DataFrame, *rest: Any) -> Any:
        written.append(python_in(frame))
        columns.append(frame.columns)
        return write_rows(frame, *rest)

    monkeypatch.setattr(delivery.capture, "write_rows", seen)
    source = whence.source(two_files, "reports", event_time="ts")
    writer = network(source).writeStream.queryName("python").lineage(tmp_path / "store").format("noop")
    run = Run(writer.trigger(availableNow=True).start())
    assert len(written) >= 2
    assert set().union(*written) == set()
    assert python_in(run.query) == set()
    lists = [c for c in columns[0] if c.startswith("_whence_rows")]
    assert lists == ([] if network is stateless else ["_whence_rows_0"])


def test_a_python_function_in_a_batch_is_seen(spark: SparkSession, tmp_path: Path, two_files: DataFrame) -> None:
    """The check on a running query does report: a user's function is in the plan of the batch that ran."""
    source = whence.source(two_files, "reports").select("id", plus_one("v").alias("v"))
    writer = source.writeStream.queryName("seen").lineage(tmp_path / "store").format("noop")
    assert python_in(Run(writer.trigger(availableNow=True).start()).query)


def test_a_stateless_network_carries_no_list(spark: SparkSession, folder: Path) -> None:
    """A row that only one-to-one steps touched is its own reference: it has its id and nothing else of Whence's."""
    a, _ = traced(*streams(spark, folder))
    frame = given(a.where("v > 1").select("id", "k").withColumn("n", F.lit(1)), folder / "store")
    assert [c for c in frame.columns if not c.startswith("_whence")] == ["id", "k", "n"]
    assert [c for c in frame.columns if c.startswith("_whence")] == ["_whence_id"]
    assert dict(frame.dtypes)["_whence_id"] == "bigint"
    exploded = given(a.select("id", F.explode("xs").alias("x")), folder / "store")
    assert [kind for name, kind in exploded.dtypes if name.startswith("_whence")] == ["bigint", "bigint"]
