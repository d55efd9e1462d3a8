"""One rule a step: a node and its woven inputs become the woven output.

With mode `off` every rule is the plain DataFrame call that the user wrote, which is what makes `to_spark()` plain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from whence.identity.expressions import derived_id, quoted, source_id
from whence.modes import Part, Tag
from whence.names import ID, POSITION, tag_column
from whence.network import Aggregate, Carry, Dedup, Join, Node, Project, Source, Union, Untraced
from whence.weave.join import weave_join
from whence.weave.refs import dropping, with_tokens, without_tokens
from whence.weave.woven import Weaving, Woven, column_of

Rule = Callable[[Any, list[Woven], Weaving], Woven]


def weave_source(node: Source, inputs: list[Woven], weaving: Weaving) -> Woven:
    """A scan gets its ids; where rows are kept, each reference has its row beside it."""
    frame = cast(DataFrame, node.frame)
    if not weaving.mode.traces:
        return Woven(frame)
    frame = frame.select("*", source_id(node).alias(ID))
    if node.keep == "ids" and not weaving.dated:
        return Woven(frame, {node.source: Part(ID)})
    row = F.struct(*(F.col(quoted(c)) for c in node.columns)) if node.keep == "rows" else None
    # One constant a batch, logged with it: a batch that runs again dates its references alike. It is put here, below
    # everything the user wrote, because Spark moves no filter past what is not deterministic.
    at = F.current_timestamp() if weaving.dated else None
    column = tag_column(weaving.index[node.source])
    part = Part(column, kept=row is not None, dated=weaving.dated)
    return Woven(frame.withColumn(column, weaving.mode.leaf(F.col(ID), row, at)), {node.source: part})


def weave_untraced(node: Untraced, inputs: list[Woven], weaving: Weaving) -> Woven:
    """A plain frame has no coordinates: its rows are told apart by their values, and contribute nothing."""
    frame = cast(DataFrame, node.frame)
    if not weaving.mode.traces:
        return Woven(frame)
    values = [(F.col(quoted(f.name)), f.dataType) for f in frame.schema.fields]
    return Woven(frame.select("*", derived_id("untraced", values).alias(ID)), {})


def weave_carry(node: Carry, inputs: list[Woven], weaving: Weaving) -> Woven:
    """Rows come and go one by one; whatever rides on them rides on."""
    (below,) = inputs
    return Woven(getattr(below.frame, node.verb)(*node.args, **dict(node.options)), below.tag)


def weave_project(node: Project, inputs: list[Woven], weaving: Weaving) -> Woven:
    """A select takes the hidden columns along; what multiplies rows makes them ids of their own."""
    (below,) = inputs
    items: list[Any] = [item.value for item in node.items]
    if below.tag is None:
        return Woven(below.frame.select(*items))
    stars = any(item.text == "*" for item in node.items)
    if node.multiplier is None:
        return Woven(below.frame.select(*items, *([] if stars else below.hidden)), below.tag)
    below = below.detached(weaving)
    hidden = [] if stars else below.hidden
    label = weaving.labels[id(node)]
    if node.multiplier == "explode":
        items[node.at] = node.positioned
    frame = below.frame.select(*items, *hidden)
    apart = POSITION if node.multiplier == "explode" else node.column
    row_id = derived_id(label, [(F.col(ID), T.LongType()), (F.col(quoted(apart)), frame.schema[apart].dataType)])
    return Woven(frame.withColumn(ID, row_id).drop(POSITION), below.tag)


def weave_union(node: Union, inputs: list[Woven], weaving: Weaving) -> Woven:
    """Rows of both branches; ids say which branch, tags are brought to one layout."""
    left, right = inputs
    if left.tag is None or right.tag is None:
        return Woven(_united(node, left.frame, right.frame))
    label = weaving.labels[id(node)]
    both = sorted(left.tag.keys() | right.tag.keys(), key=lambda s: weaving.index[s])
    tag: Tag = {}
    for source in both:
        parts = [w.tag[source] for w in inputs if w.tag and source in w.tag]
        tag[source] = replace(parts[0], column=tag_column(weaving.index[source]), many=any(p.many for p in parts))
    sides = []
    for branch, woven in enumerate(inputs):
        woven = woven.detached(weaving)
        own = woven.tag or {}
        columns = [_aligned(own.get(source), tag[source], weaving) for source in both]
        long = woven.frame.schema[ID].dataType
        row_id = derived_id(label, [(F.lit(branch).cast("bigint"), long), (F.col(ID), long)])
        payload = [F.col(quoted(name)) for name in woven.payload]
        sides.append(woven.frame.select(*payload, row_id.alias(ID), *columns))
    return Woven(_united(node, *sides), tag)


def _united(node: Union, left: DataFrame, right: DataFrame) -> DataFrame:
    if node.by_name:
        return left.unionByName(right, allowMissingColumns=node.allow_missing)
    return left.union(right)


def _aligned(part: Part | None, target: Part, weaving: Weaving) -> Column:
    if part is None:
        return F.lit(None).alias(target.column)
    column = column_of(part)
    if target.many and not part.many:
        column = weaving.mode.promote(column)
    return column.alias(target.column)


def weave_aggregate(node: Aggregate, inputs: list[Woven], weaving: Weaving) -> Woven:
    """A group's row: its id is the step, its keys and its window; its tag is the fold of the group's tags."""
    (below,) = inputs
    keyed = [cast(Column, key.value) for key in node.keys]
    aggregates = [cast(Column, a.value) for a in node.aggregates]
    if below.tag is None:
        return Woven(below.frame.groupBy(*keyed).agg(*aggregates))
    tag: Tag = {}
    folds = []
    for source, part in below.tag.items():
        column = tag_column(weaving.index[source])
        tag[source] = replace(part, column=column, many=True)
        folds.append(weaving.mode.fold(column_of(part), part).alias(column))
    frame = below.frame.groupBy(*keyed).agg(*aggregates, *folds)
    fields = frame.schema.fields[: len(node.keys)]
    keys = [(F.col(quoted(field.name)), field.dataType) for field in fields]
    return Woven(frame.withColumn(ID, derived_id(weaving.labels[id(node)], keys)), tag)


def weave_dedup(node: Dedup, inputs: list[Woven], weaving: Weaving) -> Woven:
    """The survivor keeps its id and its tag: only the user's columns are compared."""
    (below,) = inputs
    if below.tag is None and not node.subset:
        return Woven(getattr(below.frame, node.verb)())
    verb = "dropDuplicates" if node.verb == "distinct" else node.verb
    return Woven(getattr(below.frame, verb)(list(node.subset or below.payload)), below.tag)


_RULES: dict[type[Node], Rule] = {
    Source: weave_source,
    Untraced: weave_untraced,
    Carry: weave_carry,
    Project: weave_project,
    Union: weave_union,
    Aggregate: weave_aggregate,
    Join: weave_join,
    Dedup: weave_dedup,
}


def apply(node: Node, inputs: list[Woven], weaving: Weaving) -> Woven:
    """One step."""
    if not node.refs:
        return _RULES[type(node)](node, inputs, weaving)
    node_here = dropping(node, weaving.sides)
    woven = _RULES[type(node)](node_here, with_tokens(node_here, inputs, weaving.sides), weaving)
    return without_tokens(node_here, woven)
