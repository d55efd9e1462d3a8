"""``whence show``: what a store holds."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

import whence
from whence.cli.options import NOTHING, STORE_VARIABLE, Format, Shape, store_and_perhaps_name
from whence.cli.screen import Screen
from whence.cli.sections import many
from whence.errors import NotFoundError

if TYPE_CHECKING:
    from whence.trace import Lineage, SinkInfo

SINK_COLUMNS = (
    "name",
    "mode",
    "output_mode",
    "runs",
    "batches",
    "last_batch",
    "last_commit",
    "rows",
    "edges",
    "sources",
)
SOURCE_COLUMNS = ("name", "ids", "key", "keep", "event_time", "segments", "sinks")


def show(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[STORE] [SINK]", help=f"The store's folder, unless {STORE_VARIABLE} names it; a sink."),
    ] = None,
    format: Shape = Format.TABLE,
) -> None:
    """What does a store hold?

    Its sinks with their runs, batches, rows and edges, its sources, and each sink's network; of one SINK the details.
    """
    place, name = store_and_perhaps_name(names or [])
    screen = Screen()
    with whence.open(place) as lineage:
        sinks = lineage.sinks() if name is None else [_sink(lineage, name)]
        used = {source for one in sinks for source in one.sources}
        sources = [source for source in lineage.sources() if name is None or source.name in used]
    if format is Format.JSON:
        screen.json({"sinks": [asdict(one) for one in sinks], "sources": [asdict(one) for one in sources]})
    elif format is Format.CSV:
        screen.csv([_line(one) for one in sinks], SINK_COLUMNS)
    elif name is not None:
        _detail(screen, sinks[0])
        _sources(screen, sources)
    else:
        _overview(screen, place, sinks)
        _sources(screen, sources)
        for one in sinks:
            _network(screen, one)
    if not sinks:
        raise typer.Exit(NOTHING)


def _sink(lineage: Lineage, name: str) -> SinkInfo:
    known = {one.name: one for one in lineage.sinks()}
    if name not in known:
        raise NotFoundError(f'the store has no sink "{name}"', f"it has {', '.join(known) or 'none yet'}")
    return known[name]


def _overview(screen: Screen, place: str, sinks: list[SinkInfo]) -> None:
    if not sinks:
        screen.line(f"nothing has been written into {place} yet")
        return
    screen.line(many(len(sinks), "sink"), style="bold")
    screen.table([_line(one) for one in sinks], columns=SINK_COLUMNS, indent=2)


def _line(sink: SinkInfo) -> dict[str, Any]:
    """A sink as one line."""
    return asdict(sink) | {"runs": len(sink.runs), "sources": ", ".join(sink.sources)}


def _sources(screen: Screen, sources: list[Any]) -> None:
    if sources:
        screen.line(f"\n{many(len(sources), 'source')}", style="bold")
        lines = [asdict(one) | {"key": ", ".join(one.key), "sinks": ", ".join(one.sinks)} for one in sources]
        screen.table(lines, columns=SOURCE_COLUMNS, indent=2)


def _detail(screen: Screen, sink: SinkInfo) -> None:
    screen.line(f"sink {sink.name}", style="bold")
    told = asdict(sink) | {
        "streaming": "stream" if sink.streaming else "static",
        "runs": ", ".join(sink.runs),
        "columns": ", ".join(sink.columns),
        "sources": ", ".join(sink.sources),
    }
    del told["name"], told["network"], told["bounds"]
    told = {"kind": told.pop("streaming"), **told}
    for source, micros in sink.bounds.items():
        told[f"reach of {source}"] = "unbounded" if micros is None else f"{micros / 1_000_000:g} s"
    screen.pairs(told, indent=2)
    _network(screen, sink)


def _network(screen: Screen, sink: SinkInfo) -> None:
    screen.line(f"\nnetwork of {sink.name}, captured as {sink.mode}", style="bold")
    for line in sink.network.splitlines():
        screen.line(line, indent=2)
