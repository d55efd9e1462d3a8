"""Sources: where a row's id comes from, for everything that Spark reads, and what `whence.source` refuses."""

from __future__ import annotations

import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.window import Window

import whence
from whence.errors import BadInputError, RefusedError, SourceError
from whence.identity.coordinates import base_of_file, base_of_partition, base_of_rate

NAMES = {1: "ann", 2: "bob", 3: None, 4: 'däñ, "d"', 5: "", 6: "f f"}
SCHEMA = "id bigint, name string"
KAFKA = "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, timestampType int"
MESSAGES = [(None, b"one", "t", 0, 7, None, 0), (b"k", b"two", "t", 1, 7, None, 0), (None, None, "u", 0, 8, None, 1)]


@pytest.fixture(scope="module")
def files(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same rows in every format, two files each."""
    folder = tmp_path_factory.mktemp("files")
    frame = spark.createDataFrame(list(NAMES.items()), SCHEMA)
    for half in (frame.where("id <= 3"), frame.where("id > 3")):
        half = half.coalesce(1)
        for kind in ("parquet", "json", "orc"):
            half.write.mode("append").format(kind).save(str(folder / kind))
        half.write.mode("append").option("header", "true").option("nullValue", "-").csv(str(folder / "csv"))
        half.where("name <> ''").select("name").write.mode("append").text(str(folder / "text"))
    spark.createDataFrame(MESSAGES, KAFKA).coalesce(1).write.parquet(str(folder / "archive"))
    return folder


def csv(reader: Any, folder: Path) -> DataFrame:
    return reader.schema(SCHEMA).option("header", "true").option("nullValue", "-").csv(str(folder / "csv"))


READERS: dict[str, Callable[[Any, Path], DataFrame]] = {
    "json": lambda reader, folder: reader.schema(SCHEMA).json(str(folder / "json")),
    "csv": csv,
    "orc": lambda reader, folder: reader.schema(SCHEMA).orc(str(folder / "orc")),
    "text": lambda reader, folder: reader.text(str(folder / "text")),
}


def ids(frame: whence.TracedFrame, column: str) -> dict[Any, int]:
    return {row[column]: row["_whence_id"] for row in frame.provenance().collect()}


# -- static frames -----------------------------------------------------------------------------------------------------


def test_parquet_rows_have_the_coordinates_of_their_files(spark: SparkSession, files: Path) -> None:
    """Nothing to declare: file and row index, under filters and one-to-one projections too."""
    read = spark.read.parquet(str(files / "parquet"))
    paths = read.inputFiles()
    assert len(paths) == 2
    whole = ids(whence.source(read, "s"), "id")
    bases = sorted(base_of_file(path) for path in paths)
    assert sorted(whole.values()) == sorted(base + i for base in bases for i in range(3))
    under = (
        read.withColumn("big", F.upper("name"))
        .withColumnRenamed("id", "n")
        .where("n <> 2")
        .select("n", "big")
        .alias("x")
    )
    assert ids(whence.source(under, "s"), "n") == {n: one for n, one in whole.items() if n != 2}
    assert ids(whence.source(read.hint("broadcast"), "s"), "id") == whole


@pytest.mark.parametrize("kind", READERS)
def test_other_files_need_a_key(spark: SparkSession, files: Path, kind: str) -> None:
    """JSON, CSV, ORC and text tell no row index: without a key they are refused, and the hint says what to declare."""
    read = READERS[kind](spark.read, files)
    with pytest.raises(SourceError, match="has no ids") as raised:
        whence.source(read, "s")
    assert 'key="id"' in raised.value.hint
    with pytest.raises(SourceError, match="no row index"):
        whence.source(read, "s", ids="file")
    column = read.columns[0]
    found = ids(whence.source(read, "s", key=column), column)
    expected = {n for n in NAMES.values() if n} if kind == "text" else NAMES.keys()
    assert found.keys() == expected
    if column == "id":
        assert found == {i: i for i in NAMES}


def test_frames_in_memory_need_a_key(spark: SparkSession) -> None:
    """createDataFrame, range and SQL values have no coordinates."""
    made = {
        "createDataFrame": spark.createDataFrame(list(NAMES.items()), SCHEMA),
        "no rows": spark.createDataFrame([], SCHEMA),
        "range": spark.range(3),
        "values": spark.sql("select * from values (1L), (2L) as t(id)"),
        "one row": spark.sql("select 1L as id"),
    }
    for frame in made.values():
        with pytest.raises(SourceError, match="has no ids"):
            whence.source(frame, "s")
        assert ids(whence.source(frame, "s", key="id"), "id") == {row.id: row.id for row in frame.collect()}


def test_tables_of_the_catalog(spark: SparkSession) -> None:
    """A Parquet table is its files; one of another format needs a key."""
    frame = spark.createDataFrame(list(NAMES.items()), SCHEMA).coalesce(1)
    try:
        frame.write.saveAsTable("whence_sources_parquet")
        table = spark.table("whence_sources_parquet")
        (path,) = table.inputFiles()
        assert ids(whence.source(table, "s"), "id") == {i: base_of_file(path) + i - 1 for i in NAMES}
        frame.write.format("json").saveAsTable("whence_sources_json")
        with pytest.raises(SourceError, match="has no ids"):
            whence.source(spark.table("whence_sources_json"), "s")
        assert len(ids(whence.source(spark.table("whence_sources_json"), "s", key="id"), "id")) == len(NAMES)
    finally:
        for name in ("whence_sources_parquet", "whence_sources_json"):
            spark.sql(f"drop table if exists {name}")


def test_kafka_frames_are_known_by_their_columns(spark: SparkSession) -> None:
    """Kafka's own full set of columns tells a Kafka frame; fewer columns, or a projection that drops some, do not."""
    frame = spark.createDataFrame(MESSAGES, KAFKA)
    found = {
        (r["topic"], r["partition"], r["offset"]): r["_whence_id"]
        for r in whence.source(frame, "s").provenance().collect()
    }
    assert found == {(t, p, o): base_of_partition(t, p) + o for _, _, t, p, o, _, _ in MESSAGES}
    for fewer in (frame.drop("timestampType"), frame.select("topic", "partition", "offset")):
        with pytest.raises(SourceError, match="has no ids"):
            whence.source(fewer, "s")
        assert sorted(ids(whence.source(fewer, "s", ids="kafka"), "topic").values()) != []
    with pytest.raises(SourceError, match='ids="kafka" needs column offset'):
        whence.source(frame.drop("offset"), "s", ids="kafka")


def test_an_archive_of_kafka_messages_is_files(spark: SparkSession, files: Path) -> None:
    """Kafka's columns in Parquet files are rows of files, unless `ids=` says otherwise."""
    read = spark.read.parquet(str(files / "archive"))
    (path,) = read.inputFiles()
    found = whence.source(read, "s").provenance().collect()
    assert {row["_whence_id"] for row in found} == {base_of_file(path) + i for i in range(3)}
    by_offset = whence.source(read, "s", ids="kafka").provenance().collect()
    assert {row["_whence_id"] for row in by_offset} == {base_of_partition(t, p) + o for _, _, t, p, o, _, _ in MESSAGES}


UNDER: dict[str, tuple[Callable[[DataFrame], DataFrame], str]] = {
    "explode": (lambda f: f.select("id", F.explode(F.array("id", "id"))), "Generate"),
    "posexplode": (lambda f: f.select(F.posexplode(F.split("name", ""))), "Generate"),
    "inline": (lambda f: f.selectExpr("inline(array(struct(id)))"), "Generate"),
    "groupBy": (lambda f: f.groupBy("id").count(), "Aggregate"),
    "agg": (lambda f: f.agg(F.max("id").alias("id")), "Aggregate"),
    "join": (lambda f: f.join(f.select("id"), "id"), "Join"),
    "crossJoin": (lambda f: f.crossJoin(f.select(F.col("id").alias("other"))), "Join"),
    "union": (lambda f: f.union(f), "Union"),
    "distinct": (lambda f: f.distinct(), "(Distinct|Deduplicate|Aggregate)"),
    "dropDuplicates": (lambda f: f.dropDuplicates(["id"]), "Deduplicate"),
    "limit": (lambda f: f.limit(2), "(Global|Local)?Limit"),
    "offset": (lambda f: f.offset(1), "Offset"),
    "sort": (lambda f: f.sort("id"), "Sort"),
    "sample": (lambda f: f.sample(0.5, 1), "Sample"),
    "repartition": (lambda f: f.repartition(2), "Repartition"),
    "window": (lambda f: f.withColumn("n", F.row_number().over(Window.orderBy("id"))), "(Window|Project)"),
    "sliding window": (
        lambda f: f.select("id", F.window(F.timestamp_seconds("id"), "9 seconds", "3 seconds")),
        "Expand",
    ),
    "mapInPandas": (lambda f: f.mapInPandas(lambda batches: batches, f.schema), "MapInPandas"),
    "intersect": (lambda f: f.intersect(f), "Intersect"),
    "exceptAll": (lambda f: f.exceptAll(f), "Except"),
    "unpivot": (lambda f: f.unpivot(["name"], ["id"], "a", "b"), "Expand"),
}


@pytest.mark.parametrize("name", UNDER)
def test_what_mixes_rows_under_a_source_is_refused(spark: SparkSession, files: Path, name: str) -> None:
    """Ids are coordinates of rows as they are read, so steps belong on the traced frame: refused by name."""
    call, operator = UNDER[name]
    frame = call(spark.read.parquet(str(files / "parquet")))
    for options in ({}, {"key": frame.columns[0]}):
        with pytest.raises(RefusedError, match=f'source "s": {operator}') as raised:
            whence.source(frame, "s", **options)
        assert raised.value.hint


@pytest.mark.parametrize(
    ("options", "primary"),
    [
        ({"key": "idd"}, 'column "idd" not found'),
        ({"key": ["id", "no"]}, 'column "no" not found'),
        ({"event_time": "ts", "key": "id"}, 'column "ts" not found'),
        ({"event_time": "name", "key": "id"}, 'event_time "name" is string'),
        ({"key": "id", "ids": "file"}, "contradict"),
        ({"ids": "key"}, "has no key"),
        ({"ids": "row"}, 'unknown ids "row"'),
        ({"ids": "rate"}, 'ids="rate" needs column value'),
        ({"key": "id", "keep": "all"}, 'unknown keep "all"'),
        ({"key": "id", "columns": ["id"]}, "columns= says what keep= stores"),
        ({"key": "id", "keep": "rows", "columns": ["no"]}, 'column "no" not found'),
        ({"key": "id", "keep_for": "7 days"}, "keep_for= says how long"),
        ({"key": "id", "keep": "rows", "keep_for": "a while"}, 'keep_for "a while" is not a time'),
        ({"key": "id", "keep": "rows", "keep_for": 0}, "keep_for 0 keeps nothing"),
    ],
)
def test_a_source_declared_wrongly_is_refused(spark: SparkSession, options: dict[str, Any], primary: str) -> None:
    """Each argument is checked when the source is declared, with what there is and what to do."""
    frame = spark.createDataFrame(list(NAMES.items()), SCHEMA)
    with pytest.raises(whence.WhenceError, match=primary) as raised:
        whence.source(frame, "s", **options)
    assert raised.value.detail or raised.value.hint


def test_what_is_no_frame_or_has_no_name_is_refused(spark: SparkSession) -> None:
    """The two arguments that there must be."""
    with pytest.raises(BadInputError, match="takes a DataFrame"):
        whence.source([1, 2], "s")  # type: ignore[arg-type]
    with pytest.raises(BadInputError, match="needs a name"):
        whence.source(spark.range(1), "", key="id")
    with pytest.raises(BadInputError, match="reserved prefix"):
        whence.source(spark.range(1).withColumnRenamed("id", "_whence_x"), "s", key="_whence_x")


# -- streams -----------------------------------------------------------------------------------------------------------


def traced_rows(frame: whence.TracedFrame, store: Path, until: int | None = None) -> dict[Any, dict[str, Any]]:
    """Run a stream without a sink; the source row that each result leads back to, by the result's first column."""
    writer = frame.writeStream.queryName("out").lineage(store).format("noop")
    if until is None:
        writer.trigger(availableNow=True).start().awaitTermination()
    else:
        query = writer.start()
        deadline = time.monotonic() + 60
        while not any(p.numInputRows and p.batchId >= until for p in query.recentProgress):
            assert query.exception() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)
        query.stop()
    with whence.open(store) as lineage:
        trace = lineage.trace("out")
        rows = {row.pop("_whence_id"): row for row in trace.rows("s").to_pylist()}
        assert trace.missing == []
        results = {row["_whence_id"]: row[frame.columns[0]] for row in trace.outputs.to_pylist()}
        edges = trace.edges.to_pylist()
    assert len({edge["output_id"] for edge in edges}) == len(edges) == len(results)
    return {results[edge["output_id"]]: rows[edge["source_id"]] for edge in edges}


