"""network x mode -> DataFrame: one short rule a step."""

from whence.weave.weave import Layout, annotated, step, stops_of, stored, weave
from whence.weave.woven import Woven

__all__ = ["Layout", "Woven", "annotated", "step", "stops_of", "stored", "weave"]
