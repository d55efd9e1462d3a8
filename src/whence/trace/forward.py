"""From source rows forward: which rows a `where` means, and which of them can still reach more."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa

from whence.errors import BadInputError
from whence.names import ID, SINK
from whence.store import Store
from whence.trace.condition import checked
from whence.trace.current import Run
from whence.trace.engine import ask, connect, text
from whence.trace.kept import kept_rows
from whence.trace.parquet import place, unchanged
from whence.trace.rows import Resolver, segments_of

_FILE, _PATH, _BASE = "_whence_file", "_whence_path", "_whence_base"


def matching(store: Store, source: str, declared: dict[str, Any], where: str, resolver: Resolver) -> list[int]:
    """The ids of the source rows for which `where` holds; files are scanned in place."""
    if declared["keep"] == "rows":
        table, _ = kept_rows(store, source, None)
        names = [n for n in table.column_names if n != ID] or declared["columns"]
        condition = checked(where, [*names, ID])
        if not table.num_rows:
            return []
        with connect() as connection:
            connection.register("kept", table)
            found = ask(connection, f"SELECT DISTINCT {ID} FROM kept WHERE ({condition}\n) ORDER BY 1", where)
        return [int(i) for i in found.column(ID).to_pylist()]
    if declared["ids"] != "file":
        raise BadInputError(
            f'the rows of source "{source}" cannot be searched',
            f'ids by {declared["ids"]}, keep="ids": the store has no values',
            'ask by id=, or declare keep="rows"',
        )
    return _in_files(store, source, declared, where, resolver.relocate)


def _in_files(
    store: Store, source: str, declared: dict[str, Any], where: str, relocate: Mapping[str, str]
) -> list[int]:
    columns = [field["name"] for field in declared["schema"]["fields"]]
    condition = checked(where, [*columns, ID])
    paths, bases = [], []
    for segment in segments_of(store, source):
        if not unchanged(segment, relocate):
            paths.append(place(segment["segment"], relocate)[1])
            bases.append(segment["base"])
    if not paths:
        return []
    patterns = [_literally(path) for path in paths]
    with connect(files=[*paths, *patterns]) as connection:
        connection.register("bases", pa.table({_PATH: paths, _BASE: pa.array(bases, pa.int64())}))
        rows = (
            f"SELECT * EXCLUDE ({_FILE}, {_PATH}, {_BASE}, file_row_number), {_BASE} + file_row_number AS {ID}"
            f" FROM read_parquet([{', '.join(map(text, patterns))}], filename = '{_FILE}', file_row_number = true,"
            f" union_by_name = true) JOIN bases ON {_FILE} = {_PATH}"
        )
        found = ask(connection, f"SELECT {ID} FROM ({rows}) WHERE ({condition}\n) ORDER BY 1", where)
    return [int(i) for i in found.column(ID).to_pylist()]


def _literally(path: str) -> str:
    """A path in which DuckDB finds no wildcards."""
    return re.sub(r"([*?\[])", r"[\1]", path)


def known(store: Store, source: str, declared: dict[str, Any], row_id: int) -> bool:
    """Whether a segment that was read holds this id; of keyed sources that cannot be known."""
    if declared["ids"] in ("key", "rate"):
        return False
    return any(s["base"] + s["first"] <= row_id <= s["base"] + s["last"] for s in segments_of(store, source))


def alive(
    store: Store, source: str, declared: dict[str, Any], ids: list[int], every: dict[str, list[Run]], resolver: Resolver
) -> frozenset[int]:
    """The ids of rows that can still reach more: not before min over sinks of (watermark - U) (Ananke, Theorem 4.1)."""
    limits: list[datetime | None] = []
    for own in every.values():
        for run in own:
            sources = run.network.declared["sources"]
            if source not in sources or not run.network.streaming or run.network.declared["stateless"]:
                continue
            bound = sources[source]["bound"]
            limits.append(
                run.watermark - timedelta(microseconds=bound) if bound is not None and run.watermark else None
            )
    if not limits:
        return frozenset()
    column = declared["event_time"]
    if column is None or None in limits:
        return frozenset(ids)
    horizon = min(limit for limit in limits if limit is not None)
    table = resolver.resolve(source, ids).table
    if column not in table.column_names:
        return frozenset(ids)
    times = zip(table.column(ID).to_pylist(), table.column(column).to_pylist(), strict=True)
    expired = {i for i, when in times if when is not None and _utc(when, horizon) < horizon}
    return frozenset(i for i in ids if i not in expired)


def _utc(when: datetime, like: datetime) -> datetime:
    return when if when.tzinfo else when.replace(tzinfo=like.tzinfo)


def together(by_sink: dict[str, pa.Table]) -> pa.Table:
    """The rows of several sinks in one table; a column that has two types is given as text."""
    tables = [
        t.append_column(SINK, pa.array([sink] * t.num_rows, pa.string())) for sink, t in by_sink.items() if t.num_rows
    ]
    if not tables:
        return pa.table({ID: pa.array([], pa.int64()), SINK: pa.array([], pa.string())})
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        kinds: dict[str, set[str]] = {}
        for table in tables:
            for field in table.schema:
                kinds.setdefault(field.name, set()).add(str(field.type))
        return pa.concat_tables(
            [_as_text(t, {n for n, k in kinds.items() if len(k) > 1}) for t in tables], promote_options="permissive"
        )


def _as_text(table: pa.Table, names: set[str]) -> pa.Table:
    for name in names & set(table.column_names):
        column = pa.array([None if v is None else str(v) for v in table.column(name).to_pylist()], pa.string())
        table = table.set_column(table.column_names.index(name), name, column)
    return table
