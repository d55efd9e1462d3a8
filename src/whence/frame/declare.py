"""`whence.source`: a DataFrame becomes a traced source; where its ids come from is settled here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from whence.errors import BadInputError, RefusedError, SourceError
from whence.frame.plans import analyzed
from whence.frame.traced import TracedFrame
from whence.network import IdKind, Source

_KAFKA = {"key", "value", "topic", "partition", "offset", "timestamp", "timestampType"}
_OPERATOR = re.compile(r"^[\s:+|!*'~-]*\s*([A-Z]\w+)(.*)$", re.M)
_LEAVES = (
    "Relation", "StreamingRelation", "StreamingRelationV2", "StreamingDataSourceV2Relation",
    "StreamingDataSourceV2ScanRelation", "DataSourceV2Relation", "DataSourceV2ScanRelation", "RelationV2",
    "LogicalRDD", "LocalRelation", "Range", "OneRowRelation", "LogicalRelation", "HiveTableRelation",
    "InMemoryRelation", "MemoryStream", "UnresolvedRelation",
)  # fmt: skip
_ROW_WISE = ("Project", "Filter", "SubqueryAlias", "View", "EventTimeWatermark", "UnresolvedHint", "ResolvedHint")


def source(
    df: DataFrame,
    name: str,
    *,
    event_time: str | None = None,
    key: str | Sequence[str] | None = None,
    ids: IdKind | None = None,
    keep: Literal["ids", "rows"] = "ids",
    columns: Sequence[str] | None = None,
    keep_for: str | int | None = None,
    salt: str = "",
) -> TracedFrame:
    """Make a DataFrame, streaming or static, a traced source called `name` in the store.

    >>> reports = whence.source(spark.readStream.schema(s).parquet("in/"), "reports", event_time="ts")

    An id comes from a row's coordinates where the source has them (Parquet, Kafka), else from `key`. `keep="rows"`
    stores the rows that contributed, `columns` says which of their columns, `keep_for` ("7 days", or a number of rows)
    for how long. A different `salt` gives different ids, should those of two segments ever overlap.
    """
    if not isinstance(df, DataFrame):
        raise BadInputError(
            f"whence.source takes a DataFrame, not {type(df).__name__}",
            hint='such as spark.read.parquet("in/")',
        )
    if not name or not isinstance(name, str):
        raise BadInputError("a source needs a name", hint='whence.source(df, "reports")')
    if keep not in ("ids", "rows"):
        raise BadInputError(f'unknown keep "{keep}"', 'there are "ids" and "rows"', 'leave it out, or keep="rows"')
    keys = (key,) if isinstance(key, str) else tuple(key or ())
    leaf = _leaf(df, name)
    _check_columns(df, name, event_time, keys, tuple(columns or ()))
    kind = _ids(df, name, leaf, keys, ids)
    if columns and keep != "rows":
        raise BadInputError("columns= says what keep= stores", f'source "{name}" keeps ids', 'add keep="rows"')
    if keep_for is not None and keep != "rows":
        raise BadInputError("keep_for= says how long keep= stores", f'source "{name}" keeps ids', 'add keep="rows"')
    _check_keep_for(keep_for)
    node = Source(
        source=name,
        ids=kind,
        key=keys,
        salt=salt,
        keep=keep,
        columns=tuple(columns or df.columns) if keep == "rows" else (),
        keep_for=keep_for,
        event_time=event_time,
        streaming=df.isStreaming,
        schema=df.schema.json(),
        frame=df,
    )
    return TracedFrame(node, df)


def _leaf(df: DataFrame, name: str) -> str:
    """The scan's line in the plan; anything but filters and one-to-one projections above it is refused."""
    text = analyzed(df)
    lines = _OPERATOR.findall(text[text.find("==", 4) :] if "==" in text else text)
    for operator, _ in lines:
        if operator not in (*_LEAVES, *_ROW_WISE):
            raise RefusedError(
                f'source "{name}": {operator} above the scan',
                "ids are coordinates of rows as they are read: after such a step two rows could share one",
                "give whence.source the scan itself and write this step on the traced frame",
            )
    if re.search(r"explode|inline\(|stack\(", text) and "Generate" in text:
        raise RefusedError(f'source "{name}": Generate above the scan', hint="explode on the traced frame")
    return next((operator + rest for operator, rest in lines if operator in _LEAVES), "")


