"""The networks written by hand through the engine: every property for each."""

from __future__ import annotations

from pathlib import Path

import pytest
from hand_written import MORE, QUICK
from pyspark.sql import SparkSession

from whence.testing.seen import Seen
from whence.testing.suite import check

CASES = {name: one for name, one in (QUICK | MORE).items() if not name.startswith("left_semi")}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_by_hand(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """One network for one thing that Spark does, traced."""
    check(spark, CASES[name], tmp_path, Seen())
