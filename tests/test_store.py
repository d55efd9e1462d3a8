"""The store: what is one and what is not, several queries in it at once, who owns a name."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import reports
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import whence
from whence.errors import SourceError, StoreError
from whence.names import BATCHES, BATCHES_SCHEMA, FORMAT_VERSION, MARKER, NETWORKS, NETWORKS_SCHEMA
from whence.store import NetworkRecord, Store, batch_rows, now, open_store


def _row(run: str, batch: int, **values: Any) -> dict[str, Any]:
    empty = dict.fromkeys(BATCHES_SCHEMA.names)
    counts = {"rows": 0, "edges": 0, "files": [], "segments": []}
    return {**empty, **counts, "run": run, "sink": run, "batch": batch, "committed": now(), **values}


def _append(store: Store, row: dict[str, Any]) -> None:
    store.append(BATCHES, [row], BATCHES_SCHEMA, (row["run"], row["batch"]))


# -- what is a store ---------------------------------------------------------------------------------------------------


def _nothing(folder: Path) -> None:
    pass


def _files(folder: Path) -> None:
    folder.mkdir()
    (folder / "results.csv").write_text("a,b")


@pytest.mark.parametrize(
    ("make", "detail"),
    [(_nothing, "nothing"), (Path.mkdir, "nothing"), (_files, "results.csv"), (Path.touch, "a file")],
    ids=["no folder", "an empty folder", "a folder of other things", "a file"],
)
def test_what_is_not_a_store_is_refused(tmp_path: Path, make: Callable[[Path], None], detail: str) -> None:
    """Opening says what lies there instead, and leaves it as it was."""
    folder = tmp_path / "lineage"
    make(folder)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(StoreError, match="is not a lineage store") as caught:
        whence.open(folder)
    assert str(folder) in caught.value.primary
    assert detail in caught.value.detail
    assert ".lineage(" in caught.value.hint
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["a%20b", "[x]", "{a,b}", "all*", "what?", "back\\slash"])
def test_a_path_that_means_something_else_is_refused(tmp_path: Path, name: str) -> None:
    """Wildcards, brackets and percent escapes in a store's path would be misread by one tool or another: by name."""
    for create in (False, True):
        with pytest.raises(StoreError, match="cannot be the folder of a store") as caught:
            open_store(tmp_path / name / "lineage", create=create)
        assert "choose a folder" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("make", [_files, Path.touch], ids=["a folder of other things", "a file"])
def test_no_store_is_made_of_what_is_there(tmp_path: Path, make: Callable[[Path], None]) -> None:
    """A query does not mix its lineage with other files."""
    folder = tmp_path / "lineage"
    make(folder)
    with pytest.raises(StoreError, match="is not a lineage store") as caught:
        open_store(folder, create=True)
    assert "new or empty folder" in caught.value.hint


def test_a_newer_store_is_refused(tmp_path: Path) -> None:
    """A layout that this version does not know: both versions are named, and to upgrade."""
    (tmp_path / MARKER).write_text(json.dumps({"version": FORMAT_VERSION + 1}))
    with pytest.raises(StoreError, match="newer Whence") as caught:
        whence.open(tmp_path)
    assert f"version {FORMAT_VERSION + 1}" in caught.value.detail
    assert str(FORMAT_VERSION) in caught.value.detail
    assert "upgrade" in caught.value.hint


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": "new"}', "{}"])
def test_a_marker_that_cannot_be_read_is_an_error(tmp_path: Path, text: str) -> None:
    """Never taken for a store of some version."""
    (tmp_path / MARKER).write_text(text)
    with pytest.raises(StoreError, match="cannot be read"):
        whence.open(tmp_path)


def test_an_empty_store_answers(tmp_path: Path) -> None:
    """Before anything is committed there are no sinks and no sources, and asking for one says so."""
    open_store(tmp_path, create=True)
    with whence.open(tmp_path) as lineage:
        assert lineage.sinks() == lineage.sources() == []
        with pytest.raises(whence.WhenceError, match='no sink "alerts"') as caught:
            lineage.trace("alerts")
    assert "none yet" in caught.value.detail


# -- commits -----------------------------------------------------------------------------------------------------------


def test_a_commit_repeated_is_seen_once(tmp_path: Path) -> None:
    """Should a batch be committed twice after all, its first commit counts, everywhere."""
    store = open_store(tmp_path, create=True)
    first = _row("a", 0, rows=1)
    _append(store, first)
    _append(store, _row("a", 0, rows=2, committed=first["committed"] + timedelta(seconds=1)))
    assert [row["rows"] for row in batch_rows(open_store(tmp_path))] == [1]


