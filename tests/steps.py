"""Two small frames and every kind of step over them, in PySpark's own words: run plain, traced, static and streaming.

`STEPS["where"](a, b)` is one step on `a` (and `b`), whichever kind of frame they are. The surprise: where a step
mixes rows, the query itself collects their `id`s as `ids` (and `bids`), so a result says what its provenance must be.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import whence
from whence import TracedFrame

START = datetime(2026, 1, 5, 8, 0)
A = "id bigint, k string, v int, ts timestamp, xs array<int>"
B = "bid bigint, k string, w int, bts timestamp"


def at(seconds: int) -> datetime:
    return START + timedelta(seconds=seconds)


A_ROWS = [
    (1, "x", 10, at(0), [1, 1, 2]),
    (2, "x", None, at(5), []),
    (3, "y", 30, at(65), None),
    (4, None, 30, at(125), [3, None]),
    (5, "y", 30, at(65), [3]),
]
B_ROWS = [(101, "x", 1, at(0)), (102, "x", 2, at(30)), (103, None, 3, at(65)), (104, "z", 4, at(65))]


def frames(spark: SparkSession) -> tuple[DataFrame, DataFrame]:
    """Both frames, static; `y` of the first has no partner in the second, `z` none in the first."""
    return spark.createDataFrame(A_ROWS, A), spark.createDataFrame(B_ROWS, B)


def streams(spark: SparkSession, folder: Path) -> tuple[DataFrame, DataFrame]:
    """The same rows as streams of Parquet files, with watermarks; each frame is written once."""
    made = []
    for name, frame, time in zip("ab", frames(spark), ("ts", "bts"), strict=True):
        if not (folder / name).exists():
            frame.write.parquet(str(folder / name))
        made.append(spark.readStream.schema(frame.schema).parquet(str(folder / name)).withWatermark(time, "10 seconds"))
    return made[0], made[1]


def traced(a: DataFrame, b: DataFrame) -> tuple[TracedFrame, TracedFrame]:
    """Both as sources whose ids are their own `id` and `bid`."""
    return whence.source(a, "a", key="id"), whence.source(b, "b", key="bid")


def provenance(row: Row) -> set[tuple[str, int]]:
    """What `_whence_rows` of a row says."""
    found = [(one.source, one.id) for one in row["_whence_rows"]]
    assert len(found) == len(set(found)), "each source row once"
    return set(found)


def expected(row: Row) -> set[tuple[str, int]]:
    """What the row's own columns say of its provenance."""
    own = row.asDict()
    of_a = [own.get("id"), *(own.get("ids") or [])]
    of_b = [own.get("bid"), *(own.get("bids") or [])]
    return {("a", i) for i in of_a if i is not None} | {("b", i) for i in of_b if i is not None}


def collected(column: str, name: str) -> Column:
    return F.sort_array(F.collect_set(column)).alias(name)


def other_k(b: Any) -> Any:
    """The second frame with no column of the first one's names."""
    return b.withColumnRenamed("k", "bk")


def ids() -> Column:
    """The ids of the group's rows, for the query itself to say."""
    return collected("id", "ids")


def plus_one(column: str) -> Column:
    """A user's scalar function in Python."""
    return F.udf(lambda value: None if value is None else value + 1, "int")(column)


def halved(column: str) -> Column:
    """A user's scalar function over pandas Series."""

    def half(values: pd.Series) -> pd.Series:
        return values / 2

    return F.pandas_udf(half, "double")(F.col(column))


Step = Callable[[Any, Any], Any]

