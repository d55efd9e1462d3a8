"""The properties that hold for every network, mode, split and restart, checked for one case.

Example: `check(spark, case, folder, seen)` runs a case plainly and traced, and compares both with the oracle. The
surprise: equality is asked of a whole run. Where Spark may choose, the run must equal one of the worlds that the
oracle enumerates, in its results and in all its provenance at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pyspark.sql import SparkSession

from whence.testing import description as d
from whence.testing.drive import Sources, stream
from whence.testing.oracle.rows import Origin, Origins
from whence.testing.oracle.run import Delivered, Run, Split, worlds
from whence.testing.schema import all_static
from whence.testing.seen import Seen
from whence.testing.strategies import Case
from whence.testing.traced import Captured, Engine, Result

T = TypeVar("T", bound=Hashable)
BOUND = 3_000  # worlds tried before a case is given up as undecided
SAMPLE = 5  # results of a case whose provenance is run alone


class Wrong(AssertionError):
    """A property that does not hold, with the case and what was expected."""


@dataclass(frozen=True)
class Check:
    """One case being checked."""

    spark: SparkSession
    case: Case
    folder: Path
    seen: Seen

    def everything(self, *, deep: bool = True) -> None:
        """All properties; without `deep` only those of one run with lineage."""
        plain = self.folder / "plain"
        case = self.case
        results = stream(self.spark, case.network, case.data, case.split, case.mode, plain)
        world = self.world(lambda run: counted(run) == [bag(map(repr, one)) for one in results])
        self.need(world, "plain PySpark differs from the oracle", results)
        assert world is not None
        self.seen.add(world, *self._notes())
        sources = Sources(self.spark, case.network, case.data, case.split, self.folder / "traced")
        engine = Engine(sources, case.mode, case.keyed, case.untraced)
        captured = engine.capture(self.folder / "first")
        self.transparent(captured, results)
        self.exact(captured)
        self.read_back(engine, captured)
        if deep:
            self.as_frame(engine)
            self.stable(engine, captured)
            self.static(engine, captured)

    def transparent(self, captured: Captured, plain: list[list[Any]]) -> None:
        """Results with lineage on are those with it off, batch by batch; or could have been, where Spark may choose."""
        if [bag(map(repr, one)) for one in captured.sink] == [bag(map(repr, one)) for one in plain]:
            return
        free = self.free()
        world = self.world(lambda run: counted(run) == [bag(map(repr, one)) for one in captured.sink])
        if not free or world is None:
            self.need(None, "results with lineage differ from plain ones", captured.sink, plain)

    def exact(self, captured: Captured) -> None:
        """The store's answer is one world: the results that there are now, and the source rows of each."""
        found = bag((repr(one.values), one.origins) for one in captured.results)
        sink = [bag(map(repr, one)) for one in captured.sink]

        def same(run: Run) -> bool:
            return counted(run) == sink and self.pairs(run.current(self.case.mode)) == found

        world = self.world(same)
        self.need(world, "trace() differs from the oracle", captured.results, None)
        twice = [edge for edge, count in Counter(captured.edges).items() if count > 1]
        self.need(not twice or None, "edges stored more than once", twice)
        ids = [one.id for one in captured.results]
        self.need(len(set(ids)) == len(ids) or None, "one id for two results", captured.results)
        assert world is not None
        if self.case.mode == "append":
            wanted = Counter((number, repr(one.values)) for number, rows in enumerate(world.batches) for one in rows)
            given = Counter((one.batch, repr(one.values)) for one in captured.results)
            self.need(wanted == given or None, "results recorded with other batches", captured.results)
        self.sufficient(captured.results)

    def sufficient(self, results: Sequence[Result]) -> None:
        """The source rows of a result, run alone, give that result again (Ariadne, Definition 3.1)."""
        if not replayable(self.case.network):
            return
        network = all_static(self.case.network)
        for one in results[:SAMPLE]:
            data = self._only(one.origins)
            again = (
                repr(row.values)
                for run in worlds(network, data, None, self.case.mode, BOUND)
                for row in run.delivered()
            )
            self.need(repr(one.values) in again or None, "the provenance of a result does not give it again", one)

    def _only(self, origins: Origins) -> dict[str, list[Any]]:
        """The data without the rows that are not among these; what is not traced stays whole."""
        untraced = {table.name for table in self.case.network.tables() if table.static and self.case.untraced}
        return {
            name: [row for at, row in enumerate(rows) if name in untraced or (name, at) in origins]
            for name, rows in self.case.data.items()
        }

    def read_back(self, engine: Engine, captured: Captured) -> None:
        """Traced source rows are read back as they were written, and `impact` leads forward along the same edges."""
        store = self.folder / "first" / "store"
        reached = {origin for _, origin in captured.edges}
        found = engine.source_rows(store)
        for origin, row in found.items():
            name, index = origin
            self.need(row == dict(self.case.data[name][index]) or None, "other source rows", origin, row)
        static = {table.name for table in self.case.network.tables() if table.static}
        wanted = {one for one in reached if not self.case.keyed or one[0] in static}
        self.need(set(found) == wanted or None, "source rows missing", wanted ^ set(found))
        if reached and self.case.mode == "append":
            origin = min(reached)
            outputs = {output for output, one in captured.edges if one == origin}
            self.need(engine.forward(store, origin) == outputs or None, "impact() differs from trace()", origin)

    def as_frame(self, engine: Engine) -> None:
        """`provenance()` as a stream delivers the same sets, each source row once, over the same files."""
        if len(self.case.split.stages) > 1:
            return  # the files are all there already: another split, which `stable` looks at
        batches = engine.provenance(self.folder / "frame")
        found = [bag((repr(one.values), one.origins) for one in rows) for rows in batches]
        world = self.world(lambda run: [self.pairs(rows) for rows in run.batches] == found)
        self.need(world, "provenance() differs from the oracle", batches)

    def stable(self, engine: Engine, captured: Captured) -> None:
        """Another split of the same files: exact again, and what is the same result has the same id."""
        split = regrouped(self.case.split, 2)
        again = engine.capture(self.folder / "again", stages=False, together=2)
        found = bag((repr(one.values), one.origins) for one in again.results)
        world = self.world(lambda run: self.pairs(run.current(self.case.mode)) == found, split)
        self.need(world, "trace() differs from the oracle in another split", again.results)
        self.same_ids(captured.results, again.results, "another split gives other ids")

    def static(self, engine: Engine, captured: Captured) -> None:
        """The static form is exact, and gives the same ids to what it has in common with the stream."""
        if any(isinstance(s, d.Deduplicate) and s.within_watermark for s in self.case.network.walk()):
            return  # Spark refuses it on batch frames
        rows = engine.static_provenance()
        found = bag((repr(one.values), one.origins) for one in rows)
        world = self.world(lambda run: self.pairs(run.delivered()) == found, None)
        self.need(world, "the static form differs from the oracle", rows)
        self.same_ids(captured.results, rows, "the static form gives other ids")

    def same_ids(self, some: Sequence[Result], others: Sequence[Result], message: str) -> None:
        """Results of the same values and sets have the same ids in both."""
        ids = [by_content(some), by_content(others)]
        for content in ids[0].keys() & ids[1].keys():
            if len(ids[0][content]) == len(ids[1][content]) and ids[0][content] != ids[1][content]:
                self.need(None, message, content, [ids[0][content], ids[1][content]])

    def world(self, fits: Callable[[Run], bool], split: Split | str | None = "own") -> Run | None:
        """The first world that fits."""
        case = self.case
        network = case.network
        if split is None:
            network = all_static(network)
        of = case.split if isinstance(split, str) else split
        for run in worlds(network, case.data, of, case.mode, BOUND):
            if fits(run):
                return run
        return None

    def free(self) -> bool:
        """Whether Spark had anything to choose."""
        case = self.case
        some = worlds(case.network, case.data, case.split, case.mode, 2)
        return sum(1 for _ in some) > 1

    def pairs(self, rows: Iterable[Delivered]) -> Counter[tuple[str, Origins]]:
        """Values and provenance of rows, as often as they are there; untraced sources do not count."""
        return bag((repr(one.values), self._traced(one.origins)) for one in rows)

    def _traced(self, origins: Origins) -> Origins:
        if not self.case.untraced:
            return origins
        static = {table.name for table in self.case.network.tables() if table.static}
        return frozenset(one for one in origins if one[0] not in static)

    def _notes(self) -> list[str]:
        streams = [table for table in self.case.network.tables() if not table.static]
        notes = ["overlapping_ids"] if self.case.keyed and len(streams) > 1 else []
        if self.case.keyed:
            notes.append("keyed")
        return [*notes, f"{self.case.kind} {self.case.mode}"]

    def need(self, value: object, message: str, *found: object) -> None:
        """Fails with the case unless there is a value."""
        if value is not None:
            return
        own = next(worlds(self.case.network, self.case.data, self.case.split, self.case.mode, 1))
        wanted = "\n".join(f"    batch {at}: {sorted(map(_shown, rows))}" for at, rows in enumerate(own.batches))
        shown = "\n".join(f"  found: {one}" for one in found)
        raise Wrong(f"{message}\n{self.case}\n{shown}\n  the oracle's first world:\n{wanted}")


