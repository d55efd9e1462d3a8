"""Steps without state: each is a function from rows to rows, the same in every batch.

Example: `Explode` of `[1, 2]` gives two rows of one provenance. The surprise: a projected sliding window multiplies
a row as well, and drops one whose time is null.
"""

from __future__ import annotations

from whence.testing import description as d
from whence.testing.oracle.rows import Row
from whence.testing.oracle.values import conjuncts, evaluate, holds
from whence.testing.oracle.windows import time_of, windows_of
from whence.testing.schema import schema


def apply(step: d.Step, inputs: list[list[Row]]) -> list[Row]:
    """What a stateless step makes of its inputs' rows."""
    rows = inputs[0]
    match step:
        case d.Where():
            wanted = conjuncts(step.condition)
            return [row for row in rows if holds(wanted, row.values)]
        case d.Select():
            return [
                row.with_values({one.name: evaluate(one.value, row.values) for one in step.columns}) for row in rows
            ]
        case d.WithColumn():
            name, value = step.column.name, step.column.value
            return [row.with_values({**row.values, name: evaluate(value, row.values)}) for row in rows]
        case d.Rename():
            return [
                row.with_values({step.new if name == step.old else name: value for name, value in row.values.items()})
                for row in rows
            ]
        case d.Drop():
            return [row.with_values({n: v for n, v in row.values.items() if n not in step.columns}) for row in rows]
        case d.Watermark():
            return rows
        case d.Explode():
            return [made for row in rows for made in _explode(step, row)]
        case d.Union():
            return _union(step, inputs)
        case d.WindowColumn():
            return [
                row.with_values({**row.values, step.window.name: span})
                for row in rows
                for span in windows_of(step.window, time_of(step.window, row.values))
            ]
    raise TypeError(f"{type(step).__name__} keeps state")


def _explode(step: d.Explode, row: Row) -> list[Row]:
    elements = row.values[step.array] or ((None,) if step.outer else ())
    others = {name: value for name, value in row.values.items() if name != step.array}
    return [row.with_values({**others, step.name: element}) for element in elements]


def _union(step: d.Union, inputs: list[list[Row]]) -> list[Row]:
    names = [one.name for one in schema(step)]
    made = []
    for branch, rows in zip(step.branches, inputs, strict=True):
        own = names if step.by_name else [one.name for one in schema(branch)]
        for row in rows:
            made.append(row.with_values({to: row.values[at] for to, at in zip(names, own, strict=True)}))
    return made
