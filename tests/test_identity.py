"""Ids: a function of coordinates or keys alone, the same in Spark and in Python, apart exactly where rows are."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from steps import GROUPING, MULTIPLYING, STATIC, frames, traced

import whence
from whence import TracedFrame
from whence.errors import RefusedError
from whence.identity.coordinates import base_of_file, base_of_partition, base_of_rate, canonical
from whence.identity.expressions import derived_id

BIGGEST = 2**63


def ids(frame: TracedFrame, *columns: str) -> dict[Any, int]:
    """The id of each row, by the value of some columns, which must tell the rows apart."""
    rows = frame.provenance().select("_whence_id", *columns).collect()
    found = {tuple(row)[1:] if len(columns) > 1 else row[1]: row[0] for row in rows}
    assert len(found) == len(rows)
    assert all(0 <= one < BIGGEST for one in found.values())
    return found


# -- source rows: coordinates ------------------------------------------------------------------------------------------

FOLDERS = [
    "plain",
    "with space",
    "50%",
    "%20",
    "a=b",
    "größe",
    "日本 語",
    "plus+and&",
    "hash#tag",
    "quote'\"",
    "[x]{y}",
]


def test_ids_of_files_are_the_same_in_python(spark: SparkSession, tmp_path: Path) -> None:
    """Whatever a path is made of, a row's id is that of its file in Python plus its row index."""
    for folder in FOLDERS:
        spark.range(3).coalesce(1).write.parquet(str(tmp_path / "in" / folder / "deep"))
    frame = spark.read.option("recursiveFileLookup", "true").parquet(str(tmp_path / "in"))
    rows = (
        whence.source(frame.withColumns({"f": F.col("_metadata.file_path"), "i": F.col("_metadata.row_index")}), "s")
        .provenance()
        .collect()
    )
    assert len(rows) == 3 * len(FOLDERS)
    assert {row["_whence_id"] for row in rows} == {base_of_file(row["f"]) + row["i"] for row in rows}
    assert len({row["_whence_id"] for row in rows}) == len(rows)
    assert all(0 <= row["_whence_id"] < BIGGEST for row in rows)
    assert {row["f"].split("/")[-3] for row in rows} != set(FOLDERS), "Spark writes paths as URIs"


def test_a_file_has_one_spelling() -> None:
    """`file:/a` in rows and `file:///a` in logs and listings are one file; other schemes stay as they are."""
    assert canonical("file:///a/b.parquet") == canonical("file:/a/b.parquet") == "file:/a/b.parquet"
    assert base_of_file("file:///a/b.parquet") == base_of_file("file:/a/b.parquet")
    assert canonical("s3a://bucket/b.parquet") == "s3a://bucket/b.parquet"
    assert base_of_file("s3a://bucket/b.parquet") != base_of_file("s3a://bucket/c.parquet")


def test_ids_of_a_segment_are_consecutive_however_it_is_read(spark: SparkSession, tmp_path: Path) -> None:
    """One file of several row groups, read by several tasks, has ids from its base upwards in the order of rows."""
    folder = str(tmp_path / "in")
    spark.range(0, 4000, 1, 1).write.option("parquet.block.size", "4096").parquet(folder)
    session = spark.newSession()
    session.conf.set("spark.sql.files.maxPartitionBytes", "2000")
    frame = session.read.parquet(folder)
    assert frame.rdd.getNumPartitions() > 2
    found = ids(whence.source(frame, "s"), "id")
    (path,) = frame.inputFiles()
    assert found == {i: base_of_file(path) + i for i in range(4000)}


def test_ids_of_kafka_rows_are_the_same_in_python(spark: SparkSession) -> None:
    """Topic, partition and offset make the id, and offsets of one partition are consecutive."""
    places = [(t, p, o) for t in ("cars", "größe", "") for p in (0, 1, 2**31 - 1) for o in (0, 1, 2, 2**40)]
    frame = spark.createDataFrame(places, "topic string, partition int, offset bigint")
    found = ids(whence.source(frame, "s", ids="kafka"), "topic", "partition", "offset")
    assert found == {(t, p, o): base_of_partition(t, p) + o for t, p, o in places}
    assert len(set(found.values())) == len(places)


