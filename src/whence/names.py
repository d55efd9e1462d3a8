"""Every hidden column and every table of the store, spelled once.

The two halves of Whence (capture, which needs Spark, and asking, which does not) meet only here.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

PREFIX: Final = "_whence"
"""The reserved prefix: a user's column that starts with it is refused."""

ID: Final = "_whence_id"
ROWS: Final = "_whence_rows"
ROW: Final = "_whence_row"
BATCH: Final = "_whence_batch"
RUN: Final = "_whence_run"
SINK: Final = "_whence_sink"
TABLE: Final = "_whence_table"
SOURCE: Final = "_whence_source"
LEFT: Final = "_whence_left"
RIGHT: Final = "_whence_right"
POSITION: Final = "_whence_position"
AT: Final = "_whence_at"
REFERENCE: Final = "_whence_ref_"

FORMAT_VERSION: Final = 1
"""The version of the store's layout; a store with a newer one is refused."""

MARKER: Final = "whence.json"
BATCHES: Final = "batches"
NETWORKS: Final = "networks"
OUTPUTS: Final = "outputs"
KEPT: Final = "rows"
EDGES: Final = "edges"
SEGMENTS: Final = "segments"

UTC_MICROS: Final = pa.timestamp("us", tz="UTC")

FILE_FIELDS: Final = pa.struct(
    [("table", pa.string()), ("path", pa.string()), ("rows", pa.int64()), ("bytes", pa.int64())]
)

SEGMENT_FIELDS: Final = pa.struct(
    [
        ("source", pa.string()),
        ("segment", pa.string()),
        ("base", pa.int64()),
        ("first", pa.int64()),
        ("last", pa.int64()),
        ("bytes", pa.int64()),
        ("modified", pa.int64()),
        ("event_min", UTC_MICROS),
        ("event_max", UTC_MICROS),
    ]
)
"""A run of source rows: ids are `base + position`, from `first` to `last`; `bytes` and `modified`: its fingerprint."""

BATCHES_SCHEMA: Final = pa.schema(
    [
        ("run", pa.string()),
        ("sink", pa.string()),
        ("batch", pa.int64()),
        ("started", UTC_MICROS),
        ("committed", UTC_MICROS),
        ("offsets", pa.string()),
        ("watermark", UTC_MICROS),
        ("event_min", UTC_MICROS),
        ("event_max", UTC_MICROS),
        ("rows", pa.int64()),
        ("edges", pa.int64()),
        ("files", pa.list_(FILE_FIELDS)),
        ("segments", pa.list_(SEGMENT_FIELDS)),
    ]
)

NETWORKS_SCHEMA: Final = pa.schema(
    [
        ("run", pa.string()),
        ("sink", pa.string()),
        ("version", pa.int64()),
        ("started", UTC_MICROS),
        ("mode", pa.string()),
        ("output_mode", pa.string()),
        ("streaming", pa.bool_()),
        ("replaces", pa.bool_()),
        ("network", pa.string()),
        ("layout", pa.string()),
        ("plan", pa.string()),
        ("whence", pa.string()),
    ]
)
"""One row each time a query starts with a network the store has not seen for this run."""


def tag_column(index: int) -> str:
    """The hidden column that carries the tag of a network's source number `index`."""
    return f"_whence_tag_{index}"


def kept_column(index: int) -> str:
    """The hidden column that carries source rows of source number `index` to the store."""
    return f"_whence_kept_{index}"


def rows_column(index: int) -> str:
    """The stored column with the packed ids of source number `index`."""
    return f"_whence_rows_{index}"


def is_hidden(column: str) -> bool:
    """Whether a column is one of Whence's own: Spark compares names without case."""
    return column.lower().startswith(PREFIX)
