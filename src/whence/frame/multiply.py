"""Selects that turn one row into several: an explode, or a sliding window. What tells rows apart enters their ids."""

from __future__ import annotations

import re
from typing import cast

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from whence.errors import RefusedError
from whence.frame.plans import analyzed
from whence.frame.texts import bare, call_argument, generator_of, has_window, text_of, window_of
from whence.names import POSITION
from whence.network import Expr, Multiplier, Node, Project

_NAME = re.compile(r"^(\w+|`[^`]+`)(\.(\w+|`[^`]+`))*$")


def project(below: Node, frame: DataFrame, items: list[Expr]) -> Project:
    """The select step for `items`, with the one item that multiplies rows, if any."""
    windows = [at for at, item in enumerate(items) if has_window(item.text)]
    generators = [at for at, item in enumerate(items) if generator_of(item.text)]
    if len(windows) + len(generators) > 1:
        raise RefusedError(
            "a select with more than one explode or window",
            f"the items are {', '.join(map(str, items))}",
            "write them in steps of their own, one after the other",
        )
    if generators:
        return _exploding(below, frame, items, generators[0])
    if windows:
        return _windowing(below, frame, items, windows[0])
    return Project((below,), items=tuple(items))


def _exploding(below: Node, frame: DataFrame, items: list[Expr], at: int) -> Project:
    item = items[at]
    generator = generator_of(item.text)
    hint = "compute the array in a withColumn step, then select F.explode of that column"
    if generator not in ("explode", "explode_outer", "posexplode", "posexplode_outer"):
        raise RefusedError(f"{generator} is not traced: its rows cannot be told apart", f"in {item}", hint)
    output = frame.select(cast(Column, item.value)).columns
    if generator.startswith("pos"):
        return Project((below,), items=tuple(items), multiplier="posexplode", column=output[0], at=at)
    argument, _ = call_argument(item.text)
    try:
        same = _NAME.match(argument) or _reads_back(frame, cast(Column, item.value), generator, argument, output)
    except AnalysisException:
        same = False
    if not same:
        raise RefusedError(f"{generator} of an expression that cannot be read back", f"in {item}", hint)
    again = F.posexplode_outer if generator == "explode_outer" else F.posexplode
    positioned = again(F.expr(argument)).alias(POSITION, *output)
    return Project((below,), items=tuple(items), multiplier="explode", column=output[0], at=at, positioned=positioned)


def _reads_back(frame: DataFrame, value: Column, generator: str, argument: str, output: list[str]) -> bool:
    """Whether the text of an explode's argument, read as SQL, is that argument: Spark makes one plan of both."""
    again = getattr(F, generator)(F.expr(argument)).alias(*output)
    first, second = (_unnumbered(analyzed(frame.select(column))) for column in (value, again))
    return first == second


def _unnumbered(plan: str) -> str:
    """A plan with the ids of its expressions replaced by their order."""
    seen: dict[str, str] = {}
    return re.sub(r"#\d+", lambda found: seen.setdefault(found.group(), f"#{len(seen)}"), plan)


def _windowing(below: Node, frame: DataFrame, items: list[Expr], at: int) -> Project:
    item = items[at]
    window = window_of(item.text)
    name = re.fullmatch(r"\s*(session_)?window\s*\(.*\)(\s+as\s+\S+)?\s*", bare(item.text), re.I | re.S)
    if not name or not window or window.kind == "session":
        raise RefusedError(
            "a time window inside another expression is not traced",
            f"in {item}",
            'select the window itself, under a name, and use it in the next step: F.window(...).alias("w")',
        )
    column = frame.select(cast(Column, item.value)).columns[0]
    multiplier: Multiplier | None = "window" if window.kind == "sliding" else None
    return Project((below,), items=tuple(items), multiplier=multiplier, column=column, at=at, window=window)


def multiplies(value: object) -> bool:
    """Whether a column expression turns one row into several."""
    text = text_of(value)
    return bool(generator_of(text)) or has_window(text)