def test_ids_of_rate_rows_are_the_same_in_python(spark: SparkSession) -> None:
    """The value of a rate source counts its rows."""
    frame = spark.range(5).withColumnRenamed("id", "value")
    assert ids(whence.source(frame, "s", ids="rate"), "value") == {i: base_of_rate() + i for i in range(5)}


def test_salt_gives_other_ids_and_the_same_in_python(spark: SparkSession, tmp_path: Path) -> None:
    """The remedy for two segments that overlap: another salt moves every segment, predictably."""
    spark.range(2).coalesce(1).write.parquet(str(tmp_path / "in"))
    frame = spark.read.parquet(str(tmp_path / "in"))
    (path,) = frame.inputFiles()
    plain, salted = (ids(whence.source(frame, "s", salt=salt), "id") for salt in ("", "2"))
    assert salted == {i: base_of_file(path, "2") + i for i in range(2)}
    assert plain != salted
    topic = spark.createDataFrame([("t", 1, 7)], "topic string, partition int, offset bigint")
    kafka = ids(whence.source(topic, "s", ids="kafka", salt="größe"), "offset")
    assert kafka == {7: base_of_partition("t", 1, "größe") + 7}


# -- source rows: keys -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["tinyint", "smallint", "int", "bigint"])
def test_one_integral_key_is_the_id_itself(spark: SparkSession, kind: str) -> None:
    """From 0 up; a negative or missing key is hashed, and never meets another's id."""
    greatest = {"tinyint": 2**7, "smallint": 2**15, "int": 2**31, "bigint": 2**63}[kind] - 1
    values = [0, 1, greatest, -1, -2, -greatest - 1, None]
    found = ids(whence.source(spark.createDataFrame([(v,) for v in values], f"k {kind}"), "s", key="k"), "k")
    assert {v: found[v] for v in (0, 1, greatest)} == {0: 0, 1: 1, greatest: greatest}
    assert len(set(found.values())) == len(values)
    assert min(found[v] for v in (-1, -2, -greatest - 1, None)) > 2**40


def test_other_keys_are_hashed(spark: SparkSession) -> None:
    """Several columns, or one that is no integer, give a hash of all of them, in order, nulls included."""
    rows = [(1, "a"), (1, None), (None, "a"), (None, None), (1, ""), (2, "a")]
    frame = spark.createDataFrame(rows, "n int, s string")
    both = ids(whence.source(frame, "s", key=["n", "s"]), "n", "s")
    assert len(set(both.values())) == len(rows)
    swapped = ids(whence.source(frame, "s", key=["s", "n"]), "n", "s")
    assert all(both[row] != swapped[row] for row in rows if row != (None, None))
    assert ids(whence.source(frame.where("n = 2"), "s", key="s"), "s")["a"] > 2**40


# -- derived rows: keys of every type ----------------------------------------------------------------------------------

