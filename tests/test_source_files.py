"""Source files that move, change, vanish or have odd names: what an answer still knows of their rows."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
import reports
from pyspark.sql import SparkSession

import whence
from whence import Lineage
from whence.deliver.segments import Ranges
from whence.errors import SourceError
from whence.names import ID


def _traced(spark: SparkSession, folder: Path) -> whence.TracedFrame:
    return whence.source(reports.static(spark, folder), "reports").where("speed >= 0")


def _speeds(lineage: Lineage) -> list[int]:
    return sorted(lineage.trace("results").rows("reports").column("speed").to_pylist())


@pytest.fixture
def store(spark: SparkSession, tmp_path: Path) -> Path:
    """The lineage of two files, in/reports-0.parquet and in/reports-1.parquet."""
    reports.write(tmp_path / "in", 0, 1)
    reports.keep(_traced(spark, tmp_path / "in"), tmp_path / "lineage")
    return tmp_path / "lineage"


ALL = [0, 1, 2, 3, 10, 11, 12, 13]


def test_a_file_that_is_gone_is_missing_with_its_coordinates(store: Path) -> None:
    """Rows of a deleted file are named by segment and position; the others are still read."""
    (store.parent / "in" / "reports-0.parquet").unlink()
    with whence.open(store) as lineage:
        trace = lineage.trace("results")
        assert sorted(trace.rows("reports").column("speed").to_pylist()) == ALL[4:]
        assert [m.position for m in trace.missing] == [0, 1, 2, 3]
        for missing in trace.missing:
            assert missing.why.startswith("missing")
            assert missing.source == "reports"
            assert missing.segment.endswith("/in/reports-0.parquet")
        assert {m.id for m in trace.missing} <= set(trace.edges.column("source_id").to_pylist())


@pytest.mark.parametrize("change", ["other bytes", "same size, another time"])
def test_a_file_that_changed_is_never_read_as_if_it_had_not(store: Path, change: str) -> None:
    """Another size or another time of change: its rows are reported as changed, `impact` does not search it."""
    path = store.parent / "in" / "reports-0.parquet"
    if change == "other bytes":
        reports.write(path.parent, 0, rows=9)
    os.utime(path, (1_800_000_000, 1_800_000_000))
    with whence.open(store) as lineage:
        trace = lineage.trace("results")
        assert sorted(trace.rows("reports").column("speed").to_pylist()) == ALL[4:]
        assert [m.position for m in trace.missing] == [0, 1, 2, 3]
        assert all(m.why.startswith("changed") for m in trace.missing)
        assert lineage.impact("reports", where="speed = 0").outputs.num_rows == 0


def test_relocate_says_where_files_went(store: Path) -> None:
    """After a move rows are missing, with `relocate` they are found, and their ids are those of the old path."""
    old, new = store.parent / "in", store.parent / "archive"
    shutil.move(old, new)
    with whence.open(store) as lineage:
        ids = set(lineage.trace("results").edges.column("source_id").to_pylist())
        assert _speeds(lineage) == []
    with whence.open(store, relocate={str(old): str(new)}) as lineage:
        trace = lineage.trace("results")
        assert _speeds(lineage) == ALL
        assert trace.missing == []
        assert set(trace.rows("reports").column(ID).to_pylist()) == ids
        assert lineage.impact("reports", where="speed = 11").outputs.num_rows == 1


def test_relocate_takes_a_copy_with_other_times_but_not_another_size(store: Path) -> None:
    """A moved file may have another time of change; one with another size is changed all the same."""
    old, new = store.parent / "in", store.parent / "archive"
    shutil.copytree(old, new, copy_function=shutil.copyfile)
    shutil.rmtree(old)
    with whence.open(store, relocate={f"file://{old}/": f"file://{new}"}) as lineage:
        assert _speeds(lineage) == ALL
    reports.write(new, 1, rows=9)
    with whence.open(store, relocate={str(old): str(new)}) as lineage:
        trace = lineage.trace("results")
        assert _speeds(lineage) == ALL[:4]
        assert [m.why.partition(":")[0] for m in trace.missing] == ["changed"] * 4


def test_relocate_moves_whole_folders_only(spark: SparkSession, tmp_path: Path) -> None:
    """A prefix is a folder: `in` moves nothing that lies in `in2`."""
    reports.write(tmp_path / "in2", 0)
    reports.keep(_traced(spark, tmp_path / "in2"), tmp_path / "lineage")
    with whence.open(tmp_path / "lineage", relocate={str(tmp_path / "in"): str(tmp_path / "else")}) as lineage:
        assert _speeds(lineage) == ALL[:4]
        assert lineage.impact("reports", where="speed = 1").outputs.num_rows == 1


ODD = ["with space", "100%", "a%20b", "day=2026-01-05", "übergröße ☂", 'it\'s "quoted"', "plus+and&#"]


@pytest.mark.parametrize("name", ODD)
def test_any_folder_name_will_do(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """Spaces, percent signs, equals signs, quotes and other letters in the paths of source, store and sink."""
    base = tmp_path / name
    store = tmp_path / "lineage" if "%20" in name else base / "lineage"
    reports.write(base / "in", 0, 1)
    reports.run(reports.stream(spark, base / "in").select("ts", "speed"), base, store=store)
    with whence.open(store) as lineage:
        trace = lineage.trace("results", where="speed = 11")
        (edge,) = trace.edges.to_pylist()
        assert trace.missing == []
        assert _speeds(lineage) == ALL
        impact = lineage.impact("reports", id=edge["source_id"])
        assert impact.outputs.column("speed").to_pylist() == [11]
        assert lineage.impact("reports", where="speed = 11").ids == (edge["source_id"],)
        assert lineage.to_spark(spark, "edges").count() == 8
    assert sorted(row.speed for row in spark.read.schema("speed int").parquet(str(base / "out")).collect()) == ALL


def test_partition_folders_are_columns(spark: SparkSession, tmp_path: Path) -> None:
    """Columns that only the folders of a file spell are columns of its rows, whatever stands in them."""
    frame = spark.createDataFrame([(1, "a b"), (2, "50%"), (3, None)], "n int, place string")
    frame.write.partitionBy("place").parquet(str(tmp_path / "in"))
    read = whence.source(spark.read.parquet(str(tmp_path / "in")), "places")
    reports.keep(read.where("n > 0"), tmp_path / "lineage")
    with whence.open(tmp_path / "lineage") as lineage:
        rows = lineage.trace("results").rows("places").to_pylist()
    assert {(row["n"], row["place"]) for row in rows} == {(1, "a b"), (2, "50%"), (3, None)}


def test_rows_are_searched_by_any_column(spark: SparkSession, tmp_path: Path) -> None:
    """Columns may be called what they like, and those that only folders spell can be asked for too."""
    frame = spark.createDataFrame(
        [(1, "a", 2, "x"), (2, "b", 3, "y z")], "path int, filename string, base int, p string"
    )
    frame.write.partitionBy("p").parquet(str(tmp_path / "in"))
    reports.keep(whence.source(spark.read.parquet(str(tmp_path / "in")), "odd").where("base > 0"), tmp_path / "lineage")
    with whence.open(tmp_path / "lineage") as lineage:
        for where in ("path = 2", "filename = 'b'", "base = 3", "p = 'y z'"):
            impact = lineage.impact("odd", where=where)
            assert impact.outputs.column("path").to_pylist() == [2], where
            assert impact.rows("odd").column("filename").to_pylist() == ["b"], where


def _segment(name: str, base: int, last: int, first: int = 0) -> dict[str, object]:
    return {"source": "reports", "segment": name, "base": base, "first": first, "last": last}


def test_segments_whose_ids_overlap_are_an_error_that_names_both() -> None:
    """Two files whose ids meet would mix up rows: both are named, and what to do."""
    ranges = Ranges()
    ranges.add([_segment("a.parquet", 100, 9), _segment("b.parquet", 110, 9), _segment("a.parquet", 100, 9)])
    with pytest.raises(SourceError, match="overlap") as caught:
        ranges.add([_segment("c.parquet", 105, 2)])
    assert "c.parquet" in caught.value.detail
    assert "a.parquet" in caught.value.detail
    assert "salt" in caught.value.hint
    other = {**_segment("c.parquet", 105, 2), "source": "other"}
    ranges.add([other])


def test_a_partition_that_grows_into_another_is_an_error() -> None:
    """A topic partition grows from batch to batch: its ids may reach another's only later."""
    ranges = Ranges()
    ranges.add([_segment("kafka:t/0", 0, 9), _segment("kafka:t/1", 100, 9)])
    ranges.add([_segment("kafka:t/0", 0, 99, first=10)])
    with pytest.raises(SourceError, match="overlap"):
        ranges.add([_segment("kafka:t/0", 0, 100, first=100)])


