"""A described network run over data: as a stream in prescribed batches, or as a whole.

Example: `run_stream(network, data, Split(((batch, batch), (batch,))), "append")` runs two batches, restarts, runs
one more, and after each stretch the batches without data that Spark adds when the watermark has moved on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from whence.testing import description as d
from whence.testing.oracle.choices import Choices, tapes
from whence.testing.oracle.moment import Mode, Moment
from whence.testing.oracle.plan import Node, batch, plan
from whence.testing.oracle.rows import Origins, Row
from whence.testing.oracle.values import Value
from whence.testing.oracle.watermark import Tracker, step_watermarks, wants_another_batch
from whence.testing.schema import schema

Data = Mapping[str, Sequence[Mapping[str, Value]]]
Files = tuple[tuple[int, ...], ...]  # row indices, file by file
Batch = Mapping[str, Files]
Stage = tuple[Batch, ...]  # batches between two starts of the query


@dataclass(frozen=True)
class Split:
    """Which rows of each stream every batch reads, in which files; a stage is one start of the query."""

    stages: tuple[Stage, ...]


@dataclass(frozen=True)
class Delivered:
    """One output row: its values in the order of the columns, and the source rows that made it.

    `group` is None, or says of which updating result this is a version.
    """

    values: tuple[Value, ...]
    origins: Origins
    group: Hashable = None


@dataclass
class Run:
    """What was delivered, batch by batch (those without data included), and what happened on the way."""

    batches: list[list[Delivered]] = field(default_factory=list)
    watermarks: list[int] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)

    def delivered(self) -> list[Delivered]:
        """All rows, of all batches."""
        return [one for batch in self.batches for one in batch]

    def current(self, mode: Mode) -> list[Delivered]:
        """What a reader has in the end: of each updating result the last version; in complete mode the last batch."""
        if mode == "complete":
            return self.batches[-1] if self.batches else []
        last: dict[Hashable, Delivered] = {}
        for number, one in enumerate(self.delivered()):
            last[("row", number) if one.group is None else ("group", one.group)] = one
        return list(last.values())


def run_stream(network: d.Step, data: Data, split: Split, mode: Mode, choices: Choices | None = None) -> Run:
    """The network run as a stream in exactly these batches."""
    choices = choices or Choices()
    root, run = plan(network), Run()
    tracker = Tracker(root)
    before = 0
    for stage in split.stages:
        tracker.restart()
        for given in stage:
            _batch(root, run, data, given, mode, choices, before, tracker.now)
            before = tracker.now
            tracker.update()
        while stage and _again(root, mode, before, tracker.now):
            run.seen["batch_without_data"] += 1
            _batch(root, run, data, {}, mode, choices, before, tracker.now)
            before = tracker.now
            tracker.update()
    stateful = sum(node.state is not None for node in root.walk())
    run.seen["chain"] += stateful > 1
    run.seen["restart"] += len(split.stages) - 1
    run.seen["delivered"] += len(run.delivered())
    return run


def run_static(network: d.Step, data: Data, choices: Choices | None = None) -> Run:
    """The network run over all the data at once, no row late and every window closed."""
    root, run = plan(network), Run()
    moment = Moment("static", choices or Choices(), run.seen)
    rows = _rows(network, data, None)
    run.batches.append(_delivered(network, batch(root, rows, dict.fromkeys(root.walk(), moment))))
    return run


def worlds(network: d.Step, data: Data, split: Split | None, mode: Mode, bound: int = 512) -> Iterator[Run]:
    """Every run that Spark could have made, up to a bound; without a split, of the static form."""
    for choices in tapes(bound):
        if split is None:
            yield run_static(network, data, choices)
        else:
            yield run_stream(network, data, split, mode, choices)


def _again(root: Node, mode: Mode, used: int, coming: int) -> bool:
    was, will = step_watermarks(root, used), step_watermarks(root, coming)
    return any(wants_another_batch(node, mode, was[node], will[node]) for node in root.walk())


def _batch(
    root: Node,
    run: Run,
    data: Data,
    given: Batch,
    mode: Mode,
    choices: Choices,
    before: int,
    now: int,
) -> None:
    late, evict = step_watermarks(root, before), step_watermarks(root, now)
    number = len(run.batches)
    moments = {node: Moment(mode, choices, run.seen, late[node], evict[node], number) for node in root.walk()}
    rows = _rows(root.step, data, given)
    streams = [table.name for table in root.step.tables() if not table.static]
    run.seen["empty_batch"] += len(streams) > 1 and any(not rows[name] for name in streams)
    run.seen["several_files"] += any(len(files) > 1 for files in given.values())
    run.batches.append(_delivered(root.step, batch(root, rows, moments)))
    run.watermarks.append(now)


def _rows(network: d.Step, data: Data, given: Batch | None) -> dict[str, list[Row]]:
    rows = {}
    for table in network.tables():
        of_all = range(len(data[table.name]))
        if not table.static and given is not None:
            files = given.get(table.name, ())
            indices = [index for file in files for index in file]
        else:
            indices = list(of_all)
        rows[table.name] = [Row(data[table.name][at], frozenset({(table.name, at)})) for at in indices]
    return rows


def _delivered(network: d.Step, rows: list[Row]) -> list[Delivered]:
    names = [one.name for one in schema(network)]
    return [Delivered(tuple(row.values[name] for name in names), row.origins, row.group) for row in rows]
