"""Descriptions as JSON and back: a failing network can be kept, sent and run again.

Example: `load(dump(Column("v"))) == Column("v")`, and between them `{"is": "Column", "name": "v"}`. The surprise:
only the classes of `description` and `expression` are ever made, whatever the JSON says.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from whence.testing import description, expression

_CLASSES: dict[str, type[Any]] = {
    name: one
    for module in (description, expression)
    for name, one in vars(module).items()
    if isinstance(one, type) and is_dataclass(one)
}


def dump(value: Any) -> Any:
    """A step, an expression or a part of them, in JSON's types."""
    if isinstance(value, tuple):
        return [dump(one) for one in value]
    if not is_dataclass(value):
        return value
    return {"is": type(value).__name__, **{one.name: dump(getattr(value, one.name)) for one in fields(value)}}


def load(value: Any) -> Any:
    """What `dump` was given."""
    if isinstance(value, list):
        return tuple(load(one) for one in value)
    if not isinstance(value, dict):
        return value
    parts = {name: load(one) for name, one in value.items() if name != "is"}
    return _CLASSES[value["is"]](**parts)