NAN = float("nan")
INF = float("inf")
KEYS: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "null flags": ("a int, b int", [(None, 1), (1, None), (None, None), (1, 1), (1, 1)]),
    "three columns": ("a int, b int, c int", [(1, None, None), (None, 1, None), (None, None, 1)]),
    "strings": (
        "a string, b string",
        [("a", "bc"), ("ab", "c"), ("", "abc"), ("abc", ""), (None, "abc"), ("abc", None)],
    ),
    "structs": (
        "s struct<a:int,b:int>",
        [((None, 1),), ((1, None),), ((None, None),), (None,), ((1, 1),), ((1, 1),)],
    ),
    "structs in structs": (
        "s struct<a:struct<b:int>,c:struct<d:int>>",
        [((None, None),), (((None,), None),), ((None, (None,)),), (((1,), None),), ((None, (1,)),), (None,)],
    ),
    "arrays": (
        "a array<int>",
        [(v,) for v in (None, [], [None], [None, None], [1], [1, None], [None, 1], [1, 1], [1, 1], [0])],
    ),
    "arrays side by side": ("a array<int>, b array<int>", [([1], [2]), ([1, 2], []), ([], [1, 2]), (None, [1, 2])]),
    "arrays of arrays": (
        "a array<array<string>>",
        [(v,) for v in ([["a"], ["b"]], [["a", "b"]], [["a", "b"], []], [[], ["a", "b"]], [None, ["a", "b"]], [])],
    ),
    "arrays of structs": (
        "a array<struct<x:int,y:string>>",
        [(v,) for v in ([(1, None)], [(None, "1")], [None], [], [(1, "a"), (2, None)], [(1, "a"), None])],
    ),
    "doubles": ("d double", [(v,) for v in (0.0, -0.0, NAN, -NAN, INF, -INF, 1.5, 1.5, 5e-324, None)]),
    "floats": ("d float", [(v,) for v in (0.0, -0.0, NAN, -NAN, INF, -INF, 1.5, None)]),
    "doubles in a struct": ("s struct<d:double>", [((v,),) for v in (0.0, -0.0, NAN, -NAN, None)]),
    "doubles in an array": ("a array<double>", [([v],) for v in (0.0, -0.0, NAN, -NAN, None)]),
    "maps": (
        "m map<string,int>",
        [(v,) for v in ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1}, {"a": None}, {}, None, {"a": 2, "b": 1})],
    ),
    # Spark's grouping takes a null value in a map of doubles for 0.0, so there is none here.
    "maps of doubles": ("m map<string,double>", [({"a": v},) for v in (0.0, -0.0, NAN, -NAN, 1.0)]),
    "maps in a struct": (
        "s struct<m:map<int,int>,n:int>",
        [(({1: 1, 2: 2}, 0),), (({2: 2, 1: 1}, 0),), ((None, 0),), (({}, 0),), (None,)],
    ),
    "maps in an array": ("a array<map<int,int>>", [([{1: 1, 2: 2}],), ([{2: 2, 1: 1}],), ([{}],), ([None],), ([],)]),
    "maps of maps": (
        "m map<int,map<int,int>>",
        [({1: {1: 1, 2: 2}, 2: {}},), ({2: {}, 1: {2: 2, 1: 1}},), ({1: None},), ({1: {}},)],
    ),
    "collated strings": (
        "s string collate UTF8_LCASE",
        [(v,) for v in ("a", "A", "Ä", "ä", "Σ", "ς", "\u03c3", "İ", "i\u0307", "I", "i", "ß", "ẞ", "ss", "", None)],
    ),
    "collated in a struct": ("s struct<x:string collate UTF8_LCASE>", [(("a",),), (("A",),), (("b",),), ((None,),)]),
    "collated in an array": ("s array<string collate UTF8_LCASE>", [(["a"],), (["A"],), (["b"],), ([None],)]),
    "trimmed strings": ("s string collate UTF8_BINARY_RTRIM", [("a",), ("a  ",), (" a",), ("A",), ("",), ("  ",)]),
    "trimmed collated strings": ("s string collate UTF8_LCASE_RTRIM", [("a",), ("A  ",), (" a",), ("",), ("  ",)]),
    "decimals": (
        "d decimal(38,10)",
        [
            (None if v is None else Decimal(v),)
            for v in ("0", "-0", "1", "1.0", "1.0000000001", "12345678901234567890", None)
        ],
    ),
    "small decimals": ("d decimal(5,2)", [(Decimal(v),) for v in ("0.10", "0.1", "1", "-1")]),
    "binaries": ("b binary", [(v,) for v in (b"", b"\0", b"\0\0", b"a", b"\xff", None)]),
    "dates": (
        "d date",
        [(v,) for v in (date(1, 1, 1), date(1969, 12, 31), date(1970, 1, 1), date(9999, 12, 31), None)],
    ),
    "timestamps": (
        "t timestamp, n timestamp_ntz",
        [
            (datetime(1970, 1, 1), None),
            (None, datetime(1970, 1, 1)),
            (datetime(1970, 1, 1), datetime(1970, 1, 1)),
            (datetime(9999, 12, 31), datetime(1, 1, 1)),
        ],
    ),
    "small numbers": (
        "a tinyint, b smallint, c boolean",
        [(0, None, False), (None, 0, False), (0, 0, None), (0, 0, True), (0, 0, False), (-1, -1, True)],
    ),
}
"""Keys that are hard to tell apart, or to hold equal, by type."""


