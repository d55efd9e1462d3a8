"""Faults, by name: each breaks one thing in identity, weave, delivery or store, and names the probe that sees it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from faults import probes
from oracle.hand_written import LEFT, case, joined
from pyspark.sql import functions as F

from whence.deliver import batch, capture, segments
from whence.deliver.sinks import files
from whence.frame import capture as frame_capture
from whence.identity import expressions
from whence.modes.listed import Listed
from whence.names import ID
from whence.testing import description as d
from whence.trace import current, lineage, parquet
from whence.weave import join, rules

Seed = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True)
class Fault:
    """What is broken, how, and which probe sees it."""

    name: str
    seed: Seed
    probe: probes.Probe


FAULTS: list[Fault] = []


def fault(name: str, probe: probes.Probe) -> Callable[[Seed], Seed]:
    """Enter a fault."""

    def enter(seed: Seed) -> Seed:
        FAULTS.append(Fault(name, seed, probe))
        return seed

    return enter


def wrapped(patch: pytest.MonkeyPatch, owner: Any, name: str, change: Callable[..., Any]) -> None:
    """Replace a function by one that is given the original first."""
    original = getattr(owner, name)
    patch.setattr(owner, name, lambda *args, **kwargs: change(original, *args, **kwargs))


WINDOWED = probes.against_oracle(case(probes.windows()))
OUTER = probes.against_oracle(probes.outer())
STATELESS = probes.against_oracle(case(d.Scan(LEFT.tables()[0])))


# -- identity ----------------------------------------------------------------------------------------------------------


@fault("a derived id leaves null flags out", probes.two_null_keys)
def _(patch: pytest.MonkeyPatch) -> None:
    wrapped(patch, expressions, "_hashable", lambda original, column, kind: original(column, kind)[1:])


@fault("a derived id leaves the step out", probes.two_steps)
def _(patch: pytest.MonkeyPatch) -> None:
    wrapped(patch, rules, "derived_id", lambda original, step, parts: original("step", parts))


@fault("an aggregate's id leaves its first key out", WINDOWED)
def _(patch: pytest.MonkeyPatch) -> None:
    wrapped(patch, rules, "derived_id", lambda original, step, parts: original(step, parts[1:]))


@fault("an exploded row's id leaves its position out", probes.equal_elements)
def _(patch: pytest.MonkeyPatch) -> None:
    wrapped(patch, rules, "derived_id", lambda original, step, parts: original(step, parts[:1]))


@fault("a union's id leaves its branch out", probes.against_oracle(case(d.Union((LEFT, LEFT)))))
def _(patch: pytest.MonkeyPatch) -> None:
    wrapped(patch, rules, "derived_id", lambda original, step, parts: original(step, parts[1:]))


@fault("a join's id leaves the right row out", probes.against_oracle(case(joined("inner"))))
def _(patch: pytest.MonkeyPatch) -> None:
    wrapped(patch, join, "derived_id", lambda original, step, parts: original(step, parts[:1]))


@fault("rows of a file are numbered from one", STATELESS)
def _(patch: pytest.MonkeyPatch) -> None:
    wrapped(patch, rules, "source_id", lambda original, source: original(source) + 1)


@fault("a file's base is shifted by one bit too few", STATELESS)
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(expressions, "_base", lambda *segment: F.shiftrightunsigned(F.xxhash64(*segment), 1))


# -- weave -------------------------------------------------------------------------------------------------------------


@fault("a tag is lost in an outer join", OUTER)
def _(patch: pytest.MonkeyPatch) -> None:
    wrapped(patch, join, "_paired", lambda original, frame, left, right, weaving: original(frame, left, {}, weaving))


@fault("lists that meet a null become null", probes.half_empty)
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Listed, "_list", lambda self, tag, part: tag if part.many else self.promote(tag))


@fault("a group keeps only its first row's tag", WINDOWED)
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Listed, "fold", lambda self, tag, part: F.array(F.first(tag)))


@fault("a semi join forgets the right rows", probes.semi)
def _(patch: pytest.MonkeyPatch) -> None:
    wrapped(
        patch,
        join,
        "_semi",
        lambda original, node, left, right, weaving: original(node, left, dataclasses.replace(right, tag={}), weaving),
    )


@fault("a union reads the second branch's tag as the first's", probes.against_oracle(case(d.Union((LEFT, LEFT)))))
def _(patch: pytest.MonkeyPatch) -> None:
    wrapped(
        patch,
        rules,
        "_aligned",
        lambda original, part, target, weaving: F.lit(None).cast("bigint").alias(target.column),
    )


@fault("equal rows are compared with their ids", probes.against_oracle(case(d.Deduplicate(LEFT, ("k",)))))
def _(patch: pytest.MonkeyPatch) -> None:
    def dedup(original: Any, node: Any, inputs: Any, weaving: Any) -> Any:
        (below,) = inputs
        if below.tag is None:
            return original(node, inputs, weaving)
        return original(dataclasses.replace(node, subset=(*node.subset, ID)), inputs, weaving)

    wrapped(patch, rules, "weave_dedup", dedup)
    patch.setitem(rules._RULES, rules.Dedup, rules.weave_dedup)


@fault("an update adds nothing to what its group rests on", probes.against_oracle(case(probes.windows(), "update")))
def _(patch: pytest.MonkeyPatch) -> None:
    wrapped(
        patch,
        Listed,
        "_entries",
        lambda original, self, tag, part, at: F.slice(original(self, tag, part, at), 1, 0 if part.dated else 999),
    )


@fault("a version that a HAVING kept back is forgotten", probes.against_oracle(probes.having("update")))
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(frame_capture, "adds_only", lambda root: True)


@fault("a source row reached by two paths is listed twice", probes.against_oracle(case(probes.twice_reached())))
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Listed, "ids", lambda self, tag, part, at: F.sort_array(self._entries(tag, part, at)))
    wrapped(
        patch, lineage, "arrow", lambda original, connection, sql: original(connection, sql.replace("DISTINCT", ""))
    )


@fault("a kept row is the row as it was delivered", probes.kept)
def _(patch: pytest.MonkeyPatch) -> None:
    def source(original: Any, node: Any, inputs: Any, weaving: Any) -> Any:
        return original(dataclasses.replace(node, columns=("id",)), inputs, weaving)

    wrapped(patch, rules, "weave_source", source)
    patch.setitem(rules._RULES, rules.Source, rules.weave_source)


# -- delivery ----------------------------------------------------------------------------------------------------------


@fault("a batch that was committed before is not delivered again", probes.died_before_the_sink)
def _(patch: pytest.MonkeyPatch) -> None:
    def deliver(original: Any, self: Any, frame: Any, store: Any, run: str, row: Any) -> None:
        if row["batch"] not in self._committed:
            original(self, frame, store, run, row)

    wrapped(patch, batch.Delivery, "deliver", deliver)


@fault("a sink is given the rows of the second run", probes.runs_again)
def _(patch: pytest.MonkeyPatch) -> None:
    def deliver(original: Any, self: Any, frame: Any, store: Any, run: str, row: Any) -> None:
        frame.select(*self.payload).write.mode("append").parquet(self.sink.path)

    wrapped(patch, batch.Delivery, "deliver", deliver)


@fault("a file sink forgets what it has moved", probes.runs_again)
def _(patch: pytest.MonkeyPatch) -> None:
    def deliver(original: Any, self: Any, committed: Any) -> None:
        committed.frame().write.mode("append").parquet(self.path)

    wrapped(patch, files.FileSink, "deliver", deliver)


@fault("the wrong watermark is recorded", probes.watermark)
def _(patch: pytest.MonkeyPatch) -> None:
    def offsets(original: Any, self: Any, number: int) -> Any:
        return original(self, max(0, number - 1))

    wrapped(patch, batch.Checkpoint, "offsets", offsets)


@fault("a batch's second file is not among its segments", probes.rows_by_value)
def _(patch: pytest.MonkeyPatch) -> None:
    wrapped(patch, segments, "of_files", lambda original, scan, paths: original(scan, paths[:1]))


@fault("a batch's edges lose the first row group", STATELESS)
def _(patch: pytest.MonkeyPatch) -> None:
    wrapped(patch, capture, "_written", lambda original, *args, **kwargs: list(original(*args, **kwargs))[1:])


# -- store -------------------------------------------------------------------------------------------------------------


@fault("readers list the folder", probes.whole_batches)
def _(patch: pytest.MonkeyPatch) -> None:
    def listed(self: Any, store: Any, table: str) -> list[str]:
        from pathlib import Path

        root = Path(store.location.at("outputs", self.id).path)
        return [str(path) for path in root.rglob("*.parquet")]

    patch.setattr(current.Run, "files", listed)


@fault("a repeated commit counts twice", probes.commit_twice)
def _(patch: pytest.MonkeyPatch) -> None:
    from whence.store import record

    patch.setattr(record, "_first_commits", lambda table: table.to_pylist())
    wrapped(
        patch, lineage, "arrow", lambda original, connection, sql: original(connection, sql.replace("DISTINCT", ""))
    )


@fault("every version of a result is its last", probes.against_oracle(case(probes.windows(), "update")))
def _(patch: pytest.MonkeyPatch) -> None:
    wrapped(
        patch,
        lineage,
        "current_rows",
        lambda original, run, store, condition: (
            (sql := original(run, store, condition))
            and sql.replace("rank()", "1 --").replace("QUALIFY 1 --", "QUALIFY 1 = 1 --").split("QUALIFY")[0]
            + ("" if "QUALIFY" not in sql else f") WHERE ({condition}\n)")
        ),
    )


@fault("complete mode adds up its batches", probes.against_oracle(case(probes.windows(), "complete")))
def _(patch: pytest.MonkeyPatch) -> None:
    def rows(original: Any, run: Any, store: Any, condition: str) -> Any:
        everything = dataclasses.replace(run, network=dataclasses.replace(run.network, output_mode="append"))
        return original(everything, store, condition)

    wrapped(patch, lineage, "current_rows", rows)


@fault("a fingerprint is not looked at", probes.changed_file)
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(parquet, "unchanged", lambda segment, relocate: "")


@fault("an overwritten run goes on counting", probes.overwritten)
def _(patch: pytest.MonkeyPatch) -> None:
    original = current.networks
    patch.setattr(current, "networks", lambda store: [dataclasses.replace(n, replaces=False) for n in original(store)])
