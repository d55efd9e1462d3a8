"""What a traced frame refuses or cannot find: at once, in three parts, with a way out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.window import Window
from steps import frames, halved, other_k, streams, traced

import whence
from whence.errors import BadInputError, RefusedError, UnsupportedError
from whence.frame.coverage import REFUSED

Call = Callable[[Any, Any], Any]
OVER = Window.partitionBy


def caught(call: Call, a: Any, b: Any, kind: type[whence.WhenceError] = whence.WhenceError) -> whence.WhenceError:
    """The error that a call raises, or that its provenance does: before any row is read."""
    with pytest.raises(kind) as raised:
        call(a, b).provenance()
    error = raised.value
    assert error.primary
    assert str(error).startswith(error.primary)
    assert "Py4J" not in str(error)
    return error


WRONG: dict[str, tuple[Call, str, str, str]] = {
    "a column that is not there": (
        lambda a, b: a.where("speed > 1").select("id"), 'column "speed" not found', "id, k, v, ts, xs", "spelling",
    ),
    "a column mistyped": (lambda a, b: a.select("idd"), 'column "idd" not found', "input has id", 'did you mean "id"?'),
    "mistyped in a Column": (lambda a, b: a.select(F.col("tss") + 1), '"tss" not found', "ts", 'did you mean "ts"?'),
    "mistyped in groupBy": (lambda a, b: a.groupBy("kk").count(), '"kk" not found', "k", "k"),
    "mistyped in agg": (lambda a, b: a.groupBy("k").agg(F.sum("w")), '"w" not found', "id, k, v", ""),
    "mistyped in join": (lambda a, b: a.join(b, "idd"), "idd", "", ""),
    "mistyped in sort": (lambda a, b: a.sort("tss"), '"tss" not found', "ts", 'did you mean "ts"?'),
    "mistyped in dropDuplicates": (lambda a, b: a.dropDuplicates(["kk"]), "kk", "", ""),
    "frame['x']": (lambda a, b: a.select(a["vv"]), '"vv" not found', "id, k, v", 'did you mean "v"?'),
    "ambiguous": (lambda a, b: a.join(b, F.lit(True)).select("k"), "k", "k", '.alias("a")'),
    "ambiguous, frame['x']": (lambda a, b: a.crossJoin(b)["k"], "`k` is ambiguous", "id, k", '.alias("a")'),
    "not SQL": (lambda a, b: a.where("v >"), "is not SQL", "", "id, k"),
    "types that do not fit": (lambda a, b: a.where("v > array(1)"), "does not fit", "", "id, k"),
    "a where that is no condition": (lambda a, b: a.where("v + 1"), "does not fit", "", "id, k"),
    "an unknown join": (lambda a, b: a.join(b, "k", "sideways"), 'unknown join type "sideways"', "inner", ""),
    "a join with no frame": (lambda a, b: a.join("b", "k"), "join takes a frame", "", ""),
    "a union that does not fit": (lambda a, b: a.union(b), "does not fit", "", "id, k"),
    "dropDuplicates of a name": (lambda a, b: a.dropDuplicates("k"), "takes a list", "", '["a", "b"]'),
    "agg of nothing": (lambda a, b: a.groupBy("k").agg(), "agg takes Columns", "", 'F.count("*")'),
    "agg of a name": (lambda a, b: a.groupBy("k").agg("v"), "agg takes Columns", "", 'F.count("*")'),
    "toDF of too few": (lambda a, b: a.toDF("a"), "1 names for 5 columns", "", ""),
    "a number in select": (lambda a, b: a.select(1), "takes names and Columns", "", ""),
    "a reserved name": (lambda a, b: a.withColumn("_whence_x", F.lit(1)), '"_whence_x" has the reserved', "", "rename"),
    "a reserved name in capitals": (lambda a, b: a.toDF(*"abcd", "_WHENCE_ID"), "reserved prefix", "", "rename"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_at_once(spark: SparkSession, name: str) -> None:
    """The step and the user's words, what there is instead, and where it can be known what was meant."""
    call, primary, detail, hint = WRONG[name]
    error = caught(call, *traced(*frames(spark)))
    assert isinstance(error, BadInputError)
    assert primary in error.primary + error.detail
    assert detail in error.detail
    assert hint in error.hint


