"""Sinks: each is given a committed batch and delivers its payload. What each promises: `docs/sinks.md`."""

from whence.deliver.sinks.committed import Committed, Sink
from whence.deliver.sinks.files import FileSink
from whence.deliver.sinks.others import (
    BatchFunctionSink,
    ConsoleSink,
    DeltaSink,
    FormatSink,
    NoopSink,
    RowFunctionSink,
    TableSink,
)

__all__ = [
    "BatchFunctionSink",
    "Committed",
    "ConsoleSink",
    "DeltaSink",
    "FileSink",
    "FormatSink",
    "NoopSink",
    "RowFunctionSink",
    "Sink",
    "TableSink",
]
