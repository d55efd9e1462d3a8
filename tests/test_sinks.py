"""Sinks: with lineage each gets exactly what plain Spark writes, and nothing else changes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import whence
from whence.errors import BadInputError, RefusedError, SinkError

FLAT = """
    id int, b boolean, ti tinyint, sm smallint, i int, l bigint, f float, d double, big decimal(38,10),
    small decimal(5,2), s string, da date, ts timestamp, ntz timestamp_ntz
"""
NESTED = """
    bin binary, numbers array<int>, rows array<struct<x:int,t:timestamp>>, st struct<a:int,b:struct<c:string,d:date>>,
    m map<string,array<int>>, times map<int,timestamp>
"""
ROWS = [
    """1, true, -128Y, -32768S, -2147483648, -9223372036854775808L, float('-inf'), double('-inf'),
    -9999999999999999999999999999.9999999999, -999.99, 'plain', date'0001-01-01', timestamp'0001-01-01 00:00:00',
    timestamp_ntz'0001-01-01 00:00:00.000001', X'', array(), array(), struct(1, struct('c', date'9999-12-31')), map(),
    map(1, timestamp'0001-01-01 00:00:00')""",
    """2, false, 127Y, 32767S, 2147483647, 9223372036854775807L, float('inf'), double('inf'),
    9999999999999999999999999999.9999999999, 999.99, 'größe "q", \\'x\\'\t☂', date'9999-12-31',
    timestamp'9999-12-31 23:59:59.999999', timestamp_ntz'9999-12-31 23:59:59.999999', X'00FF80', array(1, null, -1),
    array(struct(1, timestamp'9999-12-31 23:59:59.999999'), null), struct(null, struct(null, null)),
    map('k', array(1, null), 'l', null), map(2, null)""",
    """3, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
    null""",
    """4, true, 0Y, 0S, 0, 0L, float('nan'), double('nan'), 0, 0, '', date'1582-10-04',
    timestamp'1883-11-18 12:03:57.123456', timestamp_ntz'1883-11-18 12:03:57.123456', X'20', array(null),
    array(struct(null, null)), struct(0, struct('', date'1582-10-15')), map('', array()),
    map(-1, timestamp'1900-01-01 00:00:00')""",
    """5, false, 1Y, 1S, 1, 1L, float('-0.0'), double('-0.0'), 0.0000000001, 0.01, ' spaces ', date'1969-12-31',
    timestamp'1969-12-31 23:59:59.999999', timestamp_ntz'1969-12-31 23:59:59.999999', encode('ß', 'utf-8'), array(7),
    array(struct(1, timestamp'1899-12-31 23:59:59.5')), struct(1, null), map('ü', array(3)),
    map(0, timestamp'1969-07-20 20:17:40')""",
]
EXACT = {"timestampFormat": "yyyy-MM-dd HH:mm:ss.SSSSSS", "timestampNTZFormat": "yyyy-MM-dd HH:mm:ss.SSSSSS"}


@pytest.fixture(scope="module")
def every(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """A stream of every type that Parquet holds, in two batches, extremes and nulls included."""
    folder = str(tmp_path_factory.mktemp("every") / "in")
    schema = spark.createDataFrame([], f"{FLAT}, {NESTED}").schema
    for rows in (ROWS[:2], ROWS[2:]):
        values = ", ".join(f"({row})" for row in rows)
        frame = spark.sql(f"select * from values {values}")
        typed = [F.col(c).cast(f.dataType).alias(f.name) for c, f in zip(frame.columns, schema, strict=True)]
        frame.select(*typed).coalesce(1).write.mode("append").parquet(folder)
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(folder)


def run(frame: Any, folder: Path, out: Path, kind: str, **options: Any) -> str:
    """A stream to its end, with lineage where the frame is traced; the query's id."""
    writer = frame.writeStream.format(kind).options(**options.pop("options", {}))
    if isinstance(frame, whence.TracedFrame):
        writer = writer.lineage(folder / "store", name="out")
    if "partitionBy" in options:
        writer = writer.partitionBy(*options["partitionBy"])
    writer = writer.option("checkpointLocation", str(folder / f"{out.name}-checkpoint"))
    query = writer.trigger(availableNow=True).start(str(out))
    query.awaitTermination()
    return str(query.id)


