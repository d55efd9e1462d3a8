"""A description as DataFrame calls: `build(description, {"s": df})` is the frame that it describes.

Only method names that a plain DataFrame and a traced one share, with strings and F functions as arguments: so the
same calls give the reference and the thing under test. The surprise: equal subtrees are built once, so a stream
that is read by two branches is one source to Spark and both see it in the same batches.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F

from whence.testing import description as d
from whence.testing.expression import quoted

Frame = Any  # a DataFrame or whatever mirrors its methods


def build(description: d.Step, frames: Mapping[str, Frame]) -> Frame:
    """The frame that a description describes, over one frame a source name."""
    built: dict[d.Step, Frame] = {}
    for step in description.walk():
        if isinstance(step, d.Scan):
            built[step] = frames[step.table.name]
        else:
            built[step] = _one(step, [built[below] for below in step.inputs()])
    return built[description]


def _one(step: d.Step, inputs: list[Frame]) -> Frame:
    frame = inputs[0]
    match step:
        case d.Where():
            return frame.where(step.condition.sql())
        case d.Select():
            return frame.select(*[F.expr(one.value.sql()).alias(one.name) for one in step.columns])
        case d.WithColumn():
            return frame.withColumn(step.column.name, F.expr(step.column.value.sql()))
        case d.Rename():
            return frame.withColumnRenamed(step.old, step.new)
        case d.Drop():
            return frame.drop(*step.columns)
        case d.Explode():
            others = [F.col(quoted(name)) for name in frame.columns if name != step.array]
            explode = F.explode_outer if step.outer else F.explode
            return frame.select(*others, explode(F.col(quoted(step.array))).alias(step.name))
        case d.Union():
            for other in inputs[1:]:
                frame = frame.unionByName(other) if step.by_name else frame.union(other)
            return frame
        case d.Watermark():
            return frame.withWatermark(step.column, f"{step.seconds} seconds")
        case d.WindowColumn():
            return frame.withColumn(step.window.name, window_column(step.window))
        case d.Aggregate():
            return _aggregate(step, frame)
        case d.Join():
            return _join(step, frame, inputs[1])
        case d.Deduplicate():
            names = list(step.columns) or None
            if step.within_watermark:
                return frame.dropDuplicatesWithinWatermark(names)
            return frame.dropDuplicates(names)
        case d.Distinct():
            return frame.distinct()
    raise TypeError(f"no step is a {type(step).__name__}")


def window_column(window: d.Window) -> SparkColumn:
    """The window as Spark's function: `F.window("ts", "10 seconds", "5 seconds")`."""
    over = F.col(quoted(window.column))
    if window.over == "window_time":
        over = F.window_time(over)
    if window.gap:
        return F.session_window(over, f"{window.gap} seconds")
    if window.offset:
        return F.window(over, f"{window.size} seconds", f"{window.slide} seconds", f"{window.offset} seconds")
    if window.slide != window.size:
        return F.window(over, f"{window.size} seconds", f"{window.slide} seconds")
    return F.window(over, f"{window.size} seconds")


def _aggregate(step: d.Aggregate, frame: Frame) -> Frame:
    groups: list[SparkColumn] = []
    if step.window is not None:
        groups.append(window_column(step.window).alias(step.window.name))
    groups += [F.expr(key.value.sql()).alias(key.name) for key in step.keys]
    return frame.groupBy(*groups).agg(*[computed_column(one) for one in step.computed])


def computed_column(one: d.Computed) -> SparkColumn:
    """One aggregate as a Column: `F.sum("v").alias("total")`."""
    argument = F.expr(one.argument.sql()) if one.argument is not None else F.lit(None)
    match one.function:
        case "count_all":
            value = F.count("*")
        case "collect":
            value = F.sort_array(F.collect_list(argument))
        case "min_by" | "max_by":
            by = F.expr(one.by.sql() if one.by is not None else "null")
            value = (F.min_by if one.function == "min_by" else F.max_by)(argument, by)
        case _:
            value = getattr(F, one.function)(argument)
    return value.alias(one.name)


def _join(step: d.Join, left: Frame, right: Frame) -> Frame:
    if step.how == "cross":
        return left.crossJoin(right)
    if step.using:
        return left.join(right, on=list(step.using), how=step.how)
    if step.condition is None:
        raise ValueError(f"a {step.how} join wants columns or a condition")
    return left.join(right, on=F.expr(step.condition.sql()), how=step.how)
