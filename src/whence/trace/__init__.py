"""Asking: backward, forward. Without Spark."""

from whence.trace.answer import Answer, Impact, Missing, Trace
from whence.trace.lineage import Lineage, SinkInfo, SourceInfo, open

__all__ = ["Answer", "Impact", "Lineage", "Missing", "SinkInfo", "SourceInfo", "Trace", "open"]
