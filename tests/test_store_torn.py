"""A store that was cut off in the middle of a write stays readable, shows whole batches only, and goes on."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import reports
from deltalake import DeltaTable
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

import whence
from whence import Lineage
from whence.names import BATCHES, NETWORKS, OUTPUTS
from whence.store import Store

FILES = 3


@pytest.fixture(scope="module")
def torn(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three files, two whole batches; of the third the data files are committed, its row in `batches` is not."""
    base = tmp_path_factory.mktemp("torn")
    reports.write(base / "in", *range(FILES))
    append = Store.append

    def cut(store: Store, name: str, rows: list, *rest: object) -> None:
        if name == BATCHES and rows[0]["batch"] == FILES - 1:
            raise OSError("cut off")
        append(store, name, rows, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "append", cut)
        with pytest.raises(StreamingQueryException, match="cut off"):
            reports.run(_frame(spark, base), base)
    return base


@pytest.fixture
def left(torn: Path, tmp_path: Path) -> Path:
    """A copy of it that a test may damage further."""
    for name in ("lineage", "checkpoint", "out"):
        shutil.copytree(torn / name, tmp_path / name)
    return tmp_path


def _frame(spark: SparkSession, torn: Path) -> whence.TracedFrame:
    return reports.stream(spark, torn / "in").where("speed >= 0")


def _run(base: Path) -> str:
    (folder,) = [path.name for path in (base / "lineage" / OUTPUTS).iterdir()]
    return folder


def _log(base: Path, *table: str) -> Path:
    return base.joinpath("lineage", *table, "_delta_log")


def _next(log: Path) -> Path:
    return log / f"{len(list(log.glob('*.json'))):020d}.json"


def _half_written(log: Path) -> None:
    text = max(log.glob("*.json")).read_text()
    _next(log).write_text(text[: len(text) // 2])


def _orphan(base: Path) -> None:
    folder = base / "lineage" / OUTPUTS / _run(base) / "2-0badcafe"
    (folder / "_temporary" / "0").mkdir(parents=True)
    (folder / "part-00000-0badcafe-c000.zstd.parquet").write_bytes(b"PAR1 and then nothing")


def _temporary(base: Path) -> None:
    log = _log(base, BATCHES)
    (log / "_commit_0badcafe.json.tmp").write_text('{"add"')
    (log / f"{_next(log).name}.tmp").write_text("{")
    (log / f"{_next(log).name}#1").write_text("{")


DAMAGE: dict[str, Callable[[Path], None]] = {
    "nothing more": lambda base: None,
    "an orphan with half a data file": _orphan,
    "files that a commit began with": _temporary,
    "half an entry of batches": lambda base: _half_written(_log(base, BATCHES)),
    "half an entry of networks": lambda base: _half_written(_log(base, NETWORKS)),
    "half an entry of the run's table": lambda base: _half_written(_log(base, OUTPUTS, _run(base))),
    "an entry of zeros": lambda base: _next(_log(base, BATCHES)).write_bytes(b"\0" * 512) and None,
    "an entry of nothing": lambda base: _next(_log(base, BATCHES)).touch(),
}


def _whole_batches(lineage: Lineage) -> int:
    """How many batches every table and every question agrees on; any disagreement is an error."""
    (sink,) = lineage.sinks()
    trace, impact = lineage.trace("results"), lineage.impact("reports", where="speed >= 0")
    assert trace.outputs.num_rows == trace.edges.num_rows == sink.rows == sink.edges == sink.batches * reports.ROWS
    assert sorted(set(trace.outputs.column("_whence_batch").to_pylist())) == list(range(sink.batches))
    assert impact.outputs.num_rows == trace.outputs.num_rows
    assert lineage.sources()[0].segments == sink.batches
    assert not trace.missing
    return sink.batches


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_torn_store_is_read_and_goes_on(
    spark: SparkSession, torn: Path, left: Path, damage: Callable[[Path], None]
) -> None:
    """However the write was cut off: two batches are seen, the third is committed once when the query comes back."""
    damage(left)
    with whence.open(left / "lineage") as lineage:
        assert _whole_batches(lineage) == FILES - 1
        reports.run(_frame(spark, torn), left)
        assert _whole_batches(lineage) == FILES
    assert spark.read.parquet(str(left / "out")).count() == FILES * reports.ROWS


def test_spark_reads_whole_batches_only(spark: SparkSession, torn: Path) -> None:
    """`to_spark` gives the committed batches of every table, not what lies below them."""
    with whence.open(torn / "lineage") as lineage:
        counts = {name: lineage.to_spark(spark, name).count() for name in ("outputs", "edges", "batches", "segments")}
    rows = (FILES - 1) * reports.ROWS
    assert counts == {"outputs": rows, "edges": rows, "batches": FILES - 1, "segments": FILES - 1}


def test_a_restart_clears_away_what_was_never_committed(spark: SparkSession, torn: Path, left: Path) -> None:
    """After the restart the run's own table names each file once, and all of them are there."""
    _orphan(left)
    reports.run(_frame(spark, torn), left)
    folder = left / "lineage" / OUTPUTS / _run(left)
    table = DeltaTable(folder)
    assert table.to_pyarrow_table().num_rows == FILES * reports.ROWS
    attempts = sorted(path.name.partition("-")[0] for path in folder.iterdir() if not path.name.startswith("_"))
    assert attempts == ["0", "1", "2"]