def test_many_may_make_and_write_a_store_at_once(tmp_path: Path) -> None:
    """Four writers that meet in a folder that is not there yet: no commit fails, none is lost."""
    together = threading.Barrier(4)

    def write(run: str) -> None:
        together.wait()
        store = open_store(tmp_path / "lineage", create=True)
        for batch in range(5):
            _append(store, _row(run, batch))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, "abcd"))
    found = [(row["run"], row["batch"]) for row in batch_rows(open_store(tmp_path / "lineage"))]
    assert sorted(found) == [(run, batch) for run in "abcd" for batch in range(5)]
    assert sorted(found, key=lambda pair: pair[0]) == sorted(found)


def test_a_table_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """Damage that no cut-off write leaves is no empty answer but an error that names the table."""
    store = open_store(tmp_path, create=True)
    for batch in range(2):
        _append(store, _row("a", batch))
    (tmp_path / BATCHES / "_delta_log" / f"{0:020d}.json").write_text("{")
    with pytest.raises(StoreError, match=f'table "{BATCHES}"'):
        batch_rows(open_store(tmp_path))


# -- several queries, one store ----------------------------------------------------------------------------------------


def test_queries_share_a_store_at_the_same_time(spark: SparkSession, tmp_path: Path) -> None:
    """Three queries start together on a store that is not there yet; `impact` spans them all."""
    reports.write(tmp_path / "in", 0, 1, 2)
    store = tmp_path / "lineage"
    queries = []
    for name, condition in [("all", "speed >= 0"), ("even", "speed % 2 = 0"), ("fast", "speed >= 20")]:
        frame = reports.stream(spark, tmp_path / "in").where(condition)
        queries.append(reports.start(frame, tmp_path / name, store=store, name=name))
    for query in queries:
        query.awaitTermination()
    with whence.open(store) as lineage:
        assert {sink.name: (sink.batches, sink.rows) for sink in lineage.sinks()} == {
            "all": (3, 12), "even": (3, 6), "fast": (3, 4),
        }  # fmt: skip
        (source,) = lineage.sources()
        assert (sorted(source.sinks), source.segments) == (["all", "even", "fast"], 3)
        impact = lineage.impact("reports", where="speed = 20")
        assert impact.sinks == ["all", "even", "fast"]
        assert {impact.outputs_of(sink).num_rows for sink in impact.sinks} == {1}


def test_a_reader_sees_whole_batches_while_they_are_written(spark: SparkSession, tmp_path: Path) -> None:
    """One lineage asked over and over while a query runs: batches only ever come, each of them whole."""
    reports.write(tmp_path / "in", *range(5))
    frame = reports.stream(spark, tmp_path / "in").groupBy("car_id", "speed").agg(F.count("*").alias("n"))
    writer = frame.writeStream.lineage(tmp_path / "lineage", name="results").format("noop").outputMode("update")
    query = writer.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).start()
    seen = [0]
    with whence.open(tmp_path / "lineage") as lineage:
        while query.isActive or seen[-1] == 0:
            if not lineage.sinks():
                time.sleep(0.05)
                continue
            trace = lineage.trace("results")
            rows, batches = trace.outputs.num_rows, set(trace.outputs.column("_whence_batch").to_pylist())
            assert rows == trace.edges.num_rows == len(batches) * reports.ROWS
            assert batches == set(range(len(batches)))
            assert len(batches) >= seen[-1]
            seen.append(len(batches))
            assert query.exception() is None
        assert lineage.trace("results").outputs.num_rows == 5 * reports.ROWS


def test_a_source_name_belongs_to_the_store(spark: SparkSession, tmp_path: Path) -> None:
    """The same name by other coordinates is refused before anything is written; both ways are named."""
    reports.write(tmp_path / "in", 0)
    plain = reports.static(spark, tmp_path / "in")
    reports.keep(whence.source(plain, "reports").where("speed > 0"), tmp_path / "lineage")
    for other in ({"key": ["ts", "car_id"]}, {"salt": "2"}):
        with pytest.raises(SourceError, match='"reports" is known') as caught:
            reports.keep(whence.source(plain, "reports", **other), tmp_path / "lineage", name="other")
        assert "file" in caught.value.detail
        assert "another name" in caught.value.hint
    with whence.open(tmp_path / "lineage") as lineage:
        assert [sink.name for sink in lineage.sinks()] == ["results"]


# -- runs of a sink ----------------------------------------------------------------------------------------------------


