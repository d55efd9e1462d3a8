"""``whence impact``: from source rows forward to the results that they reached."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Annotated, Any

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
from whence.cli.sections import SOURCE_ID, by_id, columns, left_out, many, most, own, section
from whence.cli.waiting import waiting
from whence.names import ID, SINK
from whence.trace.head import key

if TYPE_CHECKING:
    from whence.trace import Impact


def impact(
    names: Annotated[list[str], typer.Argument(metavar="[STORE] SOURCE", help=STORE_HELP)],
    where: Where = None,
    id: Id = None,
    limit: Limit = None,
    format: Shape = Format.TABLE,
) -> None:
    """Which results did these rows of SOURCE reach?

    Results of every sink of the store. As CSV: a line for each pair of a source row and a result.
    """
    check_choice(where, id)
    place, name = store_and_name(names, "source")
    screen = Screen()
    with whence.open(place) as lineage:
        with waiting(f"Following {name}"), none_found(id, name, lineage.sources):
            answer = lineage.impact(name, where=where, id=id)
        found = len(answer.ids)
        shown = most(limit) if format is Format.TABLE else most(limit, 0)
        first = answer if shown is None else answer.head(shown)
        if format is Format.JSON:
            screen.json(first.to_dict())
        elif format is Format.CSV:
            _csv(screen, first)
        else:
            _table(screen, name, first, found, limit)
    if not answer.outputs.num_rows:
        raise typer.Exit(NOTHING)


def _table(screen: Screen, source: str, impact: Impact, found: int, limit: int | None) -> None:
    if not found:
        screen.line(f"no row of {source} is like that")
        return
    rows = by_id(impact.rows(source).to_pylist())
    reached = _reached(impact)
    for number, row_id in enumerate(impact.ids, start=1):
        screen.line(f"{source}, row {number} of {found:,}{_life(row_id, impact)}", style="bold green")
        screen.table([own(rows.get(row_id, {ID: row_id}))], indent=2)
        for sink, results in reached[row_id].items():
            section(screen, f"reached {many(len(results), 'result')} of {sink}", results, limit)
        if not reached[row_id]:
            screen.line("reached no result", style="yellow", indent=2)
        screen.line()
    left_out(screen, found, limit, "row")
    notes(screen, impact)


def _life(row_id: int, impact: Impact) -> str:
    return ", can still reach more" if row_id in impact.alive else ", can reach no more"


def _reached(impact: Impact) -> dict[int, dict[str, list[dict[str, Any]]]]:
    """The results that each source row reached, by sink. Two sinks may use the same ids; no two share a run."""
    results: dict[tuple[int, str], list[tuple[str, dict[str, Any]]]] = defaultdict(list)
    for sink in impact.sinks:
        for row in impact.outputs_of(sink).to_pylist():
            results[key(row)].append((sink, row))
    found: dict[int, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    edges = {(edge["output_id"], edge["run"], edge["source_id"]) for edge in impact.edges.to_pylist()}
    for output_id, run, source_id in sorted(edges):
        for sink, row in results[output_id, run]:
            found[source_id][sink].append(row)
    return found


def _csv(screen: Screen, impact: Impact) -> None:
    """One line an edge: the source row's id, the sink, the result's id, and the result's own columns."""
    reached = _reached(impact)
    lines = [
        {SOURCE_ID: row_id, SINK: sink, ID: row[ID]} | columns(row)
        for row_id in impact.ids
        for sink, results in reached[row_id].items()
        for row in results
    ]
    screen.csv(lines, columns_of([dict.fromkeys((SOURCE_ID, SINK, ID)), *lines]))
