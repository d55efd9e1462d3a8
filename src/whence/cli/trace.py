"""``whence trace``: from result rows back to the source rows that made them."""

from typing import Annotated

import typer

import whence
from whence.cli.options import First, Format, Id, Limit, Shape, Where, check_choice, store_and_name
from whence.cli.screen import Screen
from whence.cli.trace_view import trace_csv, trace_table
from whence.cli.waiting import waiting


def trace(
    store: First,
    sink: Annotated[str | None, typer.Argument(metavar="SINK", show_default=False)] = None,
    where: Where = None,
    id: Id = None,
    limit: Limit = None,
    format: Shape = Format.TABLE,
) -> None:
    """Which source rows made these results of SINK?"""
    check_choice(where, id)
    place, name = store_and_name(store, sink, "sink")
    screen = Screen()
    with whence.open(place) as lineage:
        with waiting(f"tracing {name}"):
            answer = lineage.trace(name, where=where, id=id)
        if format is Format.JSON:
            screen.json(answer.to_dict())
        elif format is Format.CSV:
            trace_csv(screen, answer)
        else:
            trace_table(screen, name, answer, limit)
        if answer.outputs.num_rows == 0:
            raise typer.Exit(1)