def test_an_overlap_stops_a_write_before_its_commit(
    spark: SparkSession, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With hashes that collide nothing of the second file is committed."""
    monkeypatch.setattr("whence.deliver.segments.base_of_file", lambda path, salt="": 1 << 40)
    other = reports.write(store.parent / "other", 5, 6)[0].parent
    with pytest.raises(SourceError, match="overlap"):
        reports.keep(_traced(spark, other), store, name="late")
    with whence.open(store) as lineage:
        assert [sink.name for sink in lineage.sinks()] == ["results"]


def test_any_file_name_will_do(spark: SparkSession, tmp_path: Path) -> None:
    """Wildcards, brackets and percent escapes in a file's name stand for themselves."""
    names = ["part[1].parquet", "part1.parquet", "what?.parquet", "all*.parquet", "{a,b}.parquet", "a%20b.parquet"]
    for number, name in enumerate(names):
        (path,) = reports.write(tmp_path / "in", number)
        path.rename(path.with_name(name))
    reports.keep(_traced(spark, tmp_path / "in"), tmp_path / "lineage")
    with whence.open(tmp_path / "lineage") as lineage:
        assert _speeds(lineage) == sorted(10 * n + i for n in range(len(names)) for i in range(reports.ROWS))
        assert lineage.trace("results").missing == []
        for number in range(len(names)):
            impact = lineage.impact("reports", where=f"speed = {10 * number + 1}")
            assert impact.outputs.column("speed").to_pylist() == [10 * number + 1]
            assert impact.rows("reports").column("speed").to_pylist() == [10 * number + 1]
