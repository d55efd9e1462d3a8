"""`keep="rows"`: source rows in the store itself, for sources that cannot be read again."""

from __future__ import annotations

from pathlib import Path

import pytest
import reports
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import whence
from whence.errors import BadInputError
from whence.names import ID, KEPT

PEOPLE = [(1, "ann", 30, "secret"), (2, "bob", 40, "secret"), (3, None, 50, "secret"), (4, "dan", None, "secret")]


def _people(spark: SparkSession, **options: object) -> whence.TracedFrame:
    frame = spark.createDataFrame(PEOPLE, "id bigint, name string, age int, note string")
    return whence.source(frame, "people", key="id", keep="rows", **options)


def _rows(store: Path, **question: object) -> list[tuple]:
    with whence.open(store) as lineage:
        table = lineage.trace("results", **question).rows("people")
    return [tuple(row.values()) for row in table.to_pylist()]


def test_rows_that_contributed_are_kept_and_only_those(spark: SparkSession, tmp_path: Path) -> None:
    """A row that a filter dropped is nowhere in the store; the others come back with all their columns, nulls too."""
    reports.keep(_people(spark).where("id > 1").select("name"), tmp_path)
    assert _rows(tmp_path) == [(row[0], *row) for row in PEOPLE[1:]]
    with whence.open(tmp_path) as lineage:
        assert lineage.to_spark(spark, KEPT).count() == 3
        assert lineage.impact("people", where="name = 'bob'").ids == (2,)


def test_columns_says_what_is_kept(spark: SparkSession, tmp_path: Path) -> None:
    """Of a row only the chosen columns are stored; a condition on another one is an error that lists them."""
    reports.keep(_people(spark, columns=["id", "age"]).where("id > 1").select("name"), tmp_path)
    with whence.open(tmp_path) as lineage:
        assert lineage.trace("results").rows("people").column_names == [ID, "id", "age"]
        assert lineage.impact("people", where="age = 50").ids == (3,)
        with pytest.raises(BadInputError, match='"note"') as caught:
            lineage.impact("people", where="note = 'secret'")
    assert "id, age" in caught.value.detail
    stored = [path for path in tmp_path.rglob("*.parquet") if b"secret" in path.read_bytes()]
    assert stored == []


def test_groups_keep_the_rows_of_each_group(spark: SparkSession, tmp_path: Path) -> None:
    """An aggregate keeps every row of the group, once each, though two results rest on it."""
    both = _people(spark).select("id", F.explode(F.array(F.lit("x"), F.lit("y"))).alias("half"))
    reports.keep(both.groupBy("half").agg(F.count("*").alias("n")), tmp_path)
    assert sorted(_rows(tmp_path)) == sorted((row[0], *row) for row in PEOPLE)
    assert sorted(_rows(tmp_path, where="half = 'x'")) == sorted((row[0], *row) for row in PEOPLE)


def test_two_rows_under_one_key_are_ambiguous_never_merged(spark: SparkSession, tmp_path: Path) -> None:
    """A key that does not identify: both rows are shown and the id is named; equal rows are no two different ones."""
    frame = spark.createDataFrame([(1, "a"), (1, "b"), (2, "c"), (2, "c")], "id bigint, name string")
    reports.keep(whence.source(frame, "people", key="id", keep="rows").select("name"), tmp_path)
    with whence.open(tmp_path) as lineage:
        trace = lineage.trace("results")
        assert trace.rows("people").column("name").to_pylist() == ["a", "b", "c"]
        assert "source people: 1" in trace.ambiguous
        assert "source people: 2" not in trace.ambiguous


def test_ids_alone_of_a_keyed_source_are_missing_and_say_why(spark: SparkSession, tmp_path: Path) -> None:
    """With keep="ids" a keyed source cannot be read back: each row is missing, with the remedy; ids are there."""
    frame = spark.createDataFrame(PEOPLE, "id bigint, name string, age int, note string")
    reports.keep(whence.source(frame, "people", key="id").where("id = 2"), tmp_path)
    with whence.open(tmp_path) as lineage:
        trace = lineage.trace("results")
        assert [(m.source, m.id) for m in trace.missing] == [("people", 2)]
        assert 'keep="rows"' in trace.missing[0].why
        with pytest.raises(BadInputError, match="cannot be searched"):
            lineage.impact("people", where="age = 40")
        assert lineage.impact("people", id=2).outputs.num_rows == 1


@pytest.mark.parametrize(
    ("keep_for", "stay"), [(5, [2, 3]), (1, [3]), ("1 microsecond", [3]), ("7 days", [0, 1, 2, 3])]
)
def test_keep_for_frees_whole_batches(
    spark: SparkSession, tmp_path: Path, keep_for: str | int, stay: list[int]
) -> None:
    """By count the last batches that hold so many rows stay, by time those as young; freed rows are missing."""
    reports.write(tmp_path / "in", 0, 1, 2, 3)
    read = spark.readStream.schema(reports.SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
    source = whence.source(read, "reports", key=["ts", "car_id"], keep="rows", keep_for=keep_for)
    reports.run(source.where("speed >= 0"), tmp_path)
    with whence.open(tmp_path / "lineage") as lineage:
        trace = lineage.trace("results")
        speeds = trace.rows("reports").column("speed").to_pylist() if stay else []
        assert sorted({speed // 10 for speed in speeds}) == stay
        assert len(speeds) == len(stay) * reports.ROWS
        assert len(trace.missing) == (4 - len(stay)) * reports.ROWS
        assert all("keep_for" in m.why for m in trace.missing)
        assert trace.outputs.num_rows == trace.edges.num_rows == 4 * reports.ROWS


def test_kept_rows_outlive_their_files(spark: SparkSession, tmp_path: Path) -> None:
    """A Parquet source with keep="rows" is answered from the store when its files are gone."""
    (path,) = reports.write(tmp_path / "in", 0)
    source = whence.source(reports.static(spark, tmp_path / "in"), "reports", keep="rows")
    reports.keep(source.where("speed > 1").select("car_id"), tmp_path / "lineage")
    path.unlink()
    with whence.open(tmp_path / "lineage") as lineage:
        trace = lineage.trace("results")
        assert sorted(trace.rows("reports").column("speed").to_pylist()) == [2, 3]
        assert trace.missing == []
