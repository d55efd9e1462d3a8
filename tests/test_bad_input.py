"""Bad input: each a clear error that names the thing and says what to do, before any query starts."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest
import reports
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import whence
from whence import TracedFrame, WhenceError
from whence.errors import (
    BadInputError,
    CheckpointError,
    NotFoundError,
    RefusedError,
    SinkError,
    SourceError,
    StoreError,
)
from whence.trace import condition


@dataclass(frozen=True)
class Given:
    """What the cases are made of."""

    spark: SparkSession
    folder: Path

    @property
    def plain(self) -> DataFrame:
        return reports.static(self.spark, self.folder / "in")

    @property
    def frame(self) -> TracedFrame:
        return whence.source(self.plain, "reports")

    @property
    def stream(self) -> TracedFrame:
        return reports.stream(self.spark, self.folder / "in")

    @property
    def groups(self) -> TracedFrame:
        return self.stream.groupBy("car_id").agg(F.count("*").alias("n"))

    def source(self, **options: Any) -> TracedFrame:
        return whence.source(self.plain, "reports", **options)

    def writer(self, frame: TracedFrame | None = None, **lineage: Any) -> Any:
        """A stream writer that lacks nothing but a format."""
        lineage = {"store": self.folder / "lineage", "name": "results", **lineage}
        writer = (frame or self.stream).writeStream.lineage(lineage.pop("store"), **lineage)
        return writer.option("checkpointLocation", str(self.folder / "checkpoint"))

    def noop(self, frame: TracedFrame | None = None, **lineage: Any) -> Any:
        return self.writer(frame, **lineage).format("noop")

    def file(self, kind: str, frame: TracedFrame | None = None) -> Any:
        return self.writer(frame).format(kind).option("path", str(self.folder / "out"))

    def read(self, kind: str) -> DataFrame:
        return self.spark.readStream.schema(reports.SCHEMA).format(kind).load(str(self.folder / "in"))


@pytest.fixture(scope="module")
def given(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Given:
    folder = tmp_path_factory.mktemp("bad")
    reports.write(folder / "in", 0)
    return Given(spark, folder)


Case = tuple[Callable[[Given], object], type[WhenceError], str, str]

SOURCES: dict[str, Case] = {
    "no DataFrame": (lambda g: whence.source("in/", "reports"), BadInputError, "not str", "spark.read"),
    "no name": (lambda g: whence.source(g.plain, ""), BadInputError, "needs a name", "whence.source"),
    "ids of JSON": (lambda g: whence.source(g.read("json"), "r"), SourceError, 'source "r" has no ids', "key="),
    "ids of CSV": (lambda g: whence.source(g.read("csv"), "r"), SourceError, 'source "r" has no ids', "key="),
    "ids of ORC": (lambda g: whence.source(g.read("orc"), "r"), SourceError, 'source "r" has no ids', "key="),
    "ids of memory": (lambda g: whence.source(g.spark.range(3), "r"), SourceError, 'source "r" has no ids', "key="),
    "ids of rate": (
        lambda g: whence.source(g.spark.readStream.format("rate").load(), "r"), SourceError, "no ids", 'ids="rate"'
    ),
    "unknown ids": (lambda g: g.source(ids="row"), BadInputError, 'unknown ids "row"', "file"),
    "ids=key without key": (lambda g: g.source(ids="key"), SourceError, "no key", 'key="id"'),
    "key and other ids": (lambda g: g.source(ids="file", key="speed"), SourceError, "contradict", "leave one out"),
    "ids=file of JSON": (
        lambda g: whence.source(g.read("json"), "r", ids="file"), SourceError, "no row index", 'key="id"'
    ),
    "ids=kafka of files": (lambda g: g.source(ids="kafka"), SourceError, "needs column topic", "key="),
    "ids=rate of files": (lambda g: g.source(ids="rate"), SourceError, "needs column value", "key="),
    "missing key": (lambda g: g.source(key="sped"), BadInputError, '"sped" not found', "name columns"),
    "missing event time": (lambda g: g.source(event_time="time"), BadInputError, '"time" not found', "name columns"),
    "event time of no time": (lambda g: g.source(event_time="speed"), BadInputError, '"speed" is int', "cast it"),
    "missing kept column": (
        lambda g: g.source(keep="rows", columns=["sped"]), BadInputError, '"sped" not found', "name columns"
    ),
    "unknown keep": (lambda g: g.source(keep="all"), BadInputError, 'unknown keep "all"', 'keep="rows"'),
    "columns without rows": (lambda g: g.source(columns=["speed"]), BadInputError, "columns=", 'keep="rows"'),
    "keep_for without rows": (lambda g: g.source(keep_for="7 days"), BadInputError, "keep_for=", 'keep="rows"'),
    "keep_for of no time": (
        lambda g: g.source(keep="rows", keep_for="a while"), BadInputError, '"a while" is not a time', "7 days"
    ),
    "keep_for of nothing": (
        lambda g: g.source(keep="rows", keep_for=0), BadInputError, "keep_for 0 keeps nothing", "number of rows"
    ),
    "explode above the scan": (
        lambda g: whence.source(g.plain.select(F.explode(F.array("speed"))), "r"), RefusedError, "Generate", "traced"
    ),
    "groups above the scan": (
        lambda g: whence.source(g.plain.groupBy("speed").count(), "r"), RefusedError, "Aggregate", "traced frame"
    ),
    "union above the scan": (
        lambda g: whence.source(g.plain.union(g.plain), "r", key="ts"), RefusedError, "Union", "traced frame"
    ),
    "reserved column": (
        lambda g: whence.source(g.plain.withColumn("_Whence_id", F.lit(1)), "r"), BadInputError, "reserved", "rename"
    ),
}  # fmt: skip

STEPS: dict[str, Case] = {
    "misspelt in where": (lambda g: g.frame.where("sped > 1"), BadInputError, '"sped" not found', '"speed"?'),
    "misspelt in select": (lambda g: g.frame.select("car"), BadInputError, '"car" not found', "car_id"),
    "misspelt in withColumn": (
        lambda g: g.frame.withColumn("x", F.col("sped") + 1), BadInputError, '"sped" not found', '"speed"?'
    ),
    "misspelt in groupBy": (lambda g: g.frame.groupBy("car").count(), BadInputError, '"car" not found', "car_id"),
    "misspelt in agg": (
        lambda g: g.frame.groupBy("car_id").agg(F.sum("sped")), BadInputError, '"sped" not found', '"speed"?'
    ),
    "misspelt in join": (lambda g: g.frame.join(g.frame, "car"), BadInputError, "car", "input"),
    "misspelt in brackets": (lambda g: g.frame["sped"], BadInputError, '"sped" not found', '"speed"?'),
    "misspelt watermark": (lambda g: g.stream.withWatermark("tss", "1 second"), BadInputError, "tss", '"ts"?'),
    "where of no SQL": (lambda g: g.frame.where("speed >"), BadInputError, "is not SQL", "speed"),
    "where of no condition": (lambda g: g.frame.where("speed"), BadInputError, "does not fit", "speed"),
    "select of no column": (lambda g: g.frame.select(1), BadInputError, "not 1", "F.lit"),
    "agg of no column": (lambda g: g.frame.groupBy("car_id").agg("n"), BadInputError, "agg takes", "F.count"),
    "unknown join": (lambda g: g.frame.join(g.frame, "ts", "asof"), BadInputError, '"asof"', "inner"),
    "a query in where": (
        lambda g: g.frame.where("speed = (select 1)"), RefusedError, "a query inside", "join the other frame"
    ),
    "an analytic window": (
        lambda g: g.frame.selectExpr("sum(speed) over (partition by car_id)"), RefusedError, "analytic", "groupBy"
    ),
    "two equal names": (
        lambda g: g.frame.select("speed", "speed").write.lineage(g.folder / "l", name="r").format("noop").save(),
        RefusedError, 'two columns "speed"', "rename",
    ),
    "a type Parquet lacks": (
        lambda g: g.noop(g.stream.selectExpr("interval 1 day as gap")).start(), RefusedError, '"gap"', "cast"
    ),
    "union with a plain frame": (lambda g: g.frame.union(g.plain), RefusedError, "not traced", "whence.source"),
    "two sources of one name": (
        lambda g: g.noop(g.stream.union(g.stream)).start(), SourceError, 'two sources are called "reports"', "name"
    ),
    "no traced source": (lambda g: g.frame.join(3), BadInputError, "not int", "DataFrame"),
    "unknown provenance mode": (lambda g: g.frame.provenance(mode="list"), BadInputError, '"list"', "mode"),
    "provenance of mode off": (lambda g: g.frame.provenance(mode="off"), BadInputError, '"off"', "listed"),
    "unknown stop": (lambda g: g.frame.provenance(to="stopped"), BadInputError, '"stopped"', ".named("),
    "pivot": (lambda g: g.frame.groupBy("car_id").pivot("speed"), RefusedError, "pivot", ".agg"),
    "user-defined state": (
        lambda g: g.stream.groupBy("car_id").applyInPandas(None, ""), RefusedError, "applyInPandas", ".agg"
    ),
    **{
        name: (lambda g, name=name: getattr(g.frame, name), RefusedError, f"{name} is not traced", "")
        for name in (
            "createOrReplaceTempView", "mapInPandas", "mapInArrow", "intersect", "subtract", "exceptAll", "rollup",
            "cube", "sample", "collect", "count", "rdd", "unpivot", "groupingSets",
        )
    },
}  # fmt: skip

WRITERS: dict[str, Case] = {
    "unknown mode": (lambda g: g.noop(mode="lists"), BadInputError, 'unknown mode "lists"', "auto"),
    "live": (lambda g: g.noop(live=True), RefusedError, "live", "impact"),
    "no sink name": (lambda g: g.noop(name=None).start(), BadInputError, "need a name", "queryName"),
    "unknown output mode": (lambda g: g.noop().outputMode("all"), BadInputError, '"all"', "append"),
    "unknown format": (lambda g: g.writer().format("avroo").start(), RefusedError, '"avroo"', "foreachBatch"),
    "memory sink": (lambda g: g.writer().format("memory").start(), RefusedError, "memory", "to_spark"),
    **{
        f"{kind} in {mode} mode": (
            lambda g, kind=kind, mode=mode: g.file(kind, g.groups).outputMode(mode).start(),
            BadInputError, f"sink {kind} does not support {mode}", "foreachBatch",
        )
        for kind in ("parquet", "json", "csv", "orc", "text") for mode in ("update", "complete")
    },
    "delta in update mode": (
        lambda g: g.file("delta", g.groups).outputMode("update").start(), BadInputError, "delta", "foreachBatch"
    ),
    "table in update mode": (
        lambda g: g.writer(g.groups).outputMode("update").toTable("t"), BadInputError, "table", "foreachBatch"
    ),
    "no path": (lambda g: g.writer().format("parquet").start(), BadInputError, "parquet needs a path", "start("),
    "no checkpoint": (
        lambda g: g.stream.writeStream.lineage(g.folder / "l", name="r").start(str(g.folder / "out")),
        CheckpointError, "needs a checkpoint", "checkpointLocation",
    ),
    "partition by what is not there": (
        lambda g: g.file("parquet").partitionBy("car").start(), BadInputError, '"car" not found', "car_id"
    ),
    "text of several columns": (lambda g: g.file("text").start(), SinkError, "one string column", "select"),
    "continuous trigger": (lambda g: g.noop().trigger(continuous="1 second"), RefusedError, "continuous", "processing"),
    "continuous trigger, lineage later": (
        lambda g: g.stream.writeStream.trigger(continuous="1 second").lineage(g.folder / "l", name="r").start(),
        RefusedError, "continuous", "processing",
    ),
    "a file as the store": (
        lambda g: g.noop(store=g.folder / "in" / "reports-0.parquet").start(), StoreError, "not a lineage store", "new"
    ),
    "a folder of files as the store": (
        lambda g: g.noop(store=g.folder / "in").start(), StoreError, "not a lineage store", "new or empty"
    ),
    "stream writer of a static frame": (lambda g: g.frame.writeStream, BadInputError, "streaming", ".write"),
    "static writer of a stream": (lambda g: g.stream.write, BadInputError, "static", "writeStream"),
    "unknown save mode": (lambda g: g.frame.write.mode("replace"), BadInputError, '"replace"', "overwrite"),
    "static write without a name": (
        lambda g: g.frame.write.lineage(g.folder / "l").format("noop").mode("append").save(), BadInputError, "name",
        "name=",
    ),
    "static write over what is there": (
        lambda g: g.frame.write.lineage(g.folder / "l", name="r").parquet(str(g.folder / "in")), SinkError, "exists",
        "overwrite",
    ),
    "unknown mode of a static write": (
        lambda g: g.frame.write.lineage(g.folder / "l", mode="all"), BadInputError, '"all"', "auto"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", [*SOURCES.values(), *STEPS.values(), *WRITERS.values()],
                         ids=[*SOURCES, *STEPS, *WRITERS])  # fmt: skip
def test_bad_input_is_refused_before_the_query_starts(given: Given, case: Case) -> None:
    """The right kind of error, naming the thing, with a hint; nothing was started and no store was made."""
    wrong, kind, primary, hint = case
    with pytest.raises(kind) as caught, redirect_stdout(io.StringIO()):
        wrong(given)
    assert primary in caught.value.primary
    assert caught.value.hint
    assert hint in f"{caught.value.detail} {caught.value.hint}"
    assert str(caught.value).startswith(caught.value.primary)
    assert not given.spark.streams.active
    assert not (given.folder / "checkpoint").exists()


def test_what_spark_refuses_whence_refuses(given: Given, tmp_path: Path) -> None:
    """An output mode that does not fit the network is Spark's refusal, said as one of ours."""
    for number, (frame, mode) in enumerate([(given.stream, "complete"), (given.groups, "append")]):
        writer = given.noop(frame, store=tmp_path / "lineage").outputMode(mode)
        with pytest.raises(BadInputError, match=f"in {mode} mode") as caught:
            writer.option("checkpointLocation", str(tmp_path / f"checkpoint-{number}")).start()
        assert "aggregations" in caught.value.detail
        assert "watermark" in caught.value.hint
        assert not given.spark.streams.active


