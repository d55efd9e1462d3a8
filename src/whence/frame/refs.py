"""What `frame.x` means, further down: a token, and where the column that it names has gone since."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import Column

from whence.names import REFERENCE
from whence.network import Aggregate, Carry, Join, Node, Project, Ref

_number = itertools.count(1)
_TOKEN = re.compile(rf"{REFERENCE}(\d+)_")

Scope = dict[int, dict[str, Ref]]
"""Of each frame above, by its number, the columns that can still be named, and what they are called now."""


def number() -> int:
    """A number for a frame; it enters tokens and nothing else, no id and no text."""
    return next(_number)


def token(frame: int, column: str) -> str:
    """What stands for `frame.column` in expressions."""
    return f"{REFERENCE}{frame}_{column}"


def own(frame: int, columns: Sequence[str]) -> dict[str, Ref]:
    """The columns of a frame itself."""
    return {name: Ref(token(frame, name), name) for name in columns if columns.count(name) == 1}


def used(values: Iterable[Any], scope: Scope, at: int = 0, known: tuple[Ref, ...] = ()) -> tuple[Ref, ...]:
    """The references that expressions make, but for those already `known`: the left side of a join goes first."""
    texts = [str(value) for value in values if isinstance(value, Column)]
    frames = {int(n) for text in texts for n in _TOKEN.findall(text)}
    return tuple(
        replace(ref, input=at)
        for frame in sorted(frames)
        for ref in scope.get(frame, {}).values()
        if any(ref.token in text for text in texts) and ref.token not in {other.token for other in known}
    )


@dataclass(frozen=True)
class Passing:
    """Which columns a step passes on under their names."""

    names: frozenset[str]

    @classmethod
    def through(cls, node: Node, columns: Sequence[str]) -> Passing:
        """The columns of the input that are the same columns in the output."""
        kept = {name for name in columns if columns.count(name) == 1}
        if isinstance(node, Carry):
            changed: set[str] = set()
            if node.verb == "withColumns":
                changed = {str(name) for name in dict(node.args[0])}  # type: ignore[call-overload]
            elif node.verb in ("fillna", "replace"):
                changed = {str(name).replace("`", "") for name in dict(node.options)["subset"]}  # type: ignore[attr-defined]
            return cls(frozenset(kept - changed))
        if isinstance(node, Project):
            plain = {item.text.replace("`", "") for item in node.items}
            return cls(frozenset(kept & plain))
        if isinstance(node, Aggregate):
            return cls(frozenset(kept & {key.text.replace("`", "") for key in node.keys}))
        return cls(frozenset(kept))


def after(node: Node, scope: Scope, columns: Sequence[str], passing: Passing) -> Scope:
    """What can be named below a step with one input (or the left one)."""
    present = set(columns)

    def stays(ref: Ref) -> bool:
        if ref.join is not None:
            return isinstance(node, Carry)
        return ref.column in passing.names and ref.column in present and columns.count(ref.column) == 1

    return {frame: kept for frame, refs in scope.items() if (kept := {n: r for n, r in refs.items() if stays(r)})}


def joined(node: Join, left: Scope, right: Scope, columns: Sequence[str]) -> Scope:
    """What can be named below a join: columns of one name are told apart by their side."""
    found: Scope = {}
    for side, scope in enumerate((left, right)):
        for frame, refs in scope.items():
            for name, ref in refs.items():
                if columns.count(ref.column) > 1 and ref.join is None:
                    ref = replace(ref, join=node, side=side)
                elif ref.column not in columns:
                    continue
                found.setdefault(frame, {}).setdefault(name, ref)
    return found
