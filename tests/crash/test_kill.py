"""kill -9 between any two steps of a batch: after the restart results and edges are there exactly once."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import crash_query as query
import pytest
from crash_query import Setting
from pyspark.sql import SparkSession

import whence
from whence.deliver.batch import Delivery
from whence.deliver.sinks import Committed, FileSink
from whence.store import Store, batch_rows, open_store

SLOW = int(os.environ.get("WHENCE_CRASHES", "30"))
Kill = Callable[[Setting], Setting]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("crash") / "in"
    query.write_source(folder)
    return str(folder)


@pytest.fixture(scope="module")
def calm(spark: SparkSession, source: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Setting]:
    """The same network run without a crash, once."""
    known: dict[str, Setting] = {}

    def run(network: str) -> Setting:
        if network not in known:
            known[network] = Setting(network, source, str(tmp_path_factory.mktemp(network)))
            query.finish(spark, known[network])
            counts = [row["rows"] for row in batch_rows(open_store(known[network].lineage))]
            assert all(counts[1 : query.FILES]), "a crash in an empty batch shows little"
        return known[network]

    return run


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Kill:
    """What a query left behind that died where it was to die; the test sees that it did, and its JVM with it."""
    known: dict[Setting, Path] = {}

    def kill(setting: Setting) -> Setting:
        kept = known.get(setting)
        if kept is None:
            kept = tmp_path_factory.mktemp("killed") / "run"
            first = replace(setting, folder=str(kept))
            kept.mkdir()
            _run_to_death(first)
            known[setting] = kept
        copy = tmp_path_factory.mktemp("left") / "run"
        shutil.copytree(kept, copy)
        return replace(setting, folder=str(copy))

    return kill


def _run_to_death(setting: Setting) -> None:
    command = [sys.executable, query.__file__, query.as_json(setting)]
    with subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        output = process.communicate(timeout=200)[0].decode()
    assert process.returncode == -signal.SIGKILL, output[-3000:]
    assert setting.marker.read_text() == f"{setting.at} {setting.batch}"
    deadline = time.monotonic() + 30
    while (left := _alive(process.pid)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not left, "the JVM is still there"


def _alive(group: int) -> list[str]:
    """The processes of a group that have not ended."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text().rpartition(")")
        except OSError:
            continue
        state, _, number = rest.split()[:3]
        if int(number) == group and state not in "ZX":
            found.append(name)
    return found


def problems(spark: SparkSession, setting: Setting, calm: Setting) -> list[str]:
    """What is wrong with a query that ran to its end after a crash; nothing, if all is well.

    The sink must hold the results that the store holds, each once; ids and edges must be those of a run without a
    crash, each once, and so must the results where the network is deterministic.
    """
    found = []
    delivered, recorded = _delivered(spark, setting), _recorded(setting)
    for row, times in (delivered - recorded).items():
        found.append(f"delivered {times} times more than recorded: {row}")
    for row, times in (recorded - delivered).items():
        found.append(f"recorded {times} times more than delivered: {row}")
    if setting.network != "random" and recorded != _recorded(calm):
        found.append("the results are not those of an undisturbed run")
    if not recorded:
        found.append("there are no results")
    edges, expected = _edges(setting), _edges(calm)
    found += [f"edge {edge} is there {times} times" for edge, times in edges.items() if times > 1]
    if edges != expected:
        found.append("the edges are not those of an undisturbed run")
    return found


def _delivered(spark: SparkSession, setting: Setting) -> Counter[tuple[Any, ...]]:
    frame = query.NETWORKS[setting.network](whence.source(spark.read.parquet(setting.source), "reports", key="ts"))
    read = spark.read.schema(frame.schema).format(setting.format).load(setting.out)
    names = sorted(frame.columns)
    return Counter(tuple(row) for row in read.select(*_micros(frame, names)).collect())


def _micros(frame: whence.TracedFrame, names: list[str]) -> list[Any]:
    from pyspark.sql import functions as F

    kinds = dict(frame.dtypes)
    return [F.unix_micros(name) if kinds[name] == "timestamp" else F.col(name) for name in names]


def _recorded(setting: Setting) -> Counter[tuple[Any, ...]]:
    with whence.open(setting.lineage) as lineage:
        table = lineage.trace("results").outputs
    names = sorted(name for name in table.column_names if not name.startswith("_whence"))
    rows = [table.column(name).to_pylist() for name in names]
    return Counter(
        tuple(round(v.timestamp() * 1_000_000) if hasattr(v, "timestamp") else v for v in row)
        for row in zip(*rows, strict=True)
    )


def _edges(setting: Setting) -> Counter[tuple[int, str, int]]:
    with whence.open(setting.lineage) as lineage:
        table = lineage.trace("results").edges
    columns = (table.column(name).to_pylist() for name in ("output_id", "source", "source_id"))
    return Counter(zip(*columns, strict=True))


