"""Small checks that a seeded fault must fail: each exercises one promise, on as little data as shows it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from oracle.hand_written import COUNT, KEY, LEFT, case, joined
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import whence
from whence.names import BATCHES, BATCHES_SCHEMA, OUTPUTS
from whence.store import batch_rows, open_store
from whence.testing import description as d
from whence.testing import expression as e
from whence.testing.seen import Seen
from whence.testing.strategies import Case
from whence.testing.suite import check

Probe = Callable[[SparkSession, Path], None]
SCHEMA = "id long, ts timestamp, k string, xs array<long>"
START = datetime(2026, 1, 1, tzinfo=UTC)


def against_oracle(*cases: Case) -> Probe:
    """The engine against the oracle, on these cases."""

    def probe(spark: SparkSession, folder: Path) -> None:
        for number, one in enumerate(cases):
            check(spark, one, folder / str(number), Seen(), deep=True)

    return probe


def windows(slide: int = 10) -> d.Step:
    """Counts by key and window."""
    return d.Aggregate(LEFT, COUNT, KEY, d.Window("ts", 10, slide))


def having(mode: str) -> Case:
    """Groups that are delivered only once they have three rows, which is not in their first batch."""
    return case(d.Where(d.Aggregate(LEFT, COUNT, KEY), e.Compare(">=", e.Column("n"), e.literal(3))), mode)


def outer() -> Case:
    """A full outer join of streams, twice over, so that lists meet nulls."""
    return case(joined("full"))


def twice_reached() -> d.Step:
    """A group over a union of one stream with itself: each source row comes down both branches."""
    return d.Aggregate(d.Union((LEFT, LEFT)), COUNT, KEY, d.Window("ts", 10, 10))


def write(spark: SparkSession, folder: Path, name: str, first: int, count: int = 4) -> Path:
    """One file of rows, three seconds apart."""
    rows = [(i, START + timedelta(seconds=3 * i), "ab"[i % 2], [1, 1]) for i in range(first, first + count)]
    frame = spark.createDataFrame(rows, SCHEMA).coalesce(1)
    frame.write.mode("append").parquet(str(folder / name))
    return folder / name


def stream(spark: SparkSession, path: Path) -> DataFrame:
    """The files as a stream."""
    return spark.readStream.schema(SCHEMA).parquet(str(path))


def run(frame: object, folder: Path, mode: str = "append", name: str = "out") -> None:
    """Run a traced frame to the end, into a Parquet folder, or nowhere where the mode forbids."""
    writer = frame.writeStream.queryName(name).lineage(str(folder / "store")).outputMode(mode)  # type: ignore[attr-defined]
    writer = writer.option("checkpointLocation", str(folder / f"check-{name}")).trigger(availableNow=True)
    query = writer.start(str(folder / name), "parquet") if mode == "append" else writer.format("noop").start()
    query.awaitTermination()


def forget_last(folder: Path, name: str = "out") -> None:
    """Take back Spark's last step, as if it had died before its checkpoint moved on."""
    commits = folder / f"check-{name}" / "commits"
    last = max((f for f in commits.iterdir() if f.name.isdigit()), key=lambda f: int(f.name))
    last.unlink()
    (commits / f".{last.name}.crc").unlink(missing_ok=True)


def runs_again(spark: SparkSession, folder: Path) -> None:
    """A batch that runs again after its commit: results and edges once, the same rows, though they are random."""
    for first in (0, 4):
        path = write(spark, folder, "in", first)
        random = whence.source(stream(spark, path), "s").withColumn("r", F.rand())
        run(random, folder)
    before = whence.open(folder / "store").trace("out")
    forget_last(folder)
    run(whence.source(stream(spark, path), "s").withColumn("r", F.rand()), folder)
    after = whence.open(folder / "store").trace("out")
    sink = sorted((row["id"], row["r"]) for row in spark.read.parquet(str(folder / "out")).collect())
    assert sink == sorted((row["id"], row["r"]) for row in after.outputs.to_pylist())
    assert len(sink) == 8
    assert after.edges.equals(before.edges)


def died_before_the_sink(spark: SparkSession, folder: Path) -> None:
    """A batch that died between its commit and its sink is delivered when it runs again."""
    for first in (0, 4):
        path = write(spark, folder, "in", first)
        run(whence.source(stream(spark, path), "s"), folder)
    forget_last(folder)
    for file in (*folder.glob("out/part-*-00001-*"), *folder.glob("out/_whence/*-1.done/*")):
        file.unlink()
    for mark in folder.glob("out/_whence/*-1.done"):
        mark.rmdir()
    run(whence.source(stream(spark, path), "s"), folder)
    assert sorted(row["id"] for row in spark.read.parquet(str(folder / "out")).collect()) == list(range(8))


def rows_by_value(spark: SparkSession, folder: Path) -> None:
    """The source rows of each result are the rows that its values came from, whichever file they are in."""
    write(spark, folder, "in", 0)
    path = write(spark, folder, "in", 4)
    run(whence.source(stream(spark, path), "s").where("k = 'a'"), folder)
    trace = whence.open(folder / "store").trace("out")
    assert not trace.missing
    by_id = {row["_whence_id"]: row["id"] for row in trace.rows("s").to_pylist()}
    assert len(by_id) == 4
    assert {row["_whence_id"]: row["id"] for row in trace.outputs.to_pylist()} == by_id