def test_a_stream_of_parquet_files(spark: SparkSession, files: Path, tmp_path: Path) -> None:
    """Results lead back to the very rows in their files; a watermark and a filter below the source change nothing."""
    schema = "id bigint, name string"
    read = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(files / "parquet"))
    timed = read.withColumn("ts", F.timestamp_seconds("id")).withWatermark("ts", "1 second").where("id <> 2")
    source = whence.source(timed, "s", event_time="ts").select((F.col("id") * 10).alias("ten"))
    found = traced_rows(source, tmp_path / "store")
    assert {ten: (row["id"], row["name"]) for ten, row in found.items()} == {
        i * 10: (i, name) for i, name in NAMES.items() if i != 2
    }


@pytest.mark.parametrize("kind", READERS)
def test_a_stream_with_a_key(spark: SparkSession, files: Path, tmp_path: Path, kind: str) -> None:
    """Sources without coordinates keep the rows that contributed, and results lead back to them by value."""
    read = READERS[kind](spark.readStream, files)
    column = read.columns[0]
    source = whence.source(read, "s", key=column, keep="rows").where(f"{column} is not null")
    found = traced_rows(source.select(F.col(column).alias("k")), tmp_path / "store")
    if kind == "text":
        assert found == {name: {"value": name} for name in NAMES.values() if name}
    else:
        read_back = {row["id"]: row["name"] for row in READERS[kind](spark.read, files).collect()}
        assert {k: row["name"] for k, row in found.items()} == read_back


