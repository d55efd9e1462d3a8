"""A description as text that a person can read: one step a line, inputs indented below.

Example: `Where v > 3` / `  Scan s`. The surprise: it is for failures only; nothing reads it back.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from whence.testing.description import Computed, Named, Step, Table
from whence.testing.expression import Expression


def text(step: Step, indent: int = 0) -> str:
    """The step and all below it."""
    parts = []
    for one in fields(step):
        value = getattr(step, one.name)
        if _is_step(value) or value in (None, (), False):
            continue
        parts.append(f"{one.name}={_value(value)}")
    line = "  " * indent + " ".join([type(step).__name__, *parts])
    return "\n".join([line, *(text(below, indent + 1) for below in step.inputs())])


def _is_step(value: Any) -> bool:
    return isinstance(value, Step) or (isinstance(value, tuple) and any(isinstance(v, Step) for v in value))


def _value(value: Any) -> str:
    match value:
        case Expression():
            return value.sql()
        case Named():
            return f"{value.value.sql()} as {value.name}"
        case Computed():
            inner = ", ".join(one.sql() for one in (value.argument, value.by) if one is not None)
            return f"{value.function}({inner}) as {value.name}"
        case Table():
            return ("static " if value.static else "") + value.name
        case tuple():
            return "[" + ", ".join(_value(one) for one in value) + "]"
    return str(value)