def own_id(frame: DataFrame) -> Column:
    return derived_id("step", [(F.col(f.name), f.dataType) for f in frame.schema.fields])


@pytest.mark.parametrize("name", KEYS)
def test_two_keys_have_one_id_where_spark_groups_them(spark: SparkSession, name: str) -> None:
    """What Spark's own grouping holds equal has one id, what it holds apart has two."""
    schema, rows = KEYS[name]
    frame = spark.createDataFrame(rows, schema)
    groups = frame.withColumn("id", own_id(frame)).groupBy(*frame.columns).agg(F.collect_set("id").alias("ids"))
    found = [row["ids"] for row in groups.collect()]
    assert [one for one in found if len(one) != 1] == [], "one id a group"
    assert len({one for (one,) in found}) == len(found), "one group an id"
    assert all(0 <= one < BIGGEST for (one,) in found)
    assert 1 < len(found) <= len(rows)


@pytest.mark.parametrize("name", ["null flags", "doubles", "maps", "collated strings", "structs"])
def test_groups_have_the_ids_of_their_keys(spark: SparkSession, name: str) -> None:
    """The same through a traced frame: as many ids as Spark has groups, and again the same ids in another order."""
    schema, rows = KEYS[name]
    made = []
    for order in (rows, rows[::-1]):
        frame = spark.createDataFrame([(i, *row) for i, row in enumerate(order)], f"i int, {schema}")
        keys = frame.columns[1:]
        grouped = whence.source(frame, "s", key="i").groupBy(*keys).agg(F.count("*").alias("n"))
        made.append(sorted(row["_whence_id"] for row in grouped.provenance().collect()))
        assert len(set(made[-1])) == len(made[-1]) == frame.groupBy(*keys).count().count()
    assert made[0] == made[1]


def test_a_key_that_has_no_id_is_refused(spark: SparkSession) -> None:
    """Where Spark does not tell which keys it holds equal, the frame is refused before anything runs."""
    frame = whence.source(spark.range(2), "s", key="id")
    collated = frame.groupBy(F.collate(F.col("id").cast("string"), "UNICODE_CI").alias("k")).count()
    with pytest.raises(RefusedError, match="collation UNICODE_CI has no id") as error:
        collated.provenance()
    assert "UTF8_LCASE" in error.value.hint
    for kind in (T.VariantType(), T.CalendarIntervalType()):
        with pytest.raises(RefusedError, match="has no id"):
            derived_id("step", [(F.col("v"), kind)])


def test_the_step_enters_the_id(spark: SparkSession) -> None:
    """The same keys in two steps are two results."""
    kind = T.LongType()
    one, two = (derived_id(step, [(F.col("id"), kind)]) for step in ("aggregate 1", "aggregate 2"))
    assert spark.range(10).where(one == two).count() == 0


# -- derived rows: steps -----------------------------------------------------------------------------------------------


# Which of two duplicates stays is Spark's choice at each run.
PREDICTABLE = [
    n for n in (*MULTIPLYING, *GROUPING, "inner join", "full outer join", "distinct") if n != "dropDuplicates"
]


