"""From ids to source rows: kept rows from the store, the others in place, by their coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from whence.names import ID
from whence.store import Store, batch_rows, open_store
from whence.trace.current import source_of
from whence.trace.kept import kept_rows
from whence.trace.parquet import read_positions


@dataclass(frozen=True)
class Missing:
    """A source row that can no longer be read: its coordinates, and why."""

    source: str
    id: int
    why: str
    segment: str | None = None
    position: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return dict(self.__dict__)


@dataclass(frozen=True)
class Found:
    """Source rows: `table` has `_whence_id` and the rows' own columns."""

    table: pa.Table
    missing: tuple[Missing, ...] = ()
    ambiguous: tuple[int, ...] = ()


@dataclass(frozen=True)
class Resolver:
    """Reads source rows of a store. It pickles, and opens the store where it is used."""

    folder: str
    relocate: Mapping[str, str] = field(default_factory=dict)
    storage_options: Mapping[str, str] | None = None
    store: Store | None = field(default=None, compare=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "store": None}

    def resolve(self, source: str, ids: Sequence[int]) -> Found:
        """The rows of `source` with these ids."""
        store = self.store or open_store(self.folder, storage_options=self.storage_options)
        declared = source_of(store, source)
        wanted = sorted(set(ids))
        tables: list[pa.Table] = []
        missing: list[Missing] = []
        if declared["keep"] == "rows":
            kept, freed = kept_rows(store, source, wanted)
            if kept.num_rows:
                tables.append(kept)
            have = set(kept.column(ID).to_pylist())
            wanted = [i for i in wanted if i not in have]
            if declared["ids"] in ("key", "rate"):
                why = "freed: keep_for has passed" if freed else "not kept"
                return _found(tables, [Missing(source, i, why) for i in wanted], declared)
        if declared["ids"] in ("key", "rate"):
            why = f'ids by {declared["ids"]} cannot be read back: declare keep="rows"'
            return _found([], [Missing(source, i, why) for i in wanted], declared)
        self._in_place(store, source, declared, wanted, tables, missing)
        return _found(tables, missing, declared)

    def _in_place(
        self, store: Store, source: str, declared: dict[str, Any], wanted: list[int],
        tables: list[pa.Table], missing: list[Missing],
    ) -> None:  # fmt: skip
        segments = segments_of(store, source)
        bases = np.array([s["base"] + s["first"] for s in segments], dtype=np.int64)
        at = np.searchsorted(bases, np.array(wanted, dtype=np.int64), side="right") - 1
        by_segment: dict[int, list[int]] = {}
        for row_id, number in zip(wanted, at.tolist(), strict=True):
            if number < 0 or row_id > segments[number]["base"] + segments[number]["last"]:
                missing.append(Missing(source, row_id, "no segment that the store knows holds it"))
            else:
                by_segment.setdefault(number, []).append(row_id)
        for number, own in by_segment.items():
            segment = segments[number]
            positions = [row_id - segment["base"] for row_id in own]
            if segment["segment"].startswith("kafka:"):
                why = "a Kafka row that was not kept"
                missing += [Missing(source, i, why, segment["segment"], p) for i, p in zip(own, positions, strict=True)]
                continue
            table, why = read_positions(segment, positions, self.relocate, declared["schema"])
            if table is None:
                missing += [Missing(source, i, why, segment["segment"], p) for i, p in zip(own, positions, strict=True)]
            else:
                tables.append(table.add_column(0, ID, pa.array(own, pa.int64())))


def segments_of(store: Store, source: str) -> list[dict[str, Any]]:
    """Every segment of a source, each once, by base; a topic partition read in many batches is one."""
    known: dict[str, dict[str, Any]] = {}
    for row in batch_rows(store):
        for segment in row["segments"] or []:
            if segment["source"] == source:
                before = known.get(segment["segment"])
                if before:
                    first = min(before["first"], segment["first"])
                    segment = {**segment, "first": first, "last": max(before["last"], segment["last"])}
                known[segment["segment"]] = segment
    return sorted(known.values(), key=lambda s: int(s["base"] + s["first"]))


def _found(tables: list[pa.Table], missing: list[Missing], declared: dict[str, Any]) -> Found:
    if not tables:
        columns = declared["columns"] or [field["name"] for field in declared["schema"]["fields"]]
        return Found(pa.table({ID: pa.array([], pa.int64()), **{c: pa.nulls(0) for c in columns}}), tuple(missing))
    table = pa.concat_tables(tables, promote_options="permissive").sort_by(ID)
    ids = table.column(ID).to_pylist()
    twice = sorted({a for a, b in pairwise(ids) if a == b})
    return Found(table, tuple(missing), tuple(twice))