ROW_WISE: dict[str, Step] = {
    "where": lambda a, b: a.where("v = 30"),
    "filter": lambda a, b: a.filter(F.col("k").isNotNull() & (F.col("v") > 10)),
    "select": lambda a, b: a.select("id", (F.col("v") * 2).alias("v2"), "k"),
    "select star": lambda a, b: a.select("*", F.lit(1).alias("one")),
    "selectExpr": lambda a, b: a.selectExpr("id", "v + 1 as v1", "upper(k) as k"),
    "withColumn": lambda a, b: a.withColumn("v", F.col("v") + 1),
    "withColumns": lambda a, b: a.withColumns({"n": F.lit(1), "v": F.col("v") + 1}),
    "withColumnRenamed": lambda a, b: a.withColumnRenamed("v", "speed"),
    "drop": lambda a, b: a.drop("k", "xs"),
    "fillna": lambda a, b: a.fillna(0),
    "dropna": lambda a, b: a.dropna(),
    "replace": lambda a, b: a.replace(30, 31),
    "alias": lambda a, b: a.alias("t").select("t.id", "t.k"),
    "repartition": lambda a, b: a.repartition(2, "k"),
    "coalesce": lambda a, b: a.coalesce(1),
    "hint": lambda a, b: a.hint("rebalance"),
    "tumbling window in select": lambda a, b: a.select("id", F.window("ts", "1 minute").alias("w")),
}
"""Steps that give each row at most once."""

MULTIPLYING: dict[str, Step] = {
    "explode": lambda a, b: a.select("id", F.explode("xs").alias("x")),
    "explode_outer": lambda a, b: a.select("id", F.explode_outer("xs").alias("x")),
    "posexplode": lambda a, b: a.select("id", F.posexplode("xs").alias("at", "x")),
    "sliding window in select": lambda a, b: a.select("id", F.window("ts", "1 minute", "30 seconds").alias("w")),
    "union": lambda a, b: a.where("v > 10").unionByName(a.where("k = 'y'")),
}
"""Steps that may give a row several times."""

GROUPING: dict[str, Step] = {
    "tumbling": lambda a, b: a.groupBy(F.window("ts", "1 minute")).agg(F.count("*").alias("n"), ids()),
    "sliding": lambda a, b: a.groupBy(F.window("ts", "1 minute", "20 seconds"), "k").agg(F.sum("v"), ids()),
    "session": lambda a, b: a.groupBy(F.session_window("ts", "30 seconds")).agg(F.max("v"), ids()),
    "having": lambda a, b: a.groupBy(F.window("ts", "1 minute")).agg(F.count("*").alias("n"), ids()).where("n > 1"),
    "two windows in a chain": lambda a, b: (
        a.groupBy(F.window("ts", "30 seconds"))
        .agg(F.collect_set("id").alias("some"))
        .groupBy(F.window(F.window_time("window"), "2 minutes"))
        .agg(F.sort_array(F.flatten(F.collect_list("some"))).alias("ids"))
    ),
    "dropDuplicates": lambda a, b: a.dropDuplicates(["k", "ts"]),
}
"""Steps that keep rows of the past, as Spark takes them on streams in append mode too."""

JOINING: dict[str, Step] = {
    "inner join": lambda a, b: a.join(b, "k"),
    "join on a time range": lambda a, b: a.join(
        other_k(b), F.expr("k = bk and bts between ts - interval 1 minute and ts + interval 1 minute")
    ),
    "left join": lambda a, b: a.join(
        other_k(b), F.expr("k = bk and bts between ts and ts + interval 1 minute"), "left"
    ),
    "full outer join": lambda a, b: a.join(
        other_k(b), F.expr("k = bk and bts between ts and ts + interval 1 minute"), "full_outer"
    ),
}
"""Joins, as Spark takes them between two streams."""

STREAMED: dict[str, Step] = {**ROW_WISE, **MULTIPLYING, **GROUPING, **JOINING}
"""Everything that static frames and streams both take."""

STATIC: dict[str, Step] = {
    **STREAMED,
    "group": lambda a, b: a.groupBy("k").agg(F.sum("v").alias("total"), ids()),
    "whole": lambda a, b: a.agg(F.count("*"), ids()),
    "sort": lambda a, b: a.sort(F.desc("v"), "id"),
    "limit": lambda a, b: a.limit(3),
    "distinct": lambda a, b: a.distinct(),
    "cross join": lambda a, b: a.crossJoin(other_k(b)),
    "left anti join": lambda a, b: a.join(b, "k", "left_anti"),
}
