"""Many random networks: `WHENCE_NETWORKS` of them (default 300), seeded by `WHENCE_SEED`."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from pyspark.sql import SparkSession

from whence.testing.seen import HAPPENINGS, Seen
from whence.testing.strategies import Case, cases
from whence.testing.suite import check

COUNT = int(os.environ.get("WHENCE_NETWORKS", "300"))
SEED = int(os.environ.get("WHENCE_SEED", "1"))


@pytest.mark.slow
@pytest.mark.timeout(24 * 3600)
def test_random_networks(spark: SparkSession, tmp_path: Path) -> None:
    """Every property for every network, and every happening met in at least one network of fifty."""
    seen = Seen()

    @seed(SEED)
    @settings(
        max_examples=COUNT,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(cases())
    def run(case: Case) -> None:
        folder = tmp_path / "case"
        shutil.rmtree(folder, ignore_errors=True)
        check(spark, case, folder, seen)

    run()
    floor = max(1, seen.cases // 50)
    seen.require(dict.fromkeys((*HAPPENINGS, "keyed"), floor))
