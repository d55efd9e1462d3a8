"""The oracle is right about Spark: its results are those of plain PySpark, batch by batch, for the same batches."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hand_written import LEFT, MORE, QUICK, by_window, case
from hypothesis import HealthCheck, Phase, given, seed, settings
from pyspark.sql import SparkSession

from whence.testing.drive import stream, whole
from whence.testing.oracle import worlds
from whence.testing.oracle.run import Run
from whence.testing.schema import all_static
from whence.testing.strategies import Case, cases

BOUND = 3_000


def compare(spark: SparkSession, one: Case, folder: Path) -> Run:
    """Fails unless Spark's run is a world of the oracle's."""
    results = stream(spark, one.network, one.data, one.split, one.mode, folder)
    found = [Counter(map(repr, rows)) for rows in results]
    tried = []
    for run in worlds(one.network, one.data, one.split, one.mode, BOUND):
        tried.append([Counter(repr(row.values) for row in rows) for rows in run.batches])
        if tried[-1] == found:
            return run
    raise AssertionError(f"{one}\n  Spark:  {found}\n  oracle: {tried[0]}, or another of {len(tried)}")


@pytest.mark.parametrize("name", QUICK)
def test_by_hand(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """One network for one thing that Spark does."""
    compare(spark, QUICK[name], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", MORE)
def test_more_by_hand(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """Every kind of join, filter and window with every other."""
    compare(spark, MORE[name], tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_at_random(spark: SparkSession, tmp_path: Path) -> None:
    """Random networks, random rows, random batches."""
    number = iter(range(10_000))

    @seed(4)
    @settings(
        max_examples=150,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(cases())
    def run(one: Case) -> None:
        compare(spark, one, tmp_path / str(next(number)))

    run()


def test_the_static_form(spark: SparkSession, tmp_path: Path) -> None:
    """A batch frame gives what the oracle gives for all rows at once, none of them late."""
    one = case(by_window(LEFT, slide=5))
    rows = whole(spark, all_static(one.network), one.data, one.split, tmp_path)
    (run,) = worlds(all_static(one.network), one.data, None, "static")
    assert Counter(map(repr, rows)) == Counter(repr(row.values) for row in run.delivered())
