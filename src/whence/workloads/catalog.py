"""The workloads by their names in the papers."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from pyspark.sql import DataFrame

from whence.workloads.linear_road import lr_q1, lr_q2
from whence.workloads.readings import readings
from whence.workloads.reports import reports
from whence.workloads.smart_grid import sg_q3, sg_q4


@dataclass(frozen=True)
class Workload:
    """A query, the source that feeds it, and what is known of its provenance."""

    name: str
    title: str
    query: Callable[..., Any]
    source: str
    generate: Callable[..., DataFrame]
    event_time: str
    rows: int
    """Source rows of the smallest result."""
    reach: timedelta
    """U: how long after its event time a source row can still contribute."""


WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload("lr-q1", "stopped cars", lr_q1, "reports", reports, "ts", 4, timedelta(seconds=120)),
        Workload("lr-q2", "accidents", lr_q2, "reports", reports, "ts", 8, timedelta(seconds=150)),
        Workload("sg-q3", "blackout", sg_q3, "readings", readings, "hour", 192, timedelta(hours=48)),
        Workload("sg-q4", "anomaly", sg_q4, "readings", readings, "hour", 24, timedelta(hours=25)),
    )
}