def test_a_rate_stream_is_declared(spark: SparkSession, tmp_path: Path) -> None:
    """`rate` and `rate-micro-batch` say nothing of themselves: refused without `ids="rate"`, exact with it."""
    slow = spark.readStream.format("rate").option("rowsPerSecond", 50).load()
    batches = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 5).option("numPartitions", 2).load()
    for number, read in enumerate((slow, batches)):
        with pytest.raises(SourceError, match="has no ids") as raised:
            whence.source(read, "s")
        assert 'ids="rate"' in raised.value.hint
        source = whence.source(read, "s", ids="rate", event_time="timestamp", keep="rows", columns=["value"])
        store = tmp_path / f"store{number}"
        found = traced_rows(source.where("value % 2 = 0").select("value"), store, until=1)
        assert len(found) > 1
        assert found == {value: {"value": value} for value in found}
        with whence.open(store) as lineage:
            assert lineage.impact("s", id=base_of_rate() + min(found)).outputs["value"].to_pylist() == [min(found)]


class Lines(socketserver.BaseRequestHandler):
    """Sends three lines and keeps the connection open."""

    def handle(self) -> None:
        self.request.sendall(b"one\ntwo\nthree\n")
        self.request.recv(1)


@pytest.fixture
def port() -> Iterator[int]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Lines) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def test_a_socket_with_a_key(spark: SparkSession, tmp_path: Path, port: int) -> None:
    """Lines of a socket are gone once read: with a key and `keep="rows"` they are in the store."""
    read = spark.readStream.format("socket").option("host", "127.0.0.1").option("port", port).load()
    with pytest.raises(SourceError, match="has no ids"):
        whence.source(read, "s")
    source = whence.source(read, "s", key="value", keep="rows").where("value <> 'two'")
    query = source.writeStream.queryName("lines").lineage(tmp_path / "store").format("noop").start()
    query.processAllAvailable()
    query.stop()
    with whence.open(tmp_path / "store") as lineage:
        assert sorted(row["value"] for row in lineage.trace("lines").rows("s").to_pylist()) == ["one", "three"]
