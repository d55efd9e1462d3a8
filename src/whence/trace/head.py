"""The first results of an answer, as an answer: what is not shown is not read from its source either."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from whence.names import ID, RUN

if TYPE_CHECKING:
    from whence.trace.answer import Impact, Trace


def first_results(trace: Trace, count: int) -> Trace:
    """The first ``count`` results of a trace, with their edges."""
    if trace.outputs.num_rows <= count:
        return trace
    outputs = trace.outputs.slice(0, count)
    return replace(trace, outputs=outputs, edges=_leading_to(trace.edges, outputs), _found={})


def first_rows(impact: Impact, count: int) -> Impact:
    """What the first ``count`` source rows reached."""
    if len(impact.ids) <= count:
        return impact
    ids = impact.ids[:count]
    edges = impact.edges.filter(pc.is_in(impact.edges.column("source_id"), pa.array(ids, pa.int64())))
    by_sink = {sink: _reached(table, edges) for sink, table in impact.by_sink.items()}
    outputs = _reached(impact.outputs, edges)
    alive = impact.alive & set(ids)
    return replace(impact, ids=ids, edges=edges, outputs=outputs, by_sink=by_sink, alive=alive, _found={})


def _leading_to(edges: pa.Table, outputs: pa.Table) -> pa.Table:
    kept = edges.join(outputs.select([ID, RUN]), ["output_id", "run"], [ID, RUN], join_type="left semi")
    return kept.sort_by([(name, "ascending") for name in ("output_id", "source", "source_id")])


def _reached(outputs: pa.Table, edges: pa.Table) -> pa.Table:
    """The outputs that edges lead to, in their order."""
    if not outputs.num_rows:
        return outputs
    wanted = {(edge["output_id"], edge["run"]) for edge in edges.select(["output_id", "run"]).to_pylist()}
    return outputs.filter(pa.array([key(row) in wanted for row in outputs.select([ID, RUN]).to_pylist()]))


def key(row: dict[str, Any]) -> tuple[int, str]:
    """What a result is told from others by: its id and its run."""
    return row[ID], row[RUN]
