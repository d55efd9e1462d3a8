"""network x mode -> DataFrame: one short rule a step."""

from whence.weave.refs import column_of
from whence.weave.weave import Layout, annotated, step, stops_of, stored, weave
from whence.weave.woven import Woven

__all__ = ["Layout", "Woven", "annotated", "column_of", "step", "stops_of", "stored", "weave"]
