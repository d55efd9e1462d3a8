"""Joins: both rows contribute; of an outer join's null-extended row, the one that is there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from whence.identity.expressions import derived_id, quoted
from whence.modes import Tag
from whence.names import ID, LEFT, RIGHT, tag_column
from whence.network import Join
from whence.weave.woven import Weaving, Woven, column_of


def weave_join(node: Join, inputs: list[Woven], weaving: Weaving) -> Woven:
    """The joined row's id is (step, left id, right id); its tag pairs both tags."""
    left, right = inputs
    if left.tag is None or right.tag is None:
        return Woven(_met(node, left.frame, right.frame, weaving))
    if node.how == "left_anti" or (node.how == "left_semi" and not right.tag):
        return Woven(_met(node, left.frame, right.plain(), weaving), left.tag)
    if node.how == "left_semi":
        return _semi(node, left, right, weaving)
    left, right = left.detached(weaving), right.detached(weaving)
    here, there = _side(left, LEFT), _side(right, RIGHT)
    frame = _met(node, here.frame, there.frame, weaving)
    frame, tag = _paired(frame, here.tag or {}, there.tag or {}, weaving)
    long = T.LongType()
    row_id = derived_id(weaving.labels[id(node)], [(F.col(LEFT), long), (F.col(RIGHT), long)])
    return Woven(frame.withColumn(ID, row_id).drop(LEFT, RIGHT), tag)


def _met(node: Join, left: DataFrame, right: DataFrame, weaving: Weaving) -> DataFrame:
    weaving.sides[(id(node.inputs), 0)] = left
    weaving.sides[(id(node.inputs), 1)] = right
    return _joined(node, left, right)


def _joined(node: Join, left: DataFrame, right: DataFrame) -> DataFrame:
    if node.how == "cross" and not node.on and not node.using:
        return left.crossJoin(right)
    on: Any = list(node.using) or [expr.value for expr in node.on]
    return left.join(right, on=on or None, how=node.how)


def _side(woven: Woven, column: str) -> Woven:
    """One side with its hidden columns renamed, so that both fit into one row."""
    renamed = {ID: column} | {part.column: f"{part.column}{column}" for part in (woven.tag or {}).values()}
    tag = {s: replace(part, column=renamed[part.column]) for s, part in (woven.tag or {}).items()}
    return Woven(woven.frame.withColumnsRenamed(renamed), tag)


def _paired(frame: DataFrame, left: Tag, right: Tag, weaving: Weaving) -> tuple[DataFrame, Tag]:
    """The joined frame with one part a source."""
    tag: Tag = {}
    added: dict[str, Column] = {}
    for source in sorted(left.keys() | right.keys(), key=lambda s: weaving.index[s]):
        column = tag_column(weaving.index[source])
        parts = [side[source] for side in (left, right) if source in side]
        if len(parts) == 1:
            added[column] = column_of(parts[0])
            tag[source] = replace(parts[0], column=column)
        else:
            a, b = parts
            added[column] = weaving.mode.pair((column_of(a), a), (column_of(b), b))
            tag[source] = replace(a, column=column, many=True)
    used = [part.column for side in (left, right) for part in side.values()]
    return frame.withColumns(added).drop(*used) if added else frame, tag


def _semi(node: Join, left: Woven, right: Woven, weaving: Weaving) -> Woven:
    """A semi join on columns: each key of the right side once, with the tags of all rows that have it."""
    left, right = left.detached(weaving), right.detached(weaving)
    folded: Tag = {}
    folds = []
    for source, part in (right.tag or {}).items():
        column = f"{tag_column(weaving.index[source])}{RIGHT}"
        folded[source] = replace(part, column=column, many=True)
        folds.append(weaving.mode.fold(column_of(part), part).alias(column))
    keys = [F.col(quoted(name)) for name in node.using]
    matches = right.frame.groupBy(*keys).agg(*folds)
    here = _side(left, LEFT)
    frame = here.frame.join(matches, on=list(node.using), how="inner")
    frame, tag = _paired(frame, here.tag or {}, folded, weaving)
    return Woven(frame.withColumnRenamed(LEFT, ID), tag)
