"""Every method of a traced frame: exactly what the DataFrame gives, and for each row exactly where it came from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from steps import GROUPING, JOINING, STATIC, expected, frames, halved, ids, plus_one, provenance, traced

import whence

Call = Callable[[Any, Any], Any]

CALLS: dict[str, Call] = {
    # one row in, at most one row out
    "where, a string": lambda a, b: a.where("v > 10 and k is not null"),
    "where, a Column": lambda a, b: a.where((F.col("v") > 10) | F.col("k").isNull()),
    "filter": lambda a, b: a.filter("k = 'x'"),
    "where, nothing passes": lambda a, b: a.where("false"),
    "select, names": lambda a, b: a.select("id", "k"),
    "select, a list": lambda a, b: a.select(["id", F.col("k").alias("key")]),
    "select, Columns": lambda a, b: a.select(F.col("id"), (F.col("v") / 2).alias("half"), F.lit(None).alias("n")),
    "select, everything": lambda a, b: a.select("*"),
    "select, everything and more": lambda a, b: a.select("*", F.upper("k").alias("upper")),
    "select, by alias": lambda a, b: a.alias("t").select("t.id", F.col("t.k")),
    "select, everything of an alias": lambda a, b: a.alias("t").select("t.*"),
    "select, a struct's fields": lambda a, b: a.select("id", F.struct("k", "v").alias("s")).select("id", "s.*", "s.k"),
    "selectExpr": lambda a, b: a.selectExpr("id", "v * 2 as twice", "case when k is null then 0 else 1 end"),
    "selectExpr, a list": lambda a, b: a.selectExpr(["id", "upper(k) as k"]),
    "selectExpr, everything": lambda a, b: a.selectExpr("*", "1 as one"),
    "withColumn, new": lambda a, b: a.withColumn("n", F.col("v") + 1),
    "withColumn, replaced": lambda a, b: a.withColumn("V", F.lit("w")),
    "withColumns": lambda a, b: a.withColumns({"v": F.col("v") + 1, "n": F.col("v") + 2}),
    "withColumnRenamed": lambda a, b: a.withColumnRenamed("v", "speed"),
    "withColumnRenamed, not there": lambda a, b: a.withColumnRenamed("nothing", "speed"),
    "withColumnsRenamed": lambda a, b: a.withColumnsRenamed({"v": "speed", "k": "car"}),
    "withMetadata": lambda a, b: a.withMetadata("v", {"unit": "km/h"}),
    "toDF": lambda a, b: a.toDF("id", "b", "c", "d", "e"),
    "to": lambda a, b: a.to(T.StructType.fromDDL("v bigint, id bigint, k string")),
    "drop": lambda a, b: a.drop("k"),
    "drop, several": lambda a, b: a.drop("k", "v", "nothing"),
    "drop, a Column": lambda a, b: a.drop(F.col("k")),
    "fillna, a number": lambda a, b: a.fillna(0),
    "fillna, a string": lambda a, b: a.fillna("none"),
    "fillna, by column": lambda a, b: a.fillna({"v": 1, "k": "q"}),
    "fillna, some columns": lambda a, b: a.fillna(7, subset=["v", "k"]),
    "fillna, one column": lambda a, b: a.fillna(7, "v"),
    "dropna": lambda a, b: a.dropna(),
    "dropna, all": lambda a, b: a.select("id", "k", "v").dropna("all", subset=["k", "v"]),
    "dropna, a threshold": lambda a, b: a.dropna(thresh=5),
    "dropna, one column": lambda a, b: a.dropna(subset="k"),
    "replace, a value": lambda a, b: a.replace(30, 31),
    "replace, lists": lambda a, b: a.replace([10, 30], [1, 3], "v"),
    "replace, a dict": lambda a, b: a.replace({"x": "X", "y": None}),
    "replace, with null": lambda a, b: a.replace("x", None, ["k"]),
    "hint": lambda a, b: a.hint("repartition", 3),
    "repartition": lambda a, b: a.repartition(3),
    "repartition, a column": lambda a, b: a.repartition("k"),
    "repartition, both": lambda a, b: a.repartition(3, "k", F.col("v")),
    "repartitionByRange": lambda a, b: a.repartitionByRange(2, "v"),
    "repartitionById": lambda a, b: a.repartitionById(3, (F.col("id") % 3).cast("int")),
    "coalesce": lambda a, b: a.coalesce(1),
    "sort, a name": lambda a, b: a.sort("v", "id"),
    "sort, Columns": lambda a, b: a.sort(F.desc_nulls_first("v"), F.asc("id")),
    "sort, a list": lambda a, b: a.sort(["v", "id"], ascending=[False, True]),
    "sort, a position behind Whence's own columns": lambda a, b: (
        a.withColumn("n", F.col("id") % 3).withColumn("m", -F.col("id")).sort(6, -7).limit(2)
    ),
    "orderBy, a position": lambda a, b: a.withColumn("n", F.col("id") % 3).orderBy(-6, 1, ascending=True).limit(1),
    "sortWithinPartitions": lambda a, b: a.sortWithinPartitions("v"),
    "limit": lambda a, b: a.sort("id").limit(2),
    "limit, none": lambda a, b: a.limit(0),
    "withWatermark": lambda a, b: a.withWatermark("ts", "1 minute"),
    "transform": lambda a, b: a.transform(lambda frame, n, *, k: frame.where(f"v > {n}").drop(k), 10, k="k"),
    "a UDF": lambda a, b: a.select("id", plus_one("v").alias("n")).where(plus_one("n") > 12),
    "a pandas UDF": lambda a, b: a.withColumn("half", halved("v")).where(halved("half") > 5),
    "chance": lambda a, b: a.withColumn("chance", F.rand(7)).where("chance >= 0"),
    # column access
    "frame.x": lambda a, b: a.select(a.id, (a.v + 1).alias("n")).where(a.id > 1),
    "frame['x']": lambda a, b: a.where(a["v"] == 30).select(a["id"], a["ts"]),
    "frame[['x', 'y']]": lambda a, b: a[["id", "v"]],
    "frame[condition]": lambda a, b: a[(a.v > 10) & a["k"].isNotNull()],
    "frame[0]": lambda a, b: a.select(a[0], a[1]),
    "odd names": lambda a, b: (
        a.select(
            "id", F.col("v").alias("a.b"), F.col("k").alias("größe"), F.col("ts").alias("x y"), F.lit(1).alias("`")
        )
        .where("`a.b` > 1")
        .withColumn("a.b", F.col("`a.b`") + 1)
        .drop("größe")
        .fillna(0)
        .select("*")
    ),
    # one row in, several out
    "explode": lambda a, b: a.select("id", F.explode("xs")),
    "explode, named": lambda a, b: a.select(F.explode(F.col("xs")).alias("x"), "id", "xs"),
    "explode_outer": lambda a, b: a.select("id", F.explode_outer("xs").alias("x")),
    "posexplode": lambda a, b: a.select("id", F.posexplode("xs").alias("p", "x")),
    "posexplode_outer": lambda a, b: a.select("*", F.posexplode_outer("xs")),
    "explode, a map": lambda a, b: a.where("id < 4").select(
        "id", F.explode(F.create_map("k", "v", F.lit("z"), "v")).alias("key", "value")
    ),
    "explode, computed": lambda a, b: a.select("id", F.explode(F.array("v", F.abs("v"))).alias("x")),
    "explode, a literal that is a column's name": lambda a, b: a.select(
        "id", F.explode(F.array(F.lit("k"), F.col("k")))
    ),
    "explode, in several steps": lambda a, b: a.withColumn("more", F.array(F.col("v") + 1, F.col("v"))).select(
        "id", F.explode("more")
    ),
    "explode, in SQL": lambda a, b: a.selectExpr("id", "explode(filter(xs, x -> x > 1 or x is null)) as x"),
    "explode, withColumn": lambda a, b: a.withColumn("x", F.explode("xs")).where("x > 1"),
    "explode, twice": lambda a, b: a.select("id", "xs", F.explode("xs").alias("x")).select("id", "x", F.explode("xs")),
    "window": lambda a, b: a.select("id", F.window("ts", "1 minute").alias("w")),
    "window, sliding": lambda a, b: a.select(F.window("ts", "1 minute", "20 seconds"), "id"),
    "window, withColumn": lambda a, b: a.withColumn("w", F.window("ts", "1 minute", "30 seconds")).select(
        "id", "w.end"
    ),
    "window, in SQL": lambda a, b: a.selectExpr("id", "window(ts, '60 seconds', '30 seconds', '5 seconds') as w"),
    "union": lambda a, b: a.select("id", "k").union(a.select("id", "k").where("id > 2")),
    "unionAll": lambda a, b: a.unionAll(a),
    "union of two sources": lambda a, b: a.select("id", F.lit(None).cast("bigint").alias("bid"), "k").union(
        b.select(F.lit(None).cast("bigint"), "bid", "k")
    ),
    "unionByName": lambda a, b: a.select("id", "k").unionByName(a.select("k", "id")),
    "unionByName, missing columns": lambda a, b: a.unionByName(b, allowMissingColumns=True),
    # groups
    "groupBy, a name": lambda a, b: a.groupBy("k").agg(ids(), F.sum("v").alias("s")),
    "groupBy, a list": lambda a, b: a.groupBy(["k", "v"]).agg(ids()),
    "groupBy, Columns": lambda a, b: a.groupBy(F.col("k"), (F.col("v") > 10).alias("fast")).agg(ids()),
    "groupBy, a position": lambda a, b: a.groupBy(2).agg(ids()),
    "groupBy, nothing": lambda a, b: a.groupBy().agg(ids(), F.max("v")),
    "groupBy, frame.x": lambda a, b: a.groupBy(a.k).agg(F.max(a.v), ids()),
    "groupby": lambda a, b: a.groupby("k").agg(ids()),
    "agg": lambda a, b: a.agg(F.count("*").alias("n"), ids()),
    "agg, of nothing": lambda a, b: a.where("false").agg(F.count("*").alias("n"), ids()),
    "agg, distinct and filtered": lambda a, b: a.groupBy("k").agg(
        F.count_distinct("v"), F.expr("count(*) filter (where v > 10)"), F.sum_distinct("v"), ids()
    ),
    "agg, arguments of functions": lambda a, b: a.groupBy("k").agg(
        F.max_by("v", "ts"), F.percentile("v", 0.5), F.collect_list("v"), F.approx_count_distinct("v"), ids()
    ),
    "agg, computed": lambda a, b: a.groupBy("k").agg((F.sum("v") / F.count("*") + 1).alias("m"), ids()),
    "having": lambda a, b: a.groupBy("k").agg(F.count("*").alias("n"), ids()).where("n > 1"),
    "groups of groups": lambda a, b: (
        a.groupBy("k", "v").agg(ids()).groupBy("k").agg(F.sort_array(F.flatten(F.collect_list("ids"))).alias("ids"))
    ),
    "dropDuplicates": lambda a, b: a.dropDuplicates(),
    "distinct": lambda a, b: a.union(a.where("false")).distinct(),
}


def compared(call: Call, spark: SparkSession) -> list[Any]:
    """The rows of the traced frame, after what they share with the plain one has been compared."""
    a, b = frames(spark)
    plain, result = call(a, b), call(*traced(a, b))
    annotated = result.provenance()
    assert result.schema == plain.schema
    assert result.to_spark().schema == plain.schema
    assert annotated.columns[-2:] == ["_whence_id", "_whence_rows"]
    assert annotated.schema.fields[:-2] == plain.schema.fields
    rows = annotated.collect()
    assert sorted(str(row[:-2]) for row in rows) == sorted(str(tuple(row)) for row in plain.collect())
    assert len({row["_whence_id"] for row in rows}) == len(rows)
    return rows


@pytest.mark.parametrize("name", CALLS)
def test_a_method_gives_the_plain_result_and_its_provenance(spark: SparkSession, name: str) -> None:
    """With DataFrame's own forms of arguments: the same columns, types and rows, and each row's exact sources."""
    rows = compared(CALLS[name], spark)
    assert [provenance(row) for row in rows] == [expected(row) for row in rows]
    assert rows or name in ("where, nothing passes", "limit, none")


@pytest.mark.parametrize("name", [*GROUPING, *JOINING])
def test_the_steps_of_other_tests_are_exact_too(spark: SparkSession, name: str) -> None:
    """The catalogue that plans and ids are tested with gives the plain results and exact sets."""
    rows = compared(STATIC[name], spark)
    assert rows
    assert [provenance(row) for row in rows] == [expected(row) for row in rows]


GROUPS = {"x": {1, 2}, "y": {3, 5}, None: {4}}
SHORT: dict[str, Call] = {
    "count": lambda a, b: a.groupBy("k").count(),
    "sum": lambda a, b: a.groupBy("k").sum("v"),
    "sum of all": lambda a, b: a.groupBy("k").sum(),
    "avg": lambda a, b: a.groupBy("k").avg("v", "id"),
    "mean": lambda a, b: a.groupBy("k").mean("v"),
    "min": lambda a, b: a.groupBy("k").min("v"),
    "max": lambda a, b: a.groupBy("k").max("v"),
    "a dict": lambda a, b: a.groupBy("k").agg({"v": "max", "*": "count", "id": "sum"}),
    "one Column": lambda a, b: a.groupBy("k").agg(F.first("v", ignorenulls=True)),
    "a position": lambda a, b: a.groupBy(2).count(),
}


@pytest.mark.parametrize("name", SHORT)
def test_short_forms_of_groups(spark: SparkSession, name: str) -> None:
    """`groupBy(...).count()` and its like name their columns as Spark does, and every row of a group contributes."""
    rows = compared(SHORT[name], spark)
    assert {row["k"]: provenance(row) for row in rows} == {k: {("a", i) for i in own} for k, own in GROUPS.items()}


def test_duplicates_of_some_columns(spark: SparkSession) -> None:
    """One row of each set stays, whole, and it alone is the provenance."""
    a, b = frames(spark)
    for call in (
        lambda f: f.dropDuplicates(["k"]),
        lambda f: f.dropDuplicates(subset=["k"]),
        lambda f: f.drop_duplicates(["k"]),
    ):
        result = call(traced(a, b)[0])
        assert result.schema == call(a).schema
        rows = result.provenance().collect()
        assert sorted(str(row["k"]) for row in rows) == ["None", "x", "y"]
        assert [provenance(row) for row in rows] == [{("a", row["id"])} for row in rows]


def test_partial_provenance_stops_where_it_is_told(spark: SparkSession) -> None:
    """`to=` names steps or sources: at a named step tracing ends, and what is not named is not reported."""
    a, b = traced(*frames(spark))
    groups = a.where("v > 1").groupBy("k").agg(F.count("*").alias("n")).named("groups")
    joined = groups.where("n >= 1").join(b, "k")
    group_ids = {row["k"]: row["_whence_id"] for row in groups.provenance().collect()}
    (row, other) = joined.provenance(to="groups").collect()
    assert provenance(row) == provenance(other) == {("groups", group_ids["x"])}
    assert [provenance(r) for r in joined.provenance(to=["b"]).collect()] == [{("b", 101)}, {("b", 102)}]
    both = {row["bid"]: provenance(row) for row in joined.provenance(to=["groups", "b"]).collect()}
    assert both == {i: {("groups", group_ids["x"]), ("b", i)} for i in (101, 102)}
    assert {i for r in joined.provenance(to="a").collect() for i in provenance(r)} == {("a", 1)}
    with pytest.raises(whence.WhenceError, match='no source or step is called "group"'):
        joined.provenance(to="group")


def test_a_frame_says_of_itself_what_a_dataframe_says(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    """columns, schema, dtypes, isStreaming and printSchema are the plain frame's; explain prints the network too."""
    a, b = frames(spark)
    frame = traced(a, b)[0]
    assert (frame.columns, frame.schema, frame.dtypes) == (a.columns, a.schema, a.dtypes)
    assert (frame.isStreaming, frame.sparkSession) == (False, spark)
    a.printSchema()
    plain = capsys.readouterr().out
    frame.printSchema()
    assert capsys.readouterr().out == plain
    frame.where("v = 1").explain()
    printed = capsys.readouterr().out
    assert printed.startswith("where(v = 1)\n  source a (ids by key id)\n")
    assert "== Physical Plan ==" in printed
    assert (
        repr(frame)
        == "TracedFrame[id: bigint, k: string, v: int, ts: timestamp, xs: array<int>]\nsource a (ids by key id)"
    )
