"""The network: a DAG of declared steps, and what can be said of it without running it."""

from whence.network.bounds import keeps_state, static_bounds
from whence.network.checks import check
from whence.network.graph import fold, in_order, leaves, numbered, signature, sources, text, untraced
from whence.network.node import (
    Aggregate,
    Carry,
    Dedup,
    Expr,
    IdKind,
    Join,
    Multiplier,
    Node,
    Project,
    Ref,
    Source,
    Union,
    Untraced,
    Window,
)

__all__ = [
    "Aggregate",
    "Carry",
    "Dedup",
    "Expr",
    "IdKind",
    "Join",
    "Multiplier",
    "Node",
    "Project",
    "Ref",
    "Source",
    "Union",
    "Untraced",
    "Window",
    "check",
    "fold",
    "in_order",
    "keeps_state",
    "leaves",
    "numbered",
    "signature",
    "sources",
    "static_bounds",
    "text",
    "untraced",
]
