"""The network: what its text says, and which steps are numbered."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from steps import frames, traced

import whence
from whence import TracedFrame
from whence.errors import RefusedError, SourceError
from whence.network import check, numbered, signature, text, untraced

GOLDEN = """\
select(id, bid, n)
  "pairs" join 1: inner join on k
    select(id, k, n)
      "per car" withColumns(n = 1)
        where(v > 1)
          source a (ids by key id)
    union 1: union
      drop(w)
        source b (ids by key bid)
      drop(w)
        source b (ids by key bid)"""


def test_the_text_is_a_tree_with_the_sink_on_top(spark: SparkSession) -> None:
    """What the user wrote, step by step, names in quotes, numbers where a step has one: the golden form."""
    a, b = traced(*frames(spark))
    left = a.where("v > 1").withColumn("n", F.lit(1)).named("per car").select("id", "k", "n")
    result = left.join(b.drop("w").union(b.drop("w")), "k").named("pairs").select("id", "bid", "n")
    assert text(result._node) == GOLDEN
    assert repr(result).endswith(GOLDEN)


def test_every_kind_of_step_has_a_text(spark: SparkSession) -> None:
    """One line each, in the user's words."""
    a, b = traced(*frames(spark))
    lines = {
        a.select("id", F.explode("xs").alias("x")): "project 1: select(id, explode(xs) AS x)",
        a.groupBy("k").agg(F.count("*").alias("n")): "aggregate 1: groupBy(k).agg(count(*) AS n)",
        a.dropDuplicates(["k", "v"]): "dedup 1: dropDuplicates(k, v)",
        a.distinct(): "dedup 1: distinct()",
        a.unionByName(a): "union 1: unionByName",
        a.join(b, "k", "left_anti"): "join 1: left_anti join on k",
        a.crossJoin(b): "join 1: cross join on nothing",
        a.sort("id"): "sort(id)",
        a.withWatermark("ts", "1 minute"): "withWatermark(ts, 1 minute)",
    }
    for frame, line in lines.items():
        assert text(frame._node).splitlines()[0] == line
    plain = frames(spark)[1]
    assert text(a.join(plain, "k")._node).splitlines()[-1] == "  untraced (bid, k, w, bts)"
    assert [node.columns for node in untraced(a.join(plain, "k")._node)] == [("bid", "k", "w", "bts")]


def test_steps_that_keep_state_or_make_ids_are_numbered_by_kind(spark: SparkSession) -> None:
    """By kind along the path, inputs first, whatever else lies between and whatever the steps are called."""
    a, _ = traced(*frames(spark))

    def made(*names: str) -> TracedFrame:
        one = a.groupBy("k", "v").count().named(names[0]).where("count > 0")
        two = one.groupBy("k").count().named(names[1]).select("k", F.explode(F.array("count", "count")).alias("n"))
        return two.union(two).dropDuplicates(["k"]).named(names[2])

    first = made("x", "y", "z")
    assert sorted(numbered(first._node).values()) == ["aggregate 1", "aggregate 2", "dedup 1", "project 1", "union 1"]
    assert signature(made("p", "q", "r")._node) == signature(first._node)
    assert [step["step"] for step in signature(first._node)][:2] == ["aggregate 1", "aggregate 2"]
    assert signature(first._node)[0]["text"] == "groupBy(k, v).agg(count(1) AS count)"


def test_two_sources_of_one_name_are_refused(spark: SparkSession) -> None:
    """A name stands for one set of rows; one frame used twice is fine; and a network needs a source."""
    a, b = frames(spark)
    one, other = whence.source(a, "same", key="id"), whence.source(b, "same", key="bid")
    with pytest.raises(SourceError, match='two sources are called "same"'):
        one.join(other, "k").provenance()
    check(one.union(one)._node)
    with pytest.raises(RefusedError, match="no traced source"):
        check(one.join(b, "k")._node.inputs[1])