def test_a_query_name_is_used_once_at_a_time(given: Given, tmp_path: Path) -> None:
    """A second query of the name of a running one is refused; the running one goes on."""

    def writer(folder: str) -> Any:
        made = given.stream.writeStream.queryName("twice").lineage(tmp_path / "lineage").format("noop")
        return made.option("checkpointLocation", str(tmp_path / folder))

    running = writer("one").start()
    try:
        with pytest.raises(BadInputError, match='"twice" is running') as caught:
            writer("two").start()
        assert "queryName" in caught.value.hint
        assert running.isActive
    finally:
        running.stop()
    assert not (tmp_path / "two").exists()


def test_relative_paths_are_refused_on_connect(given: Given, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server has another working folder: store and checkpoint need absolute paths there."""
    monkeypatch.setattr("whence.frame.stream_writer._is_connect", lambda frame: True)
    with pytest.raises(BadInputError, match="the store has a relative path") as caught:
        given.noop(store="lineage/").start()
    assert "absolute" in caught.value.hint
    writer = given.noop().option("checkpointLocation", "ckpt/")
    with pytest.raises(BadInputError, match="the checkpoint has a relative path"):
        writer.start()


# -- asking ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lineage(given: Given, tmp_path_factory: pytest.TempPathFactory) -> whence.Lineage:
    """Four results of four reports, kept and not."""
    store = tmp_path_factory.mktemp("asked") / "lineage"
    reports.keep(given.frame.where("speed >= 0"), store)
    return whence.open(store)


NOT_A_CONDITION = {
    "a query": "speed = (select 1)",
    "a query behind in": "speed in (select 1)",
    "a query behind exists": "exists (from 'secret.csv')",
    "a query in a list": "speed = any (array(select 1))",
    "a query in a lambda": "len(list_transform([1], x -> (select 1))) = 1",
    "a closing parenthesis": "1 = 1) or (1 = 1",
    "closing parentheses": "1 = 1)) or ((1 = 1",
    "a union": "speed = 1) union select 1 from t where (true",
    "another clause": "speed = 1) group by (speed",
    "an order": "speed = 1) order by (speed",
    "a limit": "speed = 1) limit (1",
    "two expressions": "speed, car_id",
    "an analytic window": "row_number() over () = 1",
    "a filter": "speed) filter (where true",
    "a setting": "current_setting('threads') = '1'",
    "the environment": "getenv('HOME') = 'x'",
    "the environment, quoted": "main.\"getEnv\"('HOME') = 'x'",
    "chance": "random() > 0.5",
    "a log": "write_log('x') is null",
    "a nap": "sleep_ms(1) is null",
    "all columns": "columns('s.*') = 1",
    "a star": "*",
    "a position": "#1 = 1",
    "a parameter": "speed = ?",
}
NOT_SQL = {
    "no operand": "speed >",
    "a statement": "speed = 1; drop table t",
    "a closed statement": "true); copy t to 'x'; select (1",
    "an open comment": "speed = 1 /* and",
    "a comment over the rest": "speed = 1) -- ",
    "an open string": "speed = 'x",
}
NO_FILES = {
    "a table function": "read_csv('/etc/passwd') is not null",
    "a text": "read_text('/etc/passwd') is not null",
    "a glob": "glob('/*') is not null",
    "an aggregate": "count(*) > 1",
    "an unknown function": "no_such_function(speed)",
    "a statement that looks like a cast": "attach 'x.db'",
    "types": "speed = 'fast'",
}


@pytest.mark.parametrize("where", NOT_A_CONDITION.values(), ids=NOT_A_CONDITION.keys())
def test_a_where_is_a_condition_on_one_row(lineage: whence.Lineage, where: str) -> None:
    """Whatever could read something else, run a statement or get out of its parentheses is refused, both ways."""
    for ask in (lineage.trace, lineage.impact):
        name = "results" if ask == lineage.trace else "reports"
        with pytest.raises(BadInputError, match=r"not a condition on one row|is not SQL") as caught:
            ask(name, where=where)
        assert where in caught.value.detail
        assert "such as" in caught.value.hint


@pytest.mark.parametrize("where", NOT_SQL.values(), ids=NOT_SQL.keys())
def test_a_where_is_sql(lineage: whence.Lineage, where: str) -> None:
    """What does not parse is refused with the parser's own words."""
    with pytest.raises(BadInputError, match="is not SQL") as caught:
        lineage.trace("results", where=where)
    assert where.strip() in caught.value.detail
    assert caught.value.hint


@pytest.mark.parametrize("where", NO_FILES.values(), ids=NO_FILES.keys())
def test_a_where_reaches_no_file(lineage: whence.Lineage, where: str) -> None:
    """Functions of tables, files and groups, and what has the wrong type: an error, never an answer."""
    for ask in (lineage.trace, lineage.impact):
        with pytest.raises(BadInputError) as caught:
            ask("results" if ask == lineage.trace else "reports", where=where)
        assert where in caught.value.detail
        assert caught.value.hint


def test_a_where_knows_the_columns_of_the_row(lineage: whence.Lineage) -> None:
    """A column that is not there is named, with the nearest that is; hidden columns are not there."""
    with pytest.raises(BadInputError, match='column "sped"') as caught:
        lineage.trace("results", where="sped > 1")
    assert 'did you mean "speed"' in caught.value.hint
    for hidden in ("_whence_batch", "_whence_run", "run", "rowid", "filename", "current_user", "t.speed"):
        with pytest.raises(BadInputError, match=f'column "{hidden}"'):
            lineage.trace("results", where=f"{hidden} is not null")
    with pytest.raises(BadInputError, match="empty"):
        lineage.trace("results", where="  ")


def test_honest_conditions_are_taken(lineage: whence.Lineage) -> None:
    """Operators, comments, casts, lambdas, functions of the row, and an id beside them."""
    for where in (
        "speed = 2", "SPEED = 2 -- the second", "(speed = 2)", "(speed = 2) or (speed = 2)", "speed between 2 and 2",
        "speed in (2, 99)", "speed::varchar like '2%'", "case when speed = 2 then true end", '"speed" = 2 /* yes */',
        "list_contains([2], speed)", "len(list_filter([2], lambda x: x = speed)) = 1", "ts < now() and speed = 2",
    ):  # fmt: skip
        trace = lineage.trace("results", where=where)
        assert trace.outputs.column("speed").to_pylist() == [2], where
        (found,) = lineage.trace(
            "results", where=where, id=trace.outputs.column("_whence_id")[0].as_py()
        ).edges.to_pylist()
        assert lineage.impact("reports", where=where).ids == (found["source_id"],), where


def test_a_where_does_not_widen_an_id(lineage: whence.Lineage) -> None:
    """An id and a where must both hold."""
    trace = lineage.trace("results", where="speed = 2")
    (row,) = trace.outputs.to_pylist()
    with pytest.raises(NotFoundError):
        lineage.trace("results", where="speed = 1 or speed = 3", id=row["_whence_id"])


def test_every_function_with_effects_is_barred() -> None:
    """Each function of the installed DuckDB that is not a function of its arguments is barred, but for the clock."""
    clock = {"now", "today", "get_current_time", "get_current_timestamp", "transaction_timestamp", "current_date"}
    sql = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type = 'scalar'"
    found = {row[0] for row in duckdb.sql(f"{sql} AND stability <> 'CONSISTENT'").fetchall()}
    assert found - clock - condition._BARRED == set()


@pytest.mark.parametrize("row_id", [-1, True, "7", 1.5])
def test_what_is_not_an_id_is_refused(lineage: whence.Lineage, row_id: object) -> None:
    """Ids are non-negative integers, for trace and impact."""
    for ask, name in ((lineage.trace, "results"), (lineage.impact, "reports")):
        with pytest.raises(BadInputError, match="is not an id") as caught:
            ask(name, id=row_id)
        assert repr(row_id) in caught.value.primary


def test_what_the_store_does_not_hold_is_named(lineage: whence.Lineage, spark: SparkSession) -> None:
    """A sink, a source, an id, a table: each named, with what there is."""
    with pytest.raises(NotFoundError, match='no sink "result"') as caught:
        lineage.trace("result", where="speed = 1")
    assert 'did you mean "results"' in caught.value.hint
    with pytest.raises(NotFoundError, match='no source "report"') as caught:
        lineage.impact("report", where="speed = 1")
    assert 'did you mean "reports"' in caught.value.hint
    with pytest.raises(NotFoundError, match='"results" has no result 7') as caught:
        lineage.trace("results", id=7)
    assert caught.value.hint
    with pytest.raises(NotFoundError, match='"reports" has no row 7') as caught:
        lineage.impact("reports", id=7)
    assert caught.value.hint
    (edge,) = lineage.trace("results", where="speed = 1").edges.to_pylist()
    assert lineage.impact("reports", where="speed = 1", id=edge["source_id"]).ids == (edge["source_id"],)
    assert lineage.impact("reports", where="speed = 2", id=edge["source_id"]).ids == ()
    with pytest.raises(BadInputError, match="impact of what"):
        lineage.impact("reports")
    with pytest.raises(BadInputError, match='no table "result"') as caught:
        lineage.to_spark(spark, "result")
    assert "outputs" in caught.value.detail
