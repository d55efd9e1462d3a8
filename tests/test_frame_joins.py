"""Joins: in every form that DataFrame.join takes, the plain rows, and of each row both sides that made it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from steps import collected, expected, frames, other_k, provenance, traced
from test_frame import compared

Call = Callable[[Any, Any], Any]

FORMS: dict[str, Call] = {
    "a name": lambda a, b: a.join(b, "k"),
    "a list of one name": lambda a, b: a.join(b, on=["k"], how="inner"),
    "two names": lambda a, b: a.join(b.withColumnRenamed("w", "v"), ["k", "v"], "left"),
    "a Column": lambda a, b: a.join(other_k(b), F.col("k") == F.col("bk")),
    "a list of Columns": lambda a, b: a.join(other_k(b), [F.col("k") == F.col("bk"), F.col("v") > F.col("w")]),
    "null-safe": lambda a, b: a.join(other_k(b), F.col("k").eqNullSafe(F.col("bk")), "full"),
    "by alias": lambda a, b: (
        a.alias("l").join(b.alias("r"), F.col("l.k") == F.col("r.k"), "left").select("l.id", "r.bid", "l.k", "r.w")
    ),
    "SQL text": lambda a, b: a.join(other_k(b), F.expr("k = bk and v > w * 5")),
    "no condition": lambda a, b: a.join(other_k(b)),
    "of itself, by alias": lambda a, b: (
        a.alias("l")
        .join(a.alias("r"), F.expr("l.k = r.k and l.id < r.id"))
        .select(F.col("l.id").alias("left"), F.col("r.id").alias("right"))
        .withColumn("ids", F.array("left", "right"))
    ),
    "of itself, by name": lambda a, b: a.select("id", "k").join(a.groupBy("k").agg(collected("id", "ids")), "k"),
    "crossJoin": lambda a, b: a.crossJoin(other_k(b)),
    "three sides": lambda a, b: (
        a.join(b, "k").join(b.select("k", F.col("bid").alias("other")), "k").withColumn("bids", F.array("bid", "other"))
    ),
    "after groups": lambda a, b: (
        a.groupBy("k").agg(collected("id", "ids")).join(b.groupBy("k").agg(collected("bid", "bids")), "k", "full")
    ),
    "a broadcast": lambda a, b: a.join(F.broadcast(b) if hasattr(b, "rdd") else b.hint("broadcast"), "k"),
}
HOW = ["inner", "cross", "left", "leftouter", "left_outer", "right", "rightouter", "right_outer", "outer", "full",
       "fullouter", "full_outer", "LEFT"]  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_a_form_of_join(spark: SparkSession, name: str) -> None:
    """Names, lists, Columns, aliases, SQL: the plain rows, and each row's two sides."""
    rows = compared(FORMS[name], spark)
    assert rows
    assert [provenance(row) for row in rows] == [expected(row) for row in rows]


@pytest.mark.parametrize("how", HOW)
def test_a_word_for_a_join(spark: SparkSession, how: str) -> None:
    """Every word that Spark has: of a null-extended row, the side that is there."""
    for on in ("k", None) if how in ("inner", "left", "right", "full") else ("k",):
        condition = on or (F.col("k") == F.col("bk"))
        rows = compared(lambda a, b: a.join(b if on else other_k(b), condition, how), spark)  # noqa: B023
        assert [provenance(row) for row in rows] == [expected(row) for row in rows]
        assert rows


@pytest.mark.parametrize("how", ["semi", "leftsemi", "left_semi"])
def test_a_left_semi_join_has_the_rows_that_match(spark: SparkSession, how: str) -> None:
    """The left row and every right row of its key; one left row stays one row."""
    rows = compared(lambda a, b: a.join(b, "k", how), spark)
    assert {row["id"]: provenance(row) for row in rows} == {i: {("a", i), ("b", 101), ("b", 102)} for i in (1, 2)}
    on_two = compared(lambda a, b: a.join(b.withColumn("v", F.lit(10)), ["k", "v"], how), spark)
    assert [provenance(row) for row in on_two] == [{("a", 1), ("b", 101), ("b", 102)}]


@pytest.mark.parametrize("how", ["anti", "leftanti", "left_anti"])
def test_a_left_anti_join_has_the_left_row(spark: SparkSession, how: str) -> None:
    """Whatever the condition: no right row contributed."""
    for call in (
        lambda a, b: a.join(b, ["k"], how),
        lambda a, b: a.join(other_k(b), F.col("k") == F.col("bk"), how),
    ):
        rows = compared(call, spark)
        assert {row["id"]: provenance(row) for row in rows} == {i: {("a", i)} for i in (3, 4, 5)}


@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "left_semi", "left_anti", "cross"])
def test_a_plain_side_contributes_nothing(spark: SparkSession, how: str) -> None:
    """A plain DataFrame may be joined: rows come as from Spark, and only the traced side is in their sets."""
    a, b = frames(spark)
    on = None if how == "cross" else "k"
    b = other_k(b) if how == "cross" else b
    plain, result = a.join(b, on, how), traced(a, b)[0].join(b, on, how)
    assert result.schema == plain.schema
    rows = result.provenance().collect()
    assert sorted(str(row[:-2]) for row in rows) == sorted(str(tuple(row)) for row in plain.collect())
    assert [provenance(row) for row in rows] == [{("a", row["id"])} if row["id"] is not None else set() for row in rows]


def test_a_semi_join_on_a_condition_takes_a_plain_right_side(spark: SparkSession) -> None:
    """Where the right side is not traced there is nothing to gather, so any condition will do."""
    a, b = frames(spark)
    condition = F.expr("k = bk and w = 1")
    rows = traced(a, b)[0].join(other_k(b), condition, "left_semi").provenance().collect()
    assert {row["id"]: provenance(row) for row in rows} == {1: {("a", 1)}, 2: {("a", 2)}}


def test_columns_that_share_a_name_are_told_apart_by_frame(spark: SparkSession) -> None:
    """`a.k` and `b.k` are two columns after a join on a condition, as in PySpark."""

    def call(a: Any, b: Any) -> Any:
        joined = a.join(b, a.k == b.k, "full")
        return joined.where(b.w.isNull() | (b.w < 3)).select(a.id, b.bid, a.k.alias("left"), b["k"].alias("right"))

    rows = compared(call, spark)
    assert rows
    assert [provenance(row) for row in rows] == [expected(row) for row in rows]
