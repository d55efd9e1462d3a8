"""Checks of a whole network, before Spark starts."""

from __future__ import annotations

from whence.errors import RefusedError, SourceError
from whence.network.graph import leaves
from whence.network.node import Node, Source


def check(root: Node) -> None:
    """Refuse a network that has no traced source, or two different sources of one name."""
    seen: dict[str, Source] = {}
    for leaf in leaves(root):
        if not isinstance(leaf, Source):
            continue
        other = seen.setdefault(leaf.source, leaf)
        if other is not leaf and other.frame is not leaf.frame:
            raise SourceError(
                f'two sources are called "{leaf.source}"',
                "a source name stands for one set of rows: ids of both would be mixed up",
                "give one of them another name, or reuse the one TracedFrame for both branches",
            )
    if not seen:
        raise RefusedError("the network has no traced source", hint="start from whence.source(df, name)")
