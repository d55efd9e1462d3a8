"""Random networks: what must hold for every network, mode, split and restart, on a handful of them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from pyspark.sql import SparkSession

from whence.testing.seen import Seen
from whence.testing.strategies import Case, cases
from whence.testing.suite import check

COUNT = 25


@pytest.fixture(scope="module")
def seen() -> Seen:
    """What the networks of this module met."""
    return Seen()


@pytest.mark.timeout(600)
def test_random_networks(spark: SparkSession, tmp_path: Path, seen: Seen) -> None:
    """Transparent, exact, stable, batch = stream: for random networks, against the oracle and plain PySpark."""

    @seed(20)
    @settings(
        max_examples=COUNT,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(cases())
    def run(case: Case) -> None:
        folder = tmp_path / str(seen.cases)
        shutil.rmtree(folder, ignore_errors=True)
        check(spark, case, folder, seen)

    run()


def test_they_met_what_matters(seen: Seen) -> None:
    """The networks above did drop late rows, restart, chain and so on, and most delivered something."""
    if not seen.cases:
        pytest.skip("the networks did not run")
    seen.require(dict.fromkeys(("late", "chain", "restart", "multi_batch_group", "null_key"), 1))