CASES = [
    pytest.param("windowed", "write", {}, id="rows written, not committed"),
    pytest.param("stateless", "files", {}, id="half committed"),
    pytest.param("random", "commit", {}, id="committed, not delivered"),
    pytest.param("stateless", "one move", {"format": "json", "partition_by": ("car_id",)}, id="half delivered"),
    pytest.param("windowed", "sink", {}, id="delivered, checkpoint behind"),
]


@pytest.mark.parametrize(("network", "at", "more"), CASES)
def test_a_killed_query_goes_on_as_if_nothing_had_been(
    spark: SparkSession, source: str, killed: Kill, calm: Callable[[str], Setting], network: str, at: str, more: dict
) -> None:
    """Killed at a step and restarted: results in the sink once, edges once, ids as without a crash."""
    left = killed(Setting(network, source, "", at=at, **more))
    query.finish(spark, left)
    assert problems(spark, left, calm(network)) == []


def test_a_sink_that_delivers_twice_is_reported(
    spark: SparkSession, source: str, killed: Kill, calm: Callable[[str], Setting], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check sees a sink that appends whatever it is given: the batch of the crash is there twice."""
    left = killed(Setting("windowed", source, "", at="sink"))
    monkeypatch.setattr(FileSink, "deliver", _append)
    query.finish(spark, left)
    assert any("more than recorded" in problem for problem in problems(spark, left, calm("windowed")))


def test_a_batch_computed_again_is_reported(
    spark: SparkSession, source: str, killed: Kill, calm: Callable[[str], Setting], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check sees a delivery that computes a committed batch again: random results are not the recorded ones."""
    left = killed(Setting("random", source, "", at="commit"))
    monkeypatch.setattr(Delivery, "deliver", _computed)
    query.finish(spark, left)
    found = problems(spark, left, calm("random"))
    assert any("more than delivered" in problem for problem in found)


def _append(sink: FileSink, batch: Committed) -> None:
    batch.frame().write.format(sink.format).mode("append").save(sink.path)


def _computed(delivery: Delivery, frame: Any, store: Store, run: str, row: dict[str, Any]) -> None:
    frame.select(*delivery.payload).write.mode("append").parquet(delivery.sink.path)  # type: ignore[attr-defined]


def test_another_query_may_write_the_same_store_meanwhile(
    spark: SparkSession, source: str, killed: Kill, calm: Callable[[str], Setting], tmp_path: Path
) -> None:
    """A crash in the middle of a commit, another query committing before, during and after it: both are whole."""
    store = str(tmp_path / "shared")
    rate = spark.readStream.format("rate").option("rowsPerSecond", 20).load()
    other = (
        whence.source(rate, "ticks", ids="rate")
        .writeStream.lineage(store, name="ticks")
        .format("noop")
        .option("checkpointLocation", str(tmp_path / "ticks"))
        .trigger(processingTime="200 milliseconds")
        .start()
    )
    try:
        left = killed(Setting("windowed", source, "", store=store, at="files"))
        query.finish(spark, left)
    finally:
        other.stop()
    assert other.exception() is None
    assert problems(spark, left, calm("windowed")) == []
    with whence.open(store) as lineage:
        ticks = {sink.name: sink for sink in lineage.sinks()}["ticks"]
        trace = lineage.trace("ticks")
    assert ticks.last_batch == ticks.batches - 1 > 0
    edges = [(e["output_id"], e["source_id"]) for e in trace.edges.to_pylist()]
    assert len(edges) == len(set(edges)) == trace.outputs.num_rows == ticks.rows > 0
    assert len({row["value"] for row in trace.outputs.to_pylist()}) == ticks.rows


DELIVERING = ("files", "stage", "one move", "moves")
EVERY = [
    (network, at, batch, more)
    for batch in (0, 1, query.FILES - 1)
    for at in query.POINTS
    for network, more in [
        ("windowed", {}),
        ("random", {}),
        ("stateless", {"format": "json", "partition_by": ("car_id",)}),
    ]
    if not (network == "windowed" and batch == 0 and at in DELIVERING)  # no window has closed yet
]


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_every_point_of_every_batch(
    spark: SparkSession, source: str, killed: Kill, calm: Callable[[str], Setting]
) -> None:
    """As above, at every point, in the first, a middle and the last batch; WHENCE_CRASHES says how many of them."""
    chosen = random.Random(SLOW).sample(EVERY, min(SLOW, len(EVERY)))
    wrong = {}
    for network, at, batch, more in chosen:
        left = killed(Setting(network, source, "", at=at, batch=batch, **more))
        query.finish(spark, left)
        if found := problems(spark, left, calm(network)):
            wrong[network, at, batch] = found
    assert wrong == {}
