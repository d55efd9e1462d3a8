"""Many random networks: `WHENCE_NETWORKS` of them (default 300), drawn from `WHENCE_SEED`."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from pyspark.sql import SparkSession

from whence.testing.seen import HAPPENINGS, Seen
from whence.testing.strategies import KINDS, Case, cases
from whence.testing.suite import check

COUNT = int(os.environ.get("WHENCE_NETWORKS", "300"))
SEED = int(os.environ.get("WHENCE_SEED", "1"))


@pytest.fixture(scope="module")
def seen() -> Seen:
    """What the networks of this module met."""
    return Seen()


@pytest.mark.slow
@pytest.mark.timeout(24 * 3600)
@pytest.mark.parametrize("kind", KINDS)
def test_random_networks(spark: SparkSession, tmp_path: Path, seen: Seen, kind: str) -> None:
    """Every property for every network."""

    @seed(SEED)
    @settings(
        max_examples=max(1, COUNT // len(KINDS)),
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(cases((kind,)))
    def run(case: Case) -> None:
        folder = tmp_path / "case"
        shutil.rmtree(folder, ignore_errors=True)
        check(spark, case, folder, seen)

    run()


@pytest.mark.slow
def test_they_met_what_matters(seen: Seen) -> None:
    """Every happening was met in one network of fifty, and most networks delivered something."""
    if not seen.cases:
        pytest.skip("the networks did not run")
    floor = max(1, seen.cases // 50)
    seen.require(dict.fromkeys((*HAPPENINGS, "keyed"), floor))
