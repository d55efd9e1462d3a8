"""Which sink a stream writer asks for: every format that Spark has, or a refusal by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyspark.sql import types as T

from whence.deliver.sinks import (
    BatchFunctionSink,
    ConsoleSink,
    DeltaSink,
    FileSink,
    FormatSink,
    NoopSink,
    RowFunctionSink,
    Sink,
    TableSink,
)
from whence.errors import BadInputError, RefusedError, SinkError
from whence.frame.capture import options_of
from whence.store import locate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FILES = ("parquet", "json", "csv", "orc", "text")
TEMPORARY = ("console", "noop", "foreach", "foreachBatch")
"""Sinks for which Spark makes a temporary checkpoint where none is given."""

_OWN = ("path", "checkpointLocation")


@dataclass
class Target:
    """What the user said of the sink."""

    format: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    output_mode: str = "append"
    partition_by: tuple[str, ...] = ()
    table: str | None = None
    batch_function: Callable[[DataFrame, int], None] | None = None
    row_function: Any = None

    @property
    def kind(self) -> str:
        """The sink's kind, in Spark's word."""
        if self.batch_function is not None:
            return "foreachBatch"
        if self.row_function is not None:
            return "foreach"
        return "table" if self.table else (self.format or "parquet").lower()

    @property
    def path(self) -> str:
        """The path option."""
        path = next((v for k, v in self.options.items() if k.lower() == "path"), None)
        if path is None:
            raise BadInputError(f"sink {self.kind} needs a path", hint='.option("path", "out/") or .start("out/")')
        return str(path)


def sink_of(target: Target, plain: DataFrame) -> Sink:
    """The sink, or a refusal that says what to use instead."""
    kind, options = target.kind, options_of(target.options, *_OWN)
    if target.batch_function is not None:
        return BatchFunctionSink(target.batch_function)
    if target.row_function is not None:
        return RowFunctionSink(target.row_function)
    if target.table:
        return _table(target, options)
    if kind in FILES:
        return _files(target, kind, options, plain)
    if kind == "delta":
        _only(target, "append", "complete")
        return DeltaSink(target.path, options, target.output_mode == "complete", target.partition_by)
    if kind == "kafka":
        return FormatSink("kafka", options)
    if kind == "console":
        rows, truncate = int(options.get("numRows", 20)), options.get("truncate", "true") != "false"
        return ConsoleSink(rows, truncate)
    if kind == "noop":
        return NoopSink()
    if kind == "memory":
        raise RefusedError(
            "the memory sink is not traced",
            "a view made inside a batch is invisible to your session",
            'read the results from the store: whence.open(store).to_spark(spark, "outputs", sink=...)',
        )
    raise RefusedError(
        f'sink format "{kind}" is not known to Whence',
        f"there are {', '.join((*FILES, 'delta', 'kafka', 'console', 'noop'))}, foreach and foreachBatch",
        "write it in a foreachBatch function",
    )


def _table(target: Target, options: dict[str, str]) -> TableSink:
    _only(target, "append", "complete")
    return TableSink(
        str(target.table), target.format, options_of(target.options, "checkpointLocation"),
        target.output_mode == "complete", target.partition_by,
    )  # fmt: skip


def _files(target: Target, kind: str, options: dict[str, str], plain: DataFrame) -> FileSink:
    _only(target, "append")
    place = locate(target.path)
    if place.at("_spark_metadata").exists():
        raise SinkError(
            f'"{target.path}" was written by a stream without lineage',
            "Spark's readers follow its _spark_metadata and would not see new files",
            "write to a new folder",
        )
    unknown = [c for c in target.partition_by if c not in plain.columns]
    if unknown:
        raise BadInputError(
            f'partition column "{unknown[0]}" not found',
            f"the result has {', '.join(plain.columns)}",
            "partitionBy names columns of the result",
        )
    rest = [f for f in plain.schema.fields if f.name not in target.partition_by]
    if kind == "text" and not (len(rest) == 1 and isinstance(rest[0].dataType, T.StringType)):
        raise SinkError(
            "a text sink takes one string column",
            f"the result has {', '.join(plain.columns)}",
            "select one, cast to string",
        )
    return FileSink(kind, place.uri, options, target.partition_by)


def _only(target: Target, *modes: str) -> None:
    if target.output_mode not in modes:
        raise BadInputError(
            f"sink {target.kind} does not support {target.output_mode} mode",
            f"it takes {' and '.join(modes)}",
            "use foreachBatch, and merge there",
        )