def check(spark: SparkSession, case: Case, folder: Path, seen: Seen, *, deep: bool = True) -> None:
    """Checks all properties for a case."""
    Check(spark, case, folder, seen).everything(deep=deep)


def replayable(network: d.Step) -> bool:
    """Whether provenance alone must give a result again: no row that is left out could have hindered another one.

    A second aggregate could meet groups that have become smaller; a full outer join of streams matches null keys, and
    the static one that runs here does not.
    """
    steps = list(network.walk())
    groups = sum(isinstance(step, d.Aggregate) for step in steps)
    full = any(isinstance(step, d.Join) and step.how == "full" for step in steps)
    kept_apart = any(isinstance(step, d.Deduplicate | d.Distinct) for step in steps)
    return groups + kept_apart <= 1 and not full


def regrouped(split: Split, together: int) -> Split:
    """The split in which so many batches are one, all in one start."""
    batches = [batch for stage in split.stages for batch in stage]
    made = []
    for at in range(0, len(batches), together):
        joined: dict[str, tuple[tuple[int, ...], ...]] = {}
        for batch in batches[at : at + together]:
            for name, files in batch.items():
                joined[name] = (*joined.get(name, ()), *files)
        made.append(joined)
    return Split((tuple(made),))


def counted(run: Run) -> list[Counter[str]]:
    """Each batch's values, as often as they are there."""
    return [bag(repr(one.values) for one in rows) for rows in run.batches]


def bag(things: Iterable[T]) -> Counter[T]:
    """A multiset."""
    return Counter(things)


def by_content(results: Sequence[Result]) -> dict[tuple[str, frozenset[Origin]], list[int]]:
    """Ids by values and provenance."""
    found: dict[tuple[str, frozenset[Origin]], list[int]] = {}
    for one in sorted(results, key=lambda one: one.id):
        found.setdefault((repr(one.values), one.origins), []).append(one.id)
    return found


def _shown(one: Delivered) -> str:
    return f"{one.values} <- {sorted(one.origins)}"
