"""Answers are values: frozen, printable, they pickle, and the CLI, JSON and tests all print the same one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from whence.names import BATCH, ID, RUN, SINK, is_hidden
from whence.trace import head
from whence.trace.rows import Found, Missing, Resolver

if TYPE_CHECKING:
    import networkx
    import pandas


@dataclass(frozen=True, repr=False)
class Answer:
    """What `trace` and `impact` share: output rows, edges, and the source rows at their ends."""

    outputs: pa.Table
    edges: pa.Table
    untraced: tuple[str, ...] = ()
    _resolver: Resolver | None = field(default=None, compare=False)
    _found: dict[str, Found] = field(default_factory=dict, compare=False)

    @property
    def sources(self) -> list[str]:
        """The sources that edges lead to."""
        return sorted(set(self.edges.column("source").to_pylist()))

    def rows(self, source: str) -> pa.Table:
        """The source rows: `_whence_id` and their own columns, read where they are."""
        return self._resolve(source).table

    @property
    def missing(self) -> list[Missing]:
        """Coordinates of source rows that can no longer be read, and why."""
        return [m for source in self.sources for m in self._resolve(source).missing]

    @property
    def ambiguous(self) -> list[str]:
        """Identities that stand for more than one row."""
        place = [c for c in (RUN, BATCH, SINK, ID) if c in self.outputs.column_names]
        seen = Counter(zip(*(self.outputs.column(c).to_pylist() for c in place), strict=True))
        twice = sorted({one[-1] for one, count in seen.items() if count > 1})
        rows = [f"source {s}: {i}" for s in self.sources for i in self._resolve(s).ambiguous]
        return [*(f"output: {i}" for i in twice), *rows]

    def graph(self) -> networkx.DiGraph:
        """Edges from ("source", name, id) to ("output", id); nodes carry their rows as attributes."""
        import networkx as nx

        graph = nx.DiGraph()
        for row in self.outputs.to_pylist():
            graph.add_node(("output", row[ID]), kind="output", **_own(row))
        for source in self.sources:
            for row in self.rows(source).to_pylist():
                graph.add_node(("source", source, row[ID]), kind="source", source=source, **_own(row))
        for edge in self.edges.to_pylist():
            graph.add_edge(("source", edge["source"], edge["source_id"]), ("output", edge["output_id"]))
        return graph

    def to_pandas(self) -> pandas.DataFrame:
        """One line an edge: the output row's columns beside its source row's id."""
        outputs = self.outputs.to_pandas().rename(columns={ID: "output_id"})
        return self.edges.to_pandas().merge(outputs, on="output_id", how="right")

    def to_dict(self) -> dict[str, Any]:
        """The whole answer in JSON's types; its form is stable."""
        return {
            "outputs": [_plain(row) for row in self.outputs.to_pylist()],
            "edges": [_plain(row) for row in self.edges.to_pylist()],
            "rows": {source: [_plain(row) for row in self.rows(source).to_pylist()] for source in self.sources},
            "missing": [m.to_dict() for m in self.missing],
            "ambiguous": self.ambiguous,
            "untraced": list(self.untraced),
        }

    def _resolve(self, source: str) -> Found:
        if source not in self._found:
            assert self._resolver is not None
            self._found[source] = self._resolver.resolve(source, self._ids(source))
        return self._found[source]

    def _ids(self, source: str) -> list[int]:
        """The ids of the source rows that this answer is about."""
        of_source = self.edges.filter(pc.equal(self.edges.column("source"), source))
        return [int(i) for i in pc.unique(of_source.column("source_id")).to_pylist()]

    def __repr__(self) -> str:
        name = type(self).__name__
        parts = [f"{self.edges.num_rows} edges to {', '.join(self.sources) or 'no source'}"]
        lines = [f"{name}: {self.outputs.num_rows} output rows, {'; '.join(parts)}"]
        for row in self.outputs.slice(0, 5).to_pylist():
            lines.append("  " + ", ".join(f"{k}={_short(v)}" for k, v in row.items() if not k.startswith("_whence_r")))
        if self.outputs.num_rows > 5:
            lines.append(f"  ... and {self.outputs.num_rows - 5} more")
        return "\n".join(lines)


@dataclass(frozen=True, repr=False)
class Trace(Answer):
    """Backward: the source rows that made each output row.

    `outputs` has `_whence_id`, the rows' own columns, `_whence_batch` and `_whence_run`; `edges` has `output_id`,
    `source`, `source_id`, `run`, `batch`.
    """

    def head(self, count: int) -> Trace:
        """The first `count` results, with their edges; source rows that are left out are not read either."""
        return head.first_results(self, count)

    def of(self, output_id: int) -> dict[str, list[int]]:
        """The source ids of one output row, by source."""
        found: dict[str, list[int]] = {}
        for edge in self.edges.filter(pc.equal(self.edges.column("output_id"), output_id)).to_pylist():
            found.setdefault(edge["source"], []).append(edge["source_id"])
        return {source: sorted(ids) for source, ids in found.items()}


@dataclass(frozen=True, repr=False)
class Impact(Answer):
    """Forward: the output rows that source rows reached, in every sink of the store.

    `outputs` has a column `_whence_sink`; `alive` holds the ids of source rows that can still reach more.
    """

    source: str = ""
    ids: tuple[int, ...] = ()
    alive: frozenset[int] = frozenset()
    by_sink: dict[str, pa.Table] = field(default_factory=dict)

    @property
    def sinks(self) -> list[str]:
        """The sinks that were reached."""
        return sorted(sink for sink, table in self.by_sink.items() if table.num_rows)

    def head(self, count: int) -> Impact:
        """What the first `count` source rows reached; rows that are left out are not read either."""
        return head.first_rows(self, count)

    def _ids(self, source: str) -> list[int]:
        return list(self.ids) if source == self.source else super()._ids(source)

    def outputs_of(self, sink: str) -> pa.Table:
        """The output rows of one sink, with exactly its columns."""
        return self.by_sink[sink]

    def to_dict(self) -> dict[str, Any]:
        """The whole answer in JSON's types; its form is stable."""
        return {**super().to_dict(), "ids": list(self.ids), "alive": sorted(self.alive)}


def _own(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if not is_hidden(name)}


def _plain(value: Any) -> Any:
    """A value in JSON's types: times as ISO 8601, decimals and intervals as text, bytes as hex."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal | timedelta):
        return str(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    return value


def _short(value: Any) -> str:
    text = value.isoformat(sep=" ") if isinstance(value, datetime) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."
