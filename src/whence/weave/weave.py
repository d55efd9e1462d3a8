"""network x mode -> one ordinary PySpark DataFrame."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from whence.errors import BadInputError, RefusedError
from whence.identity.expressions import quoted
from whence.modes import MODES, Mode, Part
from whence.names import AT, ID, ROW, ROWS, kept_column, rows_column
from whence.network import Node, Source, fold, in_order, numbered, sources
from whence.weave.rules import apply
from whence.weave.woven import Weaving, Woven, column_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True)
class Layout:
    """How a stored batch is read: the payload's columns with their types, and by source the column of its ids.

    `kinds` says whether that column holds one id or many, `kept` which column holds source rows, `consecutive` of which
    sources the ids of rows that were read together lie together.
    """

    payload: tuple[str, ...]
    types: dict[str, str]
    ids: dict[str, str]
    kept: dict[str, str]
    kinds: dict[str, str]
    consecutive: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """As the store keeps it."""
        return {**self.__dict__, "payload": list(self.payload), "consecutive": list(self.consecutive)}


def step(node: Node, inputs: list[DataFrame], sides: dict[tuple[int, int], DataFrame]) -> DataFrame:
    """One step on plain frames: the DataFrame call that the user wrote. `sides` remembers what met in joins."""
    weaving = Weaving(MODES["off"], {}, {}, sides=sides)
    return apply(node, [Woven(frame) for frame in inputs], weaving).frame


def weave(root: Node, mode: Mode, *, dated: bool = False, stops: Iterable[str] = ()) -> Woven:
    """The whole network in one mode.

    `dated` marks each reference with its batch, so that a version of an updating result can say what it added.
    A step named in `stops` becomes a leaf: rows above it are traced to its rows and no further.
    """
    names = [source.source for source in sources(root)]
    index = {name: position for position, name in enumerate([*names, *stops])}
    weaving = Weaving(mode, numbered(root), index, dated, frozenset(stops))

    def rule(node: Node, below: list[Woven]) -> Woven:
        woven = apply(node, below, weaving)
        if woven.tag is not None and node.name in weaving.stops and not isinstance(node, Source):
            return Woven(woven.frame.drop(*(c for c in woven.hidden if c != ID)), {str(node.name): Part(ID)})
        return woven

    return fold(root, rule)


def stops_of(root: Node, to: Iterable[str]) -> tuple[list[str], list[str]]:
    """The names in `to`, as (steps to stop at, sources and steps to report)."""
    wanted = list(to)
    steps = [str(n.name) for n in in_order(root) if n.name]
    known = {source.source for source in sources(root)} | set(steps)
    for name in wanted:
        if name not in known:
            raise BadInputError(
                f'no source or step is called "{name}"',
                f"the network has {', '.join(sorted(known))}",
                'name a step with .named("...")',
            )
    return [name for name in wanted if name in steps], wanted


def annotated(woven: Woven, mode: Mode, payload: list[str], only: Iterable[str] | None = None) -> DataFrame:
    """The payload with `_whence_id` and `_whence_rows`: the papers' annotated stream."""
    reported = [(s, p) for s, p in (woven.tag or {}).items() if only is None or s in set(only)]
    lists: list[Column] = []
    for source, part in reported:
        ids = mode.ids(column_of(part), part, None)
        lists.append(_sourced(ids, source))
    empty = F.array().cast("array<struct<source:string,id:bigint>>")
    rows = F.concat(*lists) if lists else empty
    # The id stands where the last step left it: it goes behind the payload.
    last = woven.frame.withColumns({ROW: F.col(ID), ROWS: rows}).drop(*woven.hidden)
    return last.withColumnRenamed(ROW, ID)


def _sourced(ids: Column, source: str) -> Column:
    return F.transform(ids, lambda i: F.struct(F.lit(source).alias("source"), i.alias("id")))


def stored(woven: Woven, mode: Mode, read: list[Source], *, fresh: bool) -> tuple[DataFrame, Layout]:
    """The frame as the store keeps it: payload, id, packed ids a source, kept rows a source; `read` are the sources.

    A source whose reference is the row's own id has no column of ids at all.
    """
    if woven.tag is None:
        raise RefusedError(f'mode "{mode.name}" captures nothing', hint='use mode "listed" or "auto"')
    frame = woven.frame.withColumn(AT, F.current_timestamp()) if fresh else woven.frame
    at = F.col(AT) if fresh else None
    added: dict[str, Column] = {}
    ids: dict[str, str] = {}
    kept: dict[str, str] = {}
    kinds: dict[str, str] = {}
    for number, source in enumerate(read):
        part = woven.tag.get(source.source)
        if part is None:
            continue
        many = part.many or part.kept or part.dated
        kinds[source.source] = "many" if many else "one"
        ids[source.source] = ID if part.column == ID else rows_column(number)
        if part.column != ID:
            added[rows_column(number)] = mode.ids(column_of(part), part, at) if many else column_of(part)
        if part.kept:
            kept[source.source] = kept_column(number)
            added[kept_column(number)] = mode.kept(column_of(part), part, at)
    payload = dict(woven.frame.select(*(quoted(name) for name in woven.payload)).dtypes)
    frame = frame.withColumns(added) if added else frame
    frame = frame.drop(AT, *(c for c in woven.hidden if c != ID))
    consecutive = tuple(source.source for source in read if source.source in ids and source.ids != "key")
    return frame, Layout(tuple(payload), payload, ids, kept, kinds, consecutive)