def watermark(spark: SparkSession, folder: Path) -> None:
    """The watermark that is recorded with a batch is the one it ran under."""
    for first in (0, 4):
        path = write(spark, folder, "in", first)
        run(whence.source(stream(spark, path), "s").withWatermark("ts", "1 second").groupBy("ts").count(), folder)
    marks = [row["watermark"] for row in batch_rows(open_store(folder / "store"))]
    latest = [START + timedelta(seconds=s) for s in (9, 21)]
    assert marks[0] is None
    assert marks[1:] == [latest[0] - timedelta(seconds=1)] * 2 + [latest[1] - timedelta(seconds=1)]


def whole_batches(spark: SparkSession, folder: Path) -> None:
    """Files that no committed batch names are not seen."""
    path = write(spark, folder, "in", 0)
    run(whence.source(stream(spark, path), "s"), folder)
    (attempt,) = [f for f in (folder / "store" / OUTPUTS).glob("*/0-*") if f.is_dir()]
    torn = attempt.with_name("1-00000000")
    torn.mkdir()
    for file in attempt.glob("*.parquet"):
        (torn / file.name).write_bytes(file.read_bytes())
    assert whence.open(folder / "store").trace("out").outputs.num_rows == 4


def commit_twice(spark: SparkSession, folder: Path) -> None:
    """A commit that was repeated counts once."""
    path = write(spark, folder, "in", 0)
    run(whence.source(stream(spark, path), "s"), folder)
    store = open_store(folder / "store")
    store.append(BATCHES, batch_rows(store), BATCHES_SCHEMA, ("again", 0))
    trace = whence.open(folder / "store").trace("out")
    assert (trace.outputs.num_rows, trace.edges.num_rows) == (4, 4)


def changed_file(spark: SparkSession, folder: Path) -> None:
    """A file that is not what it was is reported, not read."""
    path = write(spark, folder, "in", 0)
    run(whence.source(stream(spark, path), "s"), folder)
    write(spark, folder, "other", 100)
    (file,) = path.glob("*.parquet")
    (other,) = (folder / "other").glob("*.parquet")
    file.write_bytes(other.read_bytes())
    trace = whence.open(folder / "store").trace("out")
    assert trace.rows("s").num_rows == 0
    assert [m.why.split(":")[0] for m in trace.missing] == ["changed"] * 4


def overwritten(spark: SparkSession, folder: Path) -> None:
    """An overwrite ends the runs before it."""
    path = write(spark, folder, "in", 0)
    for _ in range(2):
        traced = whence.source(spark.read.parquet(str(path)), "s")
        traced.write.lineage(str(folder / "store"), name="out").mode("overwrite").parquet(str(folder / "out"))
    assert whence.open(folder / "store").trace("out").outputs.num_rows == 4


def two_null_keys(spark: SparkSession, folder: Path) -> None:
    """Groups (null, a) and (a, null) are two results."""
    write(spark, folder, "in", 0)
    traced = whence.source(spark.read.parquet(str(folder / "in")), "s")
    keys = traced.selectExpr("if(k = 'a', null, 'x') as p", "if(k = 'a', 'x', null) as q")
    ids = [row["_whence_id"] for row in keys.groupBy("p", "q").count().provenance().collect()]
    assert len(set(ids)) == len(ids) == 2


def equal_elements(spark: SparkSession, folder: Path) -> None:
    """Two equal elements of one array are two rows."""
    write(spark, folder, "in", 0)
    traced = whence.source(spark.read.parquet(str(folder / "in")), "s")
    ids = [row["_whence_id"] for row in traced.select("id", F.explode("xs")).provenance().collect()]
    assert len(set(ids)) == len(ids) == 8


def two_steps(spark: SparkSession, folder: Path) -> None:
    """Two aggregates by one key are two steps: their rows differ in id."""
    write(spark, folder, "in", 0)
    once = whence.source(spark.read.parquet(str(folder / "in")), "s").groupBy("k").count()
    twice = once.groupBy("k").count()
    ids = [row["_whence_id"] for frame in (once, twice) for row in frame.provenance().collect()]
    assert len(set(ids)) == len(ids) == 4


def half_empty(spark: SparkSession, folder: Path) -> None:
    """A row that found no group rests on itself; one that found its group on itself and on the group."""
    write(spark, folder, "in", 0)
    traced = whence.source(spark.read.parquet(str(folder / "in")), "s")
    groups = traced.where("k = 'a'").groupBy("k").count()
    rows = traced.join(groups, ["k"], "left").provenance().collect()
    assert sorted((row["k"], len(row["_whence_rows"] or ())) for row in rows) == [
        ("a", 2),
        ("a", 2),
        ("b", 1),
        ("b", 1),
    ]


def semi(spark: SparkSession, folder: Path) -> None:
    """A semi join's result rests on the left row and on every right row that matches."""
    write(spark, folder, "in", 0)
    frame = spark.read.parquet(str(folder / "in"))
    left, right = whence.source(frame.where("id < 2"), "left"), whence.source(frame, "right")
    rows = left.join(right.select("k"), ["k"], "left_semi").provenance().collect()
    assert sorted(sorted(r["source"] for r in row["_whence_rows"]) for row in rows) == [["left", "right", "right"]] * 2


def kept(spark: SparkSession, folder: Path) -> None:
    """A kept source row is the row as it was read, though its file is gone."""
    path = write(spark, folder, "in", 0)
    run(whence.source(stream(spark, path), "s", keep="rows").select("id"), folder)
    for file in path.glob("*.parquet"):
        file.unlink()
    rows = whence.open(folder / "store").trace("out").rows("s").to_pylist()
    assert sorted((row["id"], row["k"]) for row in rows) == [(0, "a"), (1, "b"), (2, "a"), (3, "b")]
