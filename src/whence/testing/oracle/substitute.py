"""Expressions with their columns replaced: how a condition over a projection becomes one over what is below it."""

from __future__ import annotations

from dataclasses import replace

from whence.testing import expression as e


def substitute(value: e.Expression, names: dict[str, e.Expression]) -> e.Expression:
    """The expression with every column replaced by what `names` has for it."""
    if isinstance(value, e.Column):
        return names[value.name]
    changed: dict[str, object] = {}
    for name in value.__dataclass_fields__:
        part = getattr(value, name)
        if isinstance(part, e.Expression):
            changed[name] = substitute(part, names)
        elif isinstance(part, tuple):
            changed[name] = tuple(substitute(one, names) if isinstance(one, e.Expression) else one for one in part)
    return replace(value, **changed)