@pytest.mark.parametrize("name", PREDICTABLE)
def test_ids_do_not_depend_on_partitions_or_names(spark: SparkSession, name: str) -> None:
    """However rows are spread, and whatever a step is called, the same results have the same ids."""
    a, b = traced(*frames(spark))

    def made(left: TracedFrame, right: TracedFrame, called: str = "") -> list[tuple[Any, ...]]:
        result = STATIC[name](left, right)
        rows = (result.named(called) if called else result).provenance().collect()
        return sorted((row["_whence_id"], str(row)) for row in rows)

    first = made(a, b)
    assert first
    assert len({one for one, _ in first}) == len(first), "no two results share an id"
    assert made(a.named("here").repartition(4).named("there"), b.repartition(3, "w"), "result") == first


def test_one_to_one_steps_keep_the_id(spark: SparkSession) -> None:
    """A row that was only filtered and computed on is still that source row."""
    a, _ = traced(*frames(spark))
    frame = a.where("v = 30").select("id", F.lit(1).alias("one")).withColumn("n", F.col("one") + 1).sort("id")
    assert ids(frame, "id") == {3: 3, 4: 4, 5: 5}


def test_equal_elements_of_an_array_are_two_rows(spark: SparkSession) -> None:
    """An explode tells its rows apart by position, not by value; a row without elements keeps one of its own."""
    a, _ = traced(*frames(spark))
    exploded = a.select("id", F.explode_outer("xs").alias("x"))
    rows = [(row["id"], row["x"], row["_whence_id"]) for row in exploded.provenance().collect()]
    assert sorted((i, str(x)) for i, x, _ in rows) == sorted(
        [(1, "1"), (1, "1"), (1, "2"), (2, "None"), (3, "None"), (4, "3"), (4, "None"), (5, "3")]
    )
    assert len({one for *_, one in rows}) == len(rows)
    by_position = ids(a.select("id", F.posexplode("xs").alias("at", "x")), "id", "at")
    assert len(set(by_position.values())) == 6
    keys = ids(a.select("id", F.explode(F.create_map(F.lit("p"), "v", F.lit("q"), "v"))), "id", "key")
    assert len(set(keys.values())) == 10


def test_a_row_that_comes_down_two_branches_is_two_rows(spark: SparkSession) -> None:
    """The branch enters the id; so do the branches of a union of unions."""
    a, _ = traced(*frames(spark))
    twice = a.select("id").union(a.select("id"))
    found = [row["_whence_id"] for row in twice.union(twice).provenance().collect()]
    assert len(set(found)) == len(found) == 20


def test_a_null_extended_row_is_no_other_row(spark: SparkSession) -> None:
    """(left, nothing) and (nothing, right) differ from each other and from every pair, even where ids are equal."""
    left = whence.source(spark.createDataFrame([(1, "x"), (2, "y")], "id bigint, k string"), "l", key="id")
    right = whence.source(spark.createDataFrame([(1, "z"), (2, "y")], "rid bigint, k string"), "r", key="rid")
    found = ids(left.join(right, "k", "full"), "id", "rid")
    assert set(found) == {(1, None), (None, 1), (2, 2)}
    assert len(set(found.values())) == 3


def test_rows_of_a_plain_side_are_told_apart_by_value(spark: SparkSession) -> None:
    """A plain frame has no coordinates: its rows enter a joined row's id by what they hold, nulls included."""
    a, _ = traced(*frames(spark))
    side = spark.createDataFrame([("x", 1, None), ("x", None, 1), ("x", 1, 1)], "k string, p int, q int")
    found = ids(a.select("id", "k").join(side, "k"), "id", "p", "q")
    assert len(found) == 6
    assert len(set(found.values())) == 6
    again = ids(a.select("id", "k").join(side.repartition(3), "k"), "id", "p", "q")
    assert again == found