INEXACT: dict[str, Call] = {
    "analytic window in select": lambda a, b: a.select("id", F.row_number().over(OVER("k").orderBy("id"))),
    "analytic window in withColumn": lambda a, b: a.withColumn("s", F.sum("v").over(OVER("k"))),
    "analytic window in SQL": lambda a, b: a.selectExpr("id", "lag(v) over (partition by k order by ts) as before"),
    "analytic window, in small": lambda a, b: a.selectExpr("id", "max(v)\nOVER\t(PARTITION BY k) m"),
    "analytic window in groupBy": lambda a, b: a.groupBy(F.ntile(2).over(OVER("k").orderBy("id"))).count(),
    "analytic window in sort": lambda a, b: a.sort(F.row_number().over(OVER("k").orderBy("id"))),
    "analytic window in agg": lambda a, b: a.groupBy("k").agg(F.rank().over(Window.orderBy("k"))),
    "subquery in where": lambda a, b: a.where("v > (select 1)"),
    "subquery in where, exists": lambda a, b: a.where("exists (select 1)"),
    "subquery in where, in": lambda a, b: a.where("v in (select 30)"),
    "subquery in select": lambda a, b: a.selectExpr("id", "(select max(1)) as m"),
    "subquery in agg": lambda a, b: a.groupBy("k").agg(F.expr("(select 1)").alias("one"), F.count("*")),
    "subquery in a join": lambda a, b: a.join(other_k(b), F.expr("k = bk and w in (select 1)")),
    "a plain frame's scalar()": lambda a, b: a.where(F.col("v") > a.to_spark().agg(F.min("v")).scalar()),
    "a plain frame's exists()": lambda a, b: a.where(a.to_spark().where("v = 30").exists()),
    "a plain frame in isin()": lambda a, b: a.where(F.col("k").isin(b.to_spark().select("k"))),
    "aggregate in select": lambda a, b: a.select(F.sum("v")),
    "aggregate in select, under a call": lambda a, b: a.select(F.round(F.avg("v") + 1)),
    "aggregate in selectExpr": lambda a, b: a.selectExpr("count(*) as n"),
    "aggregate in withColumn": lambda a, b: a.withColumn("n", F.max("v")),
    "a star in a call": lambda a, b: a.select(F.struct("*")),
    "a star in SQL": lambda a, b: a.selectExpr("to_json(struct(*)) as j"),
    "a star in a hash": lambda a, b: a.selectExpr("id", "xxhash64( * ) as h"),
    "a star of an alias": lambda a, b: a.alias("t").selectExpr("struct(t.*) as s"),
    "a star in agg": lambda a, b: a.groupBy("k").agg(F.expr("count(distinct *)")),
    "inline": lambda a, b: a.selectExpr("id", "inline(array(struct(1, 2)))"),
    "inline_outer": lambda a, b: a.selectExpr("id", "inline_outer(array(struct(1, 2)))"),
    "F.inline": lambda a, b: a.select("id", F.inline(F.array(F.struct("id", "v")))),
    "stack": lambda a, b: a.selectExpr("id", "stack(2, 1, 2) as x"),
    "F.stack": lambda a, b: a.select("id", F.stack(F.lit(2), F.lit(1), F.lit(2))),
    "json_tuple": lambda a, b: a.select("id", F.json_tuple("k", "f1")),
    "two explodes": lambda a, b: a.select(F.explode("xs"), F.explode("xs")),
    "an explode and a window": lambda a, b: a.select(F.explode("xs"), F.window("ts", "1 minute")),
    "an explode in agg": lambda a, b: a.groupBy("k").agg(F.explode(F.collect_list("v"))),
    "a window in where": lambda a, b: a.where(F.window("ts", "1 minute")["start"] > "2020-01-01"),
    "a window in another call": lambda a, b: a.select("id", F.window("ts", "1 minute", "30 seconds")["start"]),
    "a session window in select": lambda a, b: a.select("id", F.session_window("ts", "1 minute")),
    "a semi join on a condition": lambda a, b: a.join(other_k(b), F.expr("k = bk"), "left_semi"),
    "a union with a plain frame": lambda a, b: a.select("id").union(a.to_spark().select("id")),
    "a transform that leaves": lambda a, b: a.transform(lambda frame: frame.to_spark()),
    "grouping sets in SQL": lambda a, b: a.groupBy(F.expr("cube(k, v)")).count(),
    "a UDF that aggregates": lambda a, b: a.groupBy("k").agg(
        F.pandas_udf(lambda values: float(values.sum()), "double", F.PandasUDFType.GROUPED_AGG)(F.col("v"))
    ),
    "an explode that cannot be read back": lambda a, b: a.select("id", F.explode(F.array(F.col("v") + 1))),
}  # fmt: skip


