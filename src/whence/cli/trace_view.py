"""How a trace is printed: under each result the source rows that made it, a table a source."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from whence.cli.options import DEFAULT_LIMIT
from whence.cli.screen import Row, Screen, columns_of
from whence.names import ID

if TYPE_CHECKING:
    from whence.trace import Trace

PLACE = ("run", "batch")


def trace_table(screen: Screen, sink: str, trace: Trace, limit: int | None) -> None:
    """Prints every result, up to the limit, with its source rows and what is missing of them."""
    results = trace.outputs.to_pylist()
    rows = {source: by_id(trace.rows(source).to_pylist()) for source in trace.sources}
    below = _below(trace)
    for number, result in enumerate(results[: most(limit)], start=1):
        screen.line(f"{sink}, result {number} of {len(results)}{place(result)}", style="bold green")
        screen.table([labelled(result)], indent=2)
        for source, ids in below[key(result)].items():
            count(screen, f"from {source}", len(ids), "row")
            rows_below(screen, [rows[source].get(i, {ID: i}) for i in ids], limit)
        screen.line()
    more(screen, len(results), limit, "result")


def trace_csv(screen: Screen, trace: Trace, limit: int | None) -> None:
    """Prints a line for each edge: the result's id, the source, the source row's id and its own columns."""
    rows = {source: by_id(trace.rows(source).to_pylist()) for source in trace.sources}
    kept = {key(result) for result in trace.outputs.to_pylist()[: most(limit, None)]}
    lines = [
        {"output_id": e["output_id"], "source": e["source"], "source_id": e["source_id"]}
        | without_id(rows[e["source"]].get(e["source_id"], {}))
        for e in trace.edges.to_pylist()
        if (e["output_id"], e["run"], e["batch"]) in kept
    ]
    first = ["output_id", "source", "source_id"]
    screen.csv(lines, first + [c for c in columns_of(lines) if c not in first])
