"""Asking: backward, forward. Without Spark."""

from whence.trace.answer import Answer, Impact, Trace
from whence.trace.lineage import Lineage, SinkInfo, SourceInfo, open
from whence.trace.rows import Missing

__all__ = ["Answer", "Impact", "Lineage", "Missing", "SinkInfo", "SourceInfo", "Trace", "open"]
