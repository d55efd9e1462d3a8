"""``whence trace``: from results back to the source rows that made them."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Annotated

import typer

import whence
from whence.cli.notes import notes
from whence.cli.options import (
    NOTHING,
    STORE_HELP,
    Format,
    Id,
    Limit,
    Shape,
    Where,
    check_choice,
    none_found,
    store_and_name,
)
from whence.cli.screen import Screen, columns_of
from whence.cli.sections import SOURCE_ID, batch, by_id, columns, left_out, many, most, own, section
from whence.cli.waiting import waiting
from whence.names import ID, SOURCE
from whence.trace.head import key

if TYPE_CHECKING:
    from whence.trace import Trace


def trace(
    names: Annotated[list[str], typer.Argument(metavar="[STORE] SINK", help=STORE_HELP)],
    where: Where = None,
    id: Id = None,
    limit: Limit = None,
    format: Shape = Format.TABLE,
) -> None:
    """Which source rows made these results of SINK?

    Without --where and --id: all results. As CSV: a line for each pair of a result and a source row.
    """
    check_choice(where, id)
    place, name = store_and_name(names, "sink")
    screen = Screen()
    with whence.open(place) as lineage:
        with waiting(f"Tracing {name}"), none_found(id, name, lineage.sinks):
            answer = lineage.trace(name, where=where, id=id)
        found = answer.outputs.num_rows
        shown = most(limit) if format is Format.TABLE else most(limit, 0)
        first = answer if shown is None else answer.head(shown)
        if format is Format.JSON:
            screen.json(first.to_dict())
        elif format is Format.CSV:
            _csv(screen, first)
        else:
            _table(screen, name, first, found, limit)
    if not found:
        raise typer.Exit(NOTHING)


def _table(screen: Screen, sink: str, trace: Trace, found: int, limit: int | None) -> None:
    if not found:
        screen.line(f"no result of {sink} is like that")
        return
    rows = {source: by_id(trace.rows(source).to_pylist()) for source in trace.sources}
    made_by = _made_by(trace)
    for number, result in enumerate(trace.outputs.to_pylist(), start=1):
        screen.line(f"{sink}, result {number} of {found:,}{batch(result)}", style="bold green")
        screen.table([own(result)], indent=2)
        for source, ids in made_by[key(result)].items():
            lines = [rows[source].get(i, {ID: i}) for i in sorted(ids)]
            section(screen, f"from {many(len(ids), 'row')} of {source}", lines, limit)
        screen.line()
    left_out(screen, found, limit, "result")
    notes(screen, trace)


def _made_by(trace: Trace) -> dict[tuple[int, str], dict[str, set[int]]]:
    """The source ids of each result, by source."""
    found: dict[tuple[int, str], dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for edge in trace.edges.to_pylist():
        found[edge["output_id"], edge["run"]][edge["source"]].add(edge["source_id"])
    return found


def _csv(screen: Screen, trace: Trace) -> None:
    """One line an edge: the result's id, the source, the source row's id, and the source row's own columns."""
    rows = {source: by_id(trace.rows(source).to_pylist()) for source in trace.sources}
    lines = [
        {ID: edge["output_id"], SOURCE: edge["source"], SOURCE_ID: edge["source_id"]}
        | columns(rows[edge["source"]].get(edge["source_id"], {}))
        for edge in trace.edges.to_pylist()
    ]
    screen.csv(lines, columns_of([dict.fromkeys((ID, SOURCE, SOURCE_ID)), *lines]))