def visible(folder: Path) -> list[Path]:
    """The files that a reader sees: nothing on whose path a name begins with an underscore or a dot."""
    found = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    return sorted(path for path in found if not any(part[0] in "_." and "=" not in part for part in path.parts))


def values(frame: DataFrame) -> list[str]:
    """Every row as text, to the microsecond."""
    options = {**EXACT, "ignoreNullFields": "false"}
    bits = [F.hex(F.expr(f"cast({c} as string)")).alias(f"{c}_hex") for c in ("f", "d") if c in frame.columns]
    return sorted(row[0] for row in frame.select(F.to_json(F.struct("*", *bits), options)).collect())


def physical(path: Path) -> str:
    """A Parquet file's own types."""
    return str(pq.ParquetFile(path).schema).partition("\n")[2]


def lines(folder: Path) -> list[bytes]:
    return sorted(line for path in visible(folder) for line in (folder / path).read_bytes().splitlines())


def flat(frame: Any) -> Any:
    return frame.select(*(part.split()[0] for part in re.sub(r"\(\d+,\d+\)", "", FLAT).split(",")))


def texts(frame: Any) -> Any:
    return frame.where("s is not null").select("s")


FORMATS: dict[str, Callable[[Any], Any]] = {
    "parquet": lambda frame: frame,
    "orc": lambda frame: frame,
    "json": lambda frame: frame,
    "csv": flat,
    "text": texts,
}


@pytest.mark.parametrize("kind", FORMATS)
def test_a_folder_of_files_holds_what_plain_spark_writes(
    spark: SparkSession, every: DataFrame, tmp_path: Path, kind: str
) -> None:
    """Every type and every extreme, to the last bit; files named by query, batch and part, and nothing else to see."""
    chosen = FORMATS[kind]
    options = {"options": {"header": "true"}} if kind == "csv" else {}
    run(chosen(every), tmp_path, tmp_path / "plain", kind, **options)
    source = whence.source(every, "every", event_time="ts")
    run_id = run(chosen(source), tmp_path, tmp_path / "out", kind, **options)
    if kind in ("parquet", "orc"):
        plain, out = (spark.read.format(kind).load(str(tmp_path / name)) for name in ("plain", "out"))
        assert out.schema == plain.schema
        assert len(values(out)) == len(ROWS)
        assert values(out) == values(plain)
    assert lines(tmp_path / "out") == lines(tmp_path / "plain") or kind in ("parquet", "orc")
    extension = {"parquet": "snappy.parquet", "orc": "zstd.orc", "text": "txt"}.get(kind, kind)
    names = [path.name for path in visible(tmp_path / "out")]
    assert {tuple(name.split("-")[-2:]) for name in names} == {(f"0000{b}", f"00000.{extension}") for b in (0, 1)}
    assert all(name.startswith(f"part-{run_id}-") for name in names)
    if kind == "parquet":
        plain, out = ({physical(path) for path in (tmp_path / n).glob("*.parquet")} for n in ("plain", "out"))
        assert out == plain
    with whence.open(tmp_path / "store") as lineage:
        assert lineage.sinks()[0].batches == 2


def test_partitioned_folders(spark: SparkSession, every: DataFrame, tmp_path: Path) -> None:
    """Folders by column, odd values and nulls included, as plain Spark names them."""
    chosen = lambda frame: frame.select("id", "s", "b", "da")  # noqa: E731
    for name, frame in (("plain", every), ("out", whence.source(every, "every"))):
        run(chosen(frame), tmp_path, tmp_path / name, "parquet", partitionBy=["s", "b"])
    folders = [{path.parent for path in visible(tmp_path / name)} for name in ("plain", "out")]
    assert folders[0] == folders[1]
    assert len(folders[0]) == 5
    plain, out = (spark.read.parquet(str(tmp_path / name)) for name in ("plain", "out"))
    assert (out.schema, values(out)) == (plain.schema, values(plain))


