"""The papers' workloads: queries written once, and seeded, replayable generators of their input."""

from whence.workloads.catalog import WORKLOADS, Workload
from whence.workloads.folder import read_in_order, write_in_order
from whence.workloads.linear_road import lr_q1, lr_q2
from whence.workloads.readings import readings
from whence.workloads.reports import reports
from whence.workloads.smart_grid import sg_q3, sg_q4

__all__ = [
    "WORKLOADS",
    "Workload",
    "lr_q1",
    "lr_q2",
    "read_in_order",
    "readings",
    "reports",
    "sg_q3",
    "sg_q4",
    "write_in_order",
]
