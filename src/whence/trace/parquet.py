"""Rows of a Parquet file by position: only the row groups that hold them are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from whence.store import local_path, locate

_PARTITION_TYPES = {"integer": pa.int32(), "long": pa.int64(), "date": pa.date32(), "double": pa.float64()}


def place(segment: str, relocate: Mapping[str, str]) -> tuple[fs.FileSystem, str]:
    """Where a file is now: ids keep the path they were made with, `relocate` says where it went."""
    where = locate(_moved(segment, relocate) or local_path(segment))
    return where.files, where.path


def _moved(segment: str, relocate: Mapping[str, str]) -> str | None:
    """Where `relocate` says that a file went; a prefix stands for a whole folder or a whole file."""
    path = local_path(segment)
    for old, new in relocate.items():
        prefix = local_path(old).rstrip("/")
        if path == prefix or path.startswith(f"{prefix}/"):
            return new.rstrip("/") + path[len(prefix) :]
    return None


def unchanged(segment: dict[str, Any], relocate: Mapping[str, str]) -> str:
    """Empty where the file is what it was when it was read, else what is wrong with it."""
    files, path = place(segment["segment"], relocate)
    info = files.get_file_info(path)
    if info.type != fs.FileType.File:
        return "missing: the file is gone"
    moved = _moved(segment["segment"], relocate) is not None
    modified = info.mtime_ns // 1_000_000 if info.mtime_ns is not None else None
    if info.size != segment["bytes"] or (
        not moved and segment["modified"] is not None and modified != segment["modified"]
    ):
        return "changed: the file is not what it was when it was read"
    return ""


def read_positions(
    segment: dict[str, Any], positions: list[int], relocate: Mapping[str, str], schema: dict[str, Any]
) -> tuple[pa.Table | None, str]:
    """The rows at ascending `positions`, or None and why not."""
    wrong = unchanged(segment, relocate)
    if wrong:
        return None, wrong
    files, path = place(segment["segment"], relocate)
    try:
        with files.open_input_file(path) as stream:
            file = pq.ParquetFile(stream, coerce_int96_timestamp_unit="us")
            pieces, start = [], 0
            for group in range(file.num_row_groups):
                end = start + file.metadata.row_group(group).num_rows
                own = [p - start for p in positions if start <= p < end]
                if own:
                    pieces.append(file.read_row_group(group).take(own))
                start = end
    except (OSError, pa.ArrowException) as error:
        return None, f"missing: the file cannot be read ({error})"
    return _typed(pa.concat_tables(pieces), segment["segment"], schema), ""


def _typed(table: pa.Table, segment: str, schema: dict[str, Any]) -> pa.Table:
    """Times in UTC as Spark means them, and the columns that the file's folders spell."""
    kinds = {field["name"]: field["type"] for field in schema["fields"]}
    for at, field in enumerate(table.schema):
        if kinds.get(field.name) == "timestamp" and pa.types.is_timestamp(field.type) and field.type.tz is None:
            column = table.column(at).cast(pa.timestamp("us")).cast(pa.timestamp("us", tz="UTC"))
            table = table.set_column(at, field.name, column)
    for part in segment.split("/")[:-1]:
        name, equals, value = part.partition("=")
        name = unquote(unquote(name))
        if equals and name in kinds and name not in table.column_names:
            table = table.append_column(name, _partition(unquote(unquote(value)), kinds[name], table.num_rows))
    return table


def _partition(value: str, kind: Any, rows: int) -> pa.Array:
    given = None if value == "__HIVE_DEFAULT_PARTITION__" else value
    return pa.array([given] * rows, pa.string()).cast(_PARTITION_TYPES.get(str(kind), pa.string()))
