"""One fold over the DAG, and what follows from it: order, numbers, sources, text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TypeVar

from whence.network.node import Node, Source, Untraced

T = TypeVar("T")


def fold(root: Node, rule: Callable[[Node, list[T]], T]) -> T:
    """Apply `rule(node, results of its inputs)` from the sources up, each node once.

    >>> depth = fold(root, lambda node, below: 1 + max(below, default=0))
    """
    done: dict[int, T] = {}
    for node in in_order(root):
        done[id(node)] = rule(node, [done[id(below)] for below in node.inputs])
    return done[id(root)]


def in_order(root: Node) -> Iterator[Node]:
    """Every node once, inputs before the steps that read them, left before right."""
    seen: set[int] = set()
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((below, False) for below in reversed(node.inputs))


def leaves(root: Node) -> Iterator[Source | Untraced]:
    """The scans of the query from left to right, one for each time it is read: the order of Spark's own plan."""
    if isinstance(root, Source | Untraced):
        yield root
    for below in root.inputs:
        yield from leaves(below)


def sources(root: Node) -> list[Source]:
    """The traced sources, each name once, in the order of the scans."""
    return list({leaf.source: leaf for leaf in leaves(root) if isinstance(leaf, Source)}.values())


def untraced(root: Node) -> list[Untraced]:
    """The plain DataFrames that were joined."""
    return [node for node in in_order(root) if isinstance(node, Untraced)]


def numbered(root: Node) -> dict[int, str]:
    """The label of each step that keeps state or enters an id: its kind and number along the path, by `id(node)`.

    Names that users give do not enter: renaming a step changes no id.
    """
    count: Counter[str] = Counter()
    labels: dict[int, str] = {}
    for node in in_order(root):
        if node.stateful or node.derives_id:
            count[node.kind] += 1
            labels[id(node)] = f"{node.kind} {count[node.kind]}"
    return labels


def signature(root: Node) -> list[dict[str, str]]:
    """What a checkpoint is tied to: each numbered step with its text."""
    labels = numbered(root)
    return [{"step": labels[id(n)], "text": n.text} for n in in_order(root) if id(n) in labels]


def text(root: Node) -> str:
    """The network as a tree, the sink on top: the form that `whence show` prints and tests compare."""
    labels = numbered(root)
    lines: list[str] = []

    def walk(node: Node, depth: int) -> None:
        name = f'"{node.name}" ' if node.name else ""
        label = f"{labels[id(node)]}: " if id(node) in labels else ""
        lines.append(f"{'  ' * depth}{name}{label}{node.text}")
        for below in node.inputs:
            walk(below, depth + 1)

    walk(root, 0)
    return "\n".join(lines)