def test_a_stream_that_follows_the_folder_sees_each_result_once(
    spark: SparkSession, every: DataFrame, tmp_path: Path
) -> None:
    """Another query, lineage or not, reads the folder as it grows: each row once, none of Whence's own files."""
    run(whence.source(every, "every").select("id", "s"), tmp_path, tmp_path / "out", "parquet")
    follow = spark.readStream.schema("id int, s string").parquet(str(tmp_path / "out"))
    run(follow, tmp_path, tmp_path / "copy", "parquet")
    assert sorted(row.id for row in spark.read.parquet(str(tmp_path / "copy")).collect()) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("kind", FORMATS)
def test_a_static_write_holds_what_plain_spark_writes(
    spark: SparkSession, every: DataFrame, tmp_path: Path, kind: str
) -> None:
    """The same for `write` of a static frame, with the shorthand of each format."""
    (folder,) = {path.rsplit("/", 1)[0] for path in static(spark, every).inputFiles()}
    frame = FORMATS[kind](spark.read.schema(every.schema).parquet(folder))
    getattr(frame.write, kind)(str(tmp_path / "plain"))
    source = whence.source(spark.read.schema(every.schema).parquet(folder), "every")
    getattr(FORMATS[kind](source).write.lineage(tmp_path / "store", name="out"), kind)(str(tmp_path / "out"))
    if kind in ("parquet", "orc"):
        plain, out = (spark.read.format(kind).load(str(tmp_path / name)) for name in ("plain", "out"))
        assert (out.schema, values(out)) == (plain.schema, values(plain))
    else:
        assert lines(tmp_path / "out") == lines(tmp_path / "plain")


def static(spark: SparkSession, every: DataFrame) -> DataFrame:
    """The rows of the stream as a static frame."""
    text = every._jdf.queryExecution().analyzed().toString()
    found = re.search(r"path -> (\S+?)[,)]|FileSource\[(.+?)\]", text)
    assert found
    return spark.read.schema(every.schema).parquet(found.group(1) or found.group(2))


# -- sinks that are not folders ----------------------------------------------------------------------------------------

AGGREGATE: dict[str, Callable[[Any], Any]] = {
    "append": lambda frame: (
        frame.withColumn("t", F.timestamp_seconds("id"))
        .withWatermark("t", "0 seconds")
        .groupBy(F.window("t", "2 seconds"))
        .agg(F.count("*").alias("n"), F.max("s").alias("s"))
    ),
    "update": lambda frame: frame.groupBy(F.col("b").isNull().alias("none")).agg(F.count("*").alias("n"), F.max("id")),
    "complete": lambda frame: frame.groupBy("b").agg(F.count("*").alias("n"), F.max("d").alias("d")),
}


@pytest.mark.parametrize("mode", AGGREGATE)
def test_foreach_batch_gets_the_batches_of_plain_spark(every: DataFrame, tmp_path: Path, mode: str) -> None:
    """Batch by batch the same names, types and rows, in every output mode."""
    got: dict[str, dict[int, tuple[str, list[str]]]] = {"plain": {}, "traced": {}}
    for name, frame in (("plain", every), ("traced", whence.source(every, "every"))):

        def take(batch: DataFrame, number: int, into: dict[int, Any] = got[name]) -> None:
            into[number] = (batch.schema.simpleString(), sorted(map(str, batch.collect())))

        writer = AGGREGATE[mode](frame).writeStream.outputMode(mode).foreachBatch(take).trigger(availableNow=True)
        if name == "traced":
            writer = writer.lineage(tmp_path / "store", name="out")
        writer.start().awaitTermination()
    assert got["traced"] == got["plain"]
    assert sum(len(rows) for _, rows in got["plain"].values()) >= 2