@pytest.mark.parametrize("name", INEXACT)
def test_what_cannot_be_exact_is_refused(spark: SparkSession, name: str) -> None:
    """Refused before a row is read, and the message says what to write instead."""
    error = caught(INEXACT[name], *traced(*frames(spark)))
    assert error.detail
    assert error.hint


def test_two_streams_have_no_semi_join(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Spark emits a row at its first match, so a stream-stream semi join is refused, and says so."""
    a, b = traced(*streams(spark, tmp_path_factory.mktemp("semi")))
    error = caught(lambda a, b: a.join(b, "k", "left_semi"), a, b, RefusedError)
    assert "two streams" in error.primary
    assert "first match" in error.detail


@pytest.mark.parametrize("name", sorted(name for name in REFUSED if hasattr(DataFrame, name)))
def test_every_other_method_is_refused_by_name(spark: SparkSession, name: str) -> None:
    """`frame.collect`, `.cube`, `.mapInPandas` and all the others: the method, why, and what to do instead."""
    frame = traced(*frames(spark))[0]
    with pytest.raises(UnsupportedError) as raised:
        getattr(frame, name)
    error = raised.value
    assert error.primary == f"{name} is not traced"
    assert error.detail.startswith(f"DataFrame.{name}: ")
    assert error.hint
    assert not hasattr(frame, name)
    assert getattr(frame, name, "nothing") == "nothing"


@pytest.mark.parametrize("name", ["pivot", "apply", "applyInPandas", "applyInArrow", "applyInPandasWithState",
                                  "transformWithState", "transformWithStateInPandas", "cogroup"])  # fmt: skip
def test_groups_refuse_what_mixes_their_rows(spark: SparkSession, name: str) -> None:
    """Users' own stateful operators, and pivot."""
    groups = traced(*frames(spark))[0].groupBy("k")
    with pytest.raises(UnsupportedError, match=f"{name} is not traced") as raised:
        getattr(groups, name)
    assert raised.value.hint


def test_a_name_that_nothing_has_is_an_attribute_error(spark: SparkSession) -> None:
    """Neither a column nor a method of DataFrame: Python's own error, which names the columns."""
    frame = traced(*frames(spark))[0]
    with pytest.raises(AttributeError, match="columns are id, k, v, ts, xs"):
        _ = frame.nothing
    with pytest.raises(AttributeError):
        _ = frame.groupBy("k").nothing
    with pytest.raises(BadInputError, match="no item"):
        frame[1.5]


def test_a_sql_view_of_a_traced_frame_is_refused(spark: SparkSession) -> None:
    """A view or SQL text hides the rows: refused with a hint, also through the session."""
    frame = traced(*frames(spark))[0]
    with pytest.raises(UnsupportedError, match="createOrReplaceTempView is not traced") as raised:
        frame.createOrReplaceTempView("v")
    assert "frame methods" in raised.value.hint
    assert [table.name for table in spark.catalog.listTables() if table.name == "v"] == []


def test_scalar_functions_in_python_are_fine(spark: SparkSession) -> None:
    """What is refused is code that mixes rows; a function of one row's values is not."""
    frame = traced(*frames(spark))[0].withColumn("half", halved("v")).where("half > 10")
    assert {row["id"] for row in frame.provenance().collect()} == {3, 4, 5}


def test_columns_may_be_called_as_spark_calls_its_own(spark: SparkSession) -> None:
    """`list`, `exists`, `bin`, `Join` are names like any other, in conditions, groups, literals and sorts too."""
    a = frames(spark)[0]
    named = a.toDF("id", "list", "exists", "bin", "scalar-subquery").withColumn("Window", F.lit("Join [x]"))
    frame = whence.source(named, "a", key="id").where("list = 'x' or `Window` = 'Aggregate [list#1]'")
    grouped = frame.groupBy("list", "exists").agg(F.max("bin").alias("in"), F.count("*").alias("Expand")).sort("list")
    assert {row["exists"] for row in grouped.provenance().collect()} == {10, None}
