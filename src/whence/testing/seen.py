"""What a suite of random cases really met: counted from what happened, not from what was drawn.

Example: `seen.require({"late": 5})` fails a suite in which fewer than five cases dropped a late row. The surprise: a
suite whose networks mostly deliver nothing passes everything, so that is a failure, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from whence.testing.oracle.run import Run

HAPPENINGS = (
    "late",
    "null_key",
    "null_extended",
    "empty_batch",
    "chain",
    "several_files",
    "displaced",
    "version",
    "multi_batch_group",
    "batch_without_data",
    "restart",
)


@dataclass
class Seen:
    """In how many cases each thing happened."""

    cases: int = 0
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, run: Run, *more: str) -> None:
        """Counts one case, by the oracle's own run of it."""
        self.cases += 1
        self.counts.update(name for name, times in run.seen.items() if times)
        self.counts.update(more)
        self.counts["something" if run.delivered() else "nothing"] += 1

    def require(self, floors: Mapping[str, int], *, most_empty: float = 0.4) -> None:
        """Fails when something happened in too few cases, or too many delivered nothing."""
        short = {name: (self.counts[name], floor) for name, floor in floors.items() if self.counts[name] < floor}
        if short:
            raise AssertionError(f"met in too few of {self.cases} cases (met, wanted): {short}")
        if self.counts["nothing"] > most_empty * self.cases:
            raise AssertionError(f"{self.counts['nothing']} of {self.cases} networks delivered nothing")