@pytest.mark.xfail(reason="delivered rows are read back from Parquet, where every column may be null", strict=True)
def test_columns_that_are_never_null_are_delivered_as_such(every: DataFrame, tmp_path: Path) -> None:
    """The batch's schema is plain Spark's to the flag: a count, a literal, a window are never null."""
    got: dict[str, Any] = {}
    for name, frame in (("plain", every), ("traced", whence.source(every, "every"))):

        def take(batch: DataFrame, number: int, name: str = name) -> None:
            got[name] = batch.schema

        writer = AGGREGATE["complete"](frame).writeStream.outputMode("complete").foreachBatch(take)
        if name == "traced":
            writer = writer.lineage(tmp_path / "store", name="out")
        writer.trigger(availableNow=True).start().awaitTermination()
    assert got["traced"] == got["plain"]


def noted(folder: Path, opens: bool) -> Any:
    """A writer object that notes what it is told, a file an event; its class is local so that workers get it whole."""

    class Noted:
        number = 0

        def note(self, *event: object) -> None:
            self.number += 1
            (folder / f"{event[0]}-{id(self)}-{self.number}-{abs(hash(event))}").write_text("|".join(map(str, event)))

        def open(self, partition: int, batch: int) -> bool:
            self.note("open", batch)
            return opens

        def process(self, row: Row) -> None:
            self.note("row", row.id, row.s)

        def close(self, error: BaseException | None) -> None:
            self.note("close", error)

    return Noted()


@pytest.mark.parametrize("opens", [True, False])
def test_foreach_takes_an_object(every: DataFrame, tmp_path: Path, opens: bool) -> None:
    """open, process for each row unless open said no, close: as plain Spark calls them, where there are rows."""
    events: list[set[str]] = []
    for name, frame in (("plain", every), ("traced", whence.source(every, "every"))):
        folder = tmp_path / name
        folder.mkdir()
        writer = frame.select("id", "s").writeStream.foreach(noted(folder, opens)).trigger(availableNow=True)
        if name == "traced":
            writer = writer.lineage(tmp_path / "store", name="out")
        writer.start().awaitTermination()
        events.append({path.read_text() for path in folder.iterdir()})
    assert events[1] == events[0]
    assert {"open|0", "open|1", "close|None"} <= events[0]
    assert ("row|2|größe" in " ".join(sorted(events[0]))) == opens


def test_foreach_takes_a_function(every: DataFrame, tmp_path: Path) -> None:
    """It is called once for each row, with the plain columns."""
    folder = tmp_path / "rows"
    folder.mkdir()

    def note(row: Row) -> None:
        (folder / str(row.id)).write_text(",".join(row.asDict()))

    source = whence.source(every, "every").select("id", "b")
    writer = source.writeStream.foreach(note).lineage(tmp_path / "store", name="out").trigger(availableNow=True)
    writer.start().awaitTermination()
    assert {path.name: path.read_text() for path in folder.iterdir()} == dict.fromkeys("12345", "id,b")


