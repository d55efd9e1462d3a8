"""Reading Spark's own plan, through `explain`: the net below the checks on texts.

Whatever the words were, an operator that mixes or multiplies rows and that no step declared is found here.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import re
from collections import Counter
from typing import TYPE_CHECKING

from whence.errors import RefusedError
from whence.network import Aggregate, Carry, Dedup, Join, Node, Project, Source, Union, Untraced, fold
from whence.weave import step

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_MIXING = (
    "Window", "Aggregate", "Generate", "Expand", "Join", "LateralJoin", "AsOfJoin", "Distinct", "Deduplicate",
    "DeduplicateWithinWatermark", "Intersect", "Except", "Pivot", "Unpivot", "MapInPandas", "MapInArrow",
    "PythonMapInArrow", "FlatMapGroupsInPandas", "FlatMapGroupsWithState", "TransformWithState",
    "TransformWithStateInPySpark", "MapPartitions", "TypedFilter", "WindowGroupLimit", "RecursiveCTE",
)  # fmt: skip
_OPERATOR = re.compile(r"^[\s:+|!*'~-]*\s*([A-Z]\w+)", re.M)
_PYTHON_AGGREGATE = re.compile(r"\b(AggregateInPandas|ArrowAggregate\w*)\b")
# What follows tells a subquery from a column of that name, which a bracket never follows.
_SUBQUERY = re.compile(r"(?<![\w`.-])(scalar-subquery|exists|list|lateral-subquery|table-argument)#\d+ \[")


def explained(frame: DataFrame) -> str:
    """The plan of a frame, all stages, as `explain` prints it."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        frame.explain(extended=True)
    return printed.getvalue()


def analyzed(frame: DataFrame) -> str:
    """The analysed logical plan."""
    text = explained(frame)
    start = text.find("== Analyzed Logical Plan ==")
    end = text.find("== Optimized Logical Plan ==")
    return text[start:end] if start >= 0 else text


def operators(frame: DataFrame) -> Counter[str]:
    """How often each operator that mixes or multiplies rows stands in a plan."""
    text = analyzed(frame)
    found = Counter(name for name in _OPERATOR.findall(text) if name in _MIXING)
    if _SUBQUERY.search(text):
        found["subquery"] = len(_SUBQUERY.findall(text))
    return found


def check_plan(root: Node) -> str:
    """Refuse a network whose plan does more than its steps declare; the plan's text otherwise."""
    frames: dict[int, DataFrame] = {}
    sides: dict[tuple[int, int], DataFrame] = {}

    def plain(node: Node, below: list[DataFrame]) -> DataFrame:
        frames[id(node)] = step(node, below, sides)
        return frames[id(node)]

    whole = fold(root, plain)
    declared: Counter[str] = fold(root, lambda node, below: sum(below, _allowed(node, frames)))
    if operators(whole) - declared:
        fold(root, lambda node, below: _check_step(node, frames))
    plan = explained(whole)
    if _PYTHON_AGGREGATE.search(plan):
        raise RefusedError(
            "an aggregate in Python is not traced",
            "Spark runs it beside no other aggregate, and so not beside the rows' ids",
            "use Spark's own aggregates, or a scalar function of F.collect_list(...)",
        )
    return plan


def _check_step(node: Node, frames: dict[int, DataFrame]) -> None:
    below: Counter[str] = sum((operators(frames[id(i)]) for i in node.inputs), Counter())
    extra = operators(frames[id(node)]) - below - _allowed(node, frames)
    if extra:
        what = ", ".join(sorted(extra))
        raise RefusedError(
            f'step "{node.name or node.text}" does what cannot be traced exactly: {what}',
            f"in {node.text}",
            "use groupBy().agg(), join() or F.explode in a step of its own; docs/coverage.md lists what is traced",
        )


def _allowed(node: Node, frames: dict[int, DataFrame]) -> Counter[str]:
    if isinstance(node, Source | Untraced):
        return operators(frames[id(node)])
    if isinstance(node, Project):
        return Counter(
            {"Generate": int(node.multiplier in ("explode", "posexplode")), "Expand": int(bool(node.window))}
        )
    if isinstance(node, Aggregate):
        return Counter({"Aggregate": 1, "Expand": 1})
    if isinstance(node, Join):
        return Counter({"Join": 1})
    if isinstance(node, Dedup):
        return Counter({"Deduplicate": 1, "DeduplicateWithinWatermark": 1, "Distinct": 1})
    assert isinstance(node, Carry | Union)
    return Counter()


_TREE = re.compile(r"^([\s:+-]*)([~*!']*)(\w+)(.*)$")
_BELOW = ("Filter", "Join", "Generate", "Expand")


def watermarked(plan: str) -> list[list[str]]:
    """For each watermark of an optimised plan, what drops or multiplies a stream's rows before the watermark sees them.

    Spark marks the operators of a stream with `~`.
    """
    text = plan[plan.find("== Optimized Logical Plan ==") : plan.find("== Physical Plan ==")]
    lines = [match.groups() for match in map(_TREE.match, text.splitlines()) if match]
    found = []
    for at, (indent, _, operator, _) in enumerate(lines):
        if operator == "EventTimeWatermark":
            depth = len(indent)
            below = list(itertools.takewhile(lambda line: len(line[0]) > depth, lines[at + 1 :]))  # noqa: B023
            found.append([_plainly(name, rest) for _, mark, name, rest in below if name in _BELOW and "~" in mark])
    return found


def _plainly(operator: str, rest: str) -> str:
    """An operator's line without numbers of expressions and order of conjuncts."""
    if operator in ("Generate", "Expand"):
        return operator
    if operator == "Join":
        return f"{operator} {rest.split()[0].rstrip(',').replace('LeftSemi', 'Inner')}"
    words = re.sub(r"#\d+L?|-T\d+ms|[()]", " ", rest).split()
    return " ".join([operator, *sorted(words)])


def check_watermarks(plain: str, woven: str) -> None:
    """Refuse a network whose watermarks would see other rows with tags than without.

    Spark moves filters below `withWatermark`, so what a watermark sees is the optimiser's decision.
    """
    without, within = watermarked(plain), watermarked(woven)
    if without != within:
        raise RefusedError(
            "a watermark would see other rows with lineage than without",
            f"Spark moves filters below withWatermark; without: {without}; with: {within}",
            "write the filters that should come first in front of withWatermark, or before groupBy",
        )
