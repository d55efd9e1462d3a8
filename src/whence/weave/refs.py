"""Columns named as `frame.x`: for the length of one step they stand in its input under a token of their own.

So two frames with a column `id` can meet in `a.id == b.id`, and no private API is needed to tell the two apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from whence.identity.expressions import quoted
from whence.network import Aggregate, Carry, Node, Project, Ref
from whence.weave.woven import Woven

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

Sides = Mapping[tuple[int, int], "DataFrame"]
"""The frames that met in each join, by the `id` of its inputs (which naming a step does not change) and the side."""


def column_of(ref: Ref, sides: Sides) -> Column:
    """The column that a reference means."""
    if ref.join is None:
        return F.col(quoted(ref.column))
    return sides[(id(ref.join.inputs), ref.side)][ref.column]


def with_tokens(node: Node, inputs: list[Woven], sides: Sides) -> list[Woven]:
    """The inputs with a column for each token that the step uses."""
    found = list(inputs)
    for number, below in enumerate(inputs):
        added = {ref.token: column_of(ref, sides) for ref in node.refs if ref.input == number}
        if added:
            found[number] = Woven(below.frame.withColumns(added), below.tag)
    return found


def without_tokens(node: Node, woven: Woven) -> Woven:
    """The result as if the columns had been named by their own names."""
    tokens = [ref.token for ref in node.refs]
    if not isinstance(node, Aggregate | Project):
        return Woven(woven.frame.drop(*tokens), woven.tag)
    named = {ref.token: ref.column for ref in sorted(node.refs, key=lambda ref: -len(ref.token))}
    renamed = {}
    for column in woven.frame.columns:
        name = column
        for token, own in named.items():
            name = name.replace(token, own)
        if name != column:
            renamed[column] = name
    return Woven(woven.frame.withColumnsRenamed(renamed), woven.tag) if renamed else woven


def dropping(node: Node, sides: Sides) -> Node:
    """A `drop(frame.x)` with the column itself in the place of its token."""
    if not (isinstance(node, Carry) and node.verb == "drop"):
        return node
    by_token = {ref.token: ref for ref in node.refs}

    def named(arg: Any) -> Any:
        ref = by_token.get(str(arg).replace("`", "").removeprefix("Column<'").removesuffix("'>"))
        if ref is None:
            return arg
        return ref.column if ref.join is None else column_of(ref, sides)

    return replace(node, args=tuple(named(arg) for arg in node.args), refs=())