def test_the_newer_of_two_queries_owns_a_name(spark: SparkSession, tmp_path: Path) -> None:
    """Started twice under one name, the older query fails at its next commit; answers are the newer one's."""
    reports.write(tmp_path / "in", 0)
    store = tmp_path / "lineage"
    frame = reports.stream(spark, tmp_path / "in").where("speed >= 0")
    writer = frame.writeStream.lineage(store, name="results").format("noop")
    older = writer.option("checkpointLocation", str(tmp_path / "c")).trigger(processingTime="100 milliseconds").start()
    try:
        older.processAllAvailable()
        reports.run(frame, tmp_path / "newer", store=store)
        reports.write(tmp_path / "in", 1)
        with pytest.raises(StreamingQueryException, match="taken over"):
            older.awaitTermination(60)
    finally:
        older.stop()
    with whence.open(store) as lineage:
        (sink,) = lineage.sinks()
        assert (sink.rows, len(sink.runs)) == (reports.ROWS, 1)
        assert lineage.trace("results").outputs.num_rows == reports.ROWS


def test_a_checkpoint_that_is_deleted_starts_a_new_run(spark: SparkSession, tmp_path: Path) -> None:
    """No batch is skipped: everything is read again, answers are the new run's, with the same ids."""
    reports.write(tmp_path / "in", 0, 1)
    frame = reports.stream(spark, tmp_path / "in").where("speed >= 0")
    seen = []
    for _ in range(2):
        reports.run(frame, tmp_path)
        shutil.rmtree(tmp_path / "checkpoint")
        with whence.open(tmp_path / "lineage") as lineage:
            trace = lineage.trace("results")
            seen.append((lineage.sinks()[0].runs, trace.outputs.drop(["_whence_run"]).sort_by("_whence_id")))
            assert trace.edges.num_rows == trace.outputs.num_rows == 2 * reports.ROWS
    assert seen[0][0] != seen[1][0]
    assert seen[0][1].equals(seen[1][1])


def test_a_run_owns_a_name_from_its_first_commit_on(tmp_path: Path) -> None:
    """A query, or an overwrite, that died before it committed anything takes nothing away from the run before it."""
    store = open_store(tmp_path, create=True)
    layout = {"payload": [], "ids": {}, "kept": {}, "kinds": {}}
    declared = {"untraced": [], "sources": {}, "text": "source"}
    for run in ("old", "new"):
        record = NetworkRecord(run, "results", 1, now(), "listed", "append", True, True, declared, layout, "", "")
        store.append(NETWORKS, [record.to_row()], NETWORKS_SCHEMA, (run, 1))
        if run == "old":
            _append(store, _row(run, 0))
    with whence.open(tmp_path) as lineage:
        assert lineage.sinks()[0].runs == ("old",)
        _append(store, _row("new", 0))
        assert lineage.sinks()[0].runs == ("new",)


def test_static_writes_append_or_overwrite(spark: SparkSession, tmp_path: Path) -> None:
    """Each write is a run: an appended one stands beside those before, an overwrite ends them."""
    reports.write(tmp_path / "in", 0)
    frame = whence.source(reports.static(spark, tmp_path / "in"), "reports")
    counts = []
    for mode in ("append", "append", "overwrite"):
        reports.keep(frame.where("speed > 0"), tmp_path / "lineage", mode=mode)
        with whence.open(tmp_path / "lineage") as lineage:
            (sink,) = lineage.sinks()
            counts.append((len(sink.runs), lineage.trace("results").outputs.num_rows))
    assert counts == [(1, 3), (2, 6), (1, 3)]


def test_a_write_that_failed_left_nothing_to_ask(spark: SparkSession, tmp_path: Path) -> None:
    """Where the target refuses the results there is no run of them."""
    reports.write(tmp_path / "in", 0)
    frame = whence.source(reports.static(spark, tmp_path / "in"), "reports")
    with pytest.raises(Exception, match="nowhere"):
        frame.write.lineage(tmp_path / "lineage", name="results").format("nowhere").mode("append").save()
    with whence.open(tmp_path / "lineage") as lineage, pytest.raises(whence.WhenceError):
        lineage.trace("results")


def test_the_store_holds_plain_tables(spark: SparkSession, tmp_path: Path) -> None:
    """What a batch holds is written in `batches`: offsets, event time range, counts, files, segments."""
    reports.write(tmp_path / "in", 0, 1)
    reports.run(reports.stream(spark, tmp_path / "in").where("speed > 0"), tmp_path)
    first, second = batch_rows(open_store(tmp_path / "lineage"))
    assert (first["rows"], first["edges"], second["rows"]) == (3, 3, 4)
    assert first["event_min"] == reports.START
    assert first["event_max"] == reports.START + timedelta(seconds=15)
    (segment,) = second["segments"]
    assert (segment["first"], segment["last"]) == (0, reports.ROWS - 1)
    assert segment["bytes"] == (tmp_path / "in" / "reports-1.parquet").stat().st_size
    assert all((tmp_path / "lineage" / "outputs" / f["path"]).stat().st_size == f["bytes"] for f in second["files"])
    assert json.loads(second["offsets"])
    assert pa.Table.from_pylist([first], schema=BATCHES_SCHEMA).num_rows == 1