def _check_columns(
    df: DataFrame, name: str, event_time: str | None, keys: tuple[str, ...], kept: tuple[str, ...]
) -> None:
    for column in (*([event_time] if event_time else []), *keys, *kept):
        if column not in df.columns:
            raise BadInputError(
                f'source "{name}": column "{column}" not found',
                f"it has {', '.join(df.columns)}",
                "event_time, key and columns name columns of the DataFrame",
            )
    if event_time and not isinstance(df.schema[event_time].dataType, T.TimestampType | T.TimestampNTZType):
        raise BadInputError(
            f'source "{name}": event_time "{event_time}" is {df.schema[event_time].dataType.simpleString()}',
            "event time is a timestamp",
            f'cast it first: df.withColumn("{event_time}", F.col("{event_time}").cast("timestamp"))',
        )


def _ids(df: DataFrame, name: str, leaf: str, keys: tuple[str, ...], ids: IdKind | None) -> IdKind:
    if ids not in (None, "file", "kafka", "rate", "key"):
        raise BadInputError(
            f'unknown ids "{ids}"', "there are file, kafka, rate, key", "leave it out where Whence can tell"
        )
    if ids == "key" and not keys:
        raise SourceError(f'source "{name}" has no key', hint='name its columns: key="id"')
    if keys and ids in (None, "key"):
        return "key"
    if keys:
        raise SourceError(f'source "{name}": key= and ids="{ids}" contradict each other', hint="leave one out")
    detected = ids or _detected(df, leaf)
    if detected is None:
        raise SourceError(
            f'source "{name}" has no ids',
            f"its rows have no coordinates that Whence knows ({leaf.split(',')[0][:80].strip() or 'no scan found'})",
            'declare what identifies a row: key="id" or key=["a", "b"]; a rate source is declared by ids="rate"',
        )
    _check_coordinates(df, name, detected)
    return detected


def _detected(df: DataFrame, leaf: str) -> IdKind | None:
    if re.search(r"^Relation\b.*\]\s+parquet\b|^StreamingRelation\b.*FileSource\[", leaf) and _has_row_index(df):
        return "file"
    return "kafka" if set(df.columns) >= _KAFKA and not leaf.startswith("Relation") else None


def _has_row_index(df: DataFrame) -> bool:
    """Whether the files tell the index of a row: of Spark's formats only Parquet does."""
    try:
        return bool(df.select("_metadata.file_path", "_metadata.row_index").schema)
    except PySparkException:
        return False


def _check_coordinates(df: DataFrame, name: str, kind: IdKind) -> None:
    needed = {"kafka": ("topic", "partition", "offset"), "rate": ("value",)}.get(kind, ())
    missing = [column for column in needed if column not in df.columns]
    if missing:
        raise SourceError(
            f'source "{name}": ids="{kind}" needs column {missing[0]}',
            f"it has {', '.join(df.columns)}",
            'keep that column, or declare key="id"',
        )
    if kind == "file" and not _has_row_index(df):
        raise SourceError(f'source "{name}": its files tell no row index', "only Parquet files do", 'declare key="id"')


def _check_keep_for(keep_for: str | int | None) -> None:
    from whence.frame.texts import duration

    if isinstance(keep_for, str) and not duration(keep_for):
        raise BadInputError(f'keep_for "{keep_for}" is not a time', hint='"7 days", "12 hours", or a number of rows')
    if isinstance(keep_for, int) and keep_for <= 0:
        raise BadInputError(f"keep_for {keep_for} keeps nothing", hint='"7 days", "12 hours", or a number of rows')