def test_console_and_noop(every: DataFrame, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The console prints each batch under its number; noop keeps lineage only."""
    source = whence.source(every, "every").select("id", "s")
    for kind in ("console", "noop"):
        writer = source.writeStream.format(kind).option("numRows", 1).lineage(tmp_path / "store", name=kind)
        writer.trigger(availableNow=True).start().awaitTermination()
    printed = capfd.readouterr().out
    assert printed.index("Batch: 0") < printed.index("|  1|plain|") < printed.index("Batch: 1")
    assert "only showing top 1 row" in printed
    with whence.open(tmp_path / "store") as lineage:
        assert {sink.name: sink.rows for sink in lineage.sinks()} == {"console": 5, "noop": 5}


@pytest.mark.parametrize("mode", ["append", "complete"])
def test_to_table(spark: SparkSession, every: DataFrame, tmp_path: Path, mode: str) -> None:
    """A table of the catalog holds what plain Spark's toTable gives; in complete mode the last batch."""
    frame = whence.source(every, "every")
    result = frame.select("id", "d", "ts") if mode == "append" else AGGREGATE["complete"](frame)
    name = f"whence_sinks_{mode}"
    try:
        writer = result.writeStream.outputMode(mode).lineage(tmp_path / "store", name="out")
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
        writer.toTable(name, format="parquet").awaitTermination()
        rows = spark.table(name)
        plain = static(spark, every)
        plain = plain.select("id", "d", "ts") if mode == "append" else AGGREGATE["complete"](plain)
        assert rows.schema == plain.schema or mode == "complete"
        assert values(rows) == values(plain)
    finally:
        spark.sql(f"drop table if exists {name}")


REFUSED: dict[str, tuple[Callable[[Any], Any], type[whence.WhenceError], str]] = {
    "memory": (lambda w: w.format("memory").start(), RefusedError, "memory sink is not traced"),
    "an unknown format": (lambda w: w.format("nothing").start(), RefusedError, 'format "nothing" is not known'),
    "files in update mode": (lambda w: w.outputMode("update").start("o"), BadInputError, "does not support update"),
    "files in complete mode": (lambda w: w.outputMode("complete").start("o"), BadInputError, "not support complete"),
    "an unknown mode": (lambda w: w.outputMode("upsert"), BadInputError, "unknown output mode"),
    "no path": (lambda w: w.format("json").start(), BadInputError, "needs a path"),
    "no checkpoint": (lambda w: w.start("o"), whence.WhenceError, "needs a checkpoint"),
    "text of several columns": (lambda w: w.format("text").start("o"), SinkError, "one string column"),
    "a partition column that is not there": (lambda w: w.partitionBy("no").start("o"), BadInputError, '"no" not found'),
    "a table in update mode": (lambda w: w.outputMode("update").toTable("t"), BadInputError, "not support update"),
    "clusterBy": (lambda w: w.clusterBy("id"), RefusedError, "clusterBy is not traced"),
    "continuous": (lambda w: w.trigger(continuous="1 second"), RefusedError, "continuous is not traced"),
    "real time": (lambda w: w.trigger(realTime="1 second"), RefusedError, "realTime is not traced"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_sink_does_not_take_is_refused(every: DataFrame, tmp_path: Path, name: str) -> None:
    """Before the query starts, with what to use instead, and nothing is written."""
    call, kind, primary = REFUSED[name]
    source = whence.source(every, "every").select("id", "s")
    with pytest.raises(kind, match=primary) as raised:
        call(source.writeStream.lineage(tmp_path / "store", name="out"))
    assert raised.value.detail or raised.value.hint
    assert not Path("o").exists()


def test_nothing_of_the_session_is_changed(spark: SparkSession, every: DataFrame, tmp_path: Path) -> None:
    """No conf is set, no view made, no listener or cached frame left behind, on streams and on static writes."""

    def state() -> tuple[Any, ...]:
        manager = spark._jsparkSession.streams()
        return (
            sorted(map(tuple, spark.sql("set").collect())),
            sorted(table.name for table in spark.catalog.listTables()),
            len(manager.listListeners()),
            spark.sparkContext._jsc.getPersistentRDDs().size(),
            spark.sparkContext.getLocalProperty("spark.jobGroup.id"),
            spark.catalog.currentDatabase(),
            len(spark.streams.active),
        )

    before = state()
    source = whence.source(every, "every", keep="rows")
    run(AGGREGATE["append"](source), tmp_path, tmp_path / "out", "parquet")
    whence.source(static(spark, every), "fixed").write.lineage(tmp_path / "store", name="all").parquet(
        str(tmp_path / "all")
    )
    source.provenance()
    assert state() == before
