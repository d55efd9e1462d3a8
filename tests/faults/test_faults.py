"""The tests, tested: every seeded fault is seen by the probe that it names, which otherwise passes."""

from __future__ import annotations

from pathlib import Path

import pytest
from faults.catalogue import FAULTS, Fault
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from whence.errors import WhenceError

SEEN = (AssertionError, WhenceError, PySparkException, KeyError, ValueError)
"""How a probe may fail: a comparison, or a refusal of what the fault made."""

PROBES = {fault.probe: fault.name for fault in FAULTS}


def test_there_are_enough() -> None:
    """Twenty named faults at least, all of different names."""
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 20


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("probe", PROBES, ids=[f"the probe for: {name}" for name in PROBES.values()])
def test_sound(spark: SparkSession, tmp_path: Path, probe: object) -> None:
    """Without a fault the probe passes."""
    probe(spark, tmp_path)  # type: ignore[operator]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("fault", FAULTS, ids=[fault.name for fault in FAULTS])
def test_seen(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Fault) -> None:
    """With the fault the probe fails."""
    fault.seed(monkeypatch)
    with pytest.raises(SEEN):
        fault.probe(spark, tmp_path)
