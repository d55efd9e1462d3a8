"""Which columns of a step anything above it needs: Spark drops the others before it runs.

Example: in `s.dropDuplicates(["k"]).groupBy("k").count()` no step reads the event time. The surprise: so it is gone
below the deduplication, and a deduplication that does not see the event time drops no late row.
"""

from __future__ import annotations

from whence.testing import description as d
from whence.testing.oracle.values import conjuncts
from whence.testing.schema import event_times, schema

Names = frozenset[str]


def needed(step: d.Step, above: Names) -> list[Names]:
    """For each input of a step, the columns that it needs of it, given those that are needed of the step."""
    match step:
        case d.Where():
            return [above | step.condition.columns()]
        case d.Select():
            return [_read(step.columns, above)]
        case d.WithColumn():
            own = step.column.value.columns() if step.column.name in above else frozenset()
            return [(above - {step.column.name}) | own]
        case d.Rename():
            return [frozenset(step.old if name == step.new else name for name in above)]
        case d.Drop():
            return [above]
        case d.Watermark():
            return [above | {step.column}]
        case d.Explode():
            return [(above - {step.name}) | {step.array}]
        case d.WindowColumn():
            return [(above - {step.window.name}) | {step.window.column}]
        case d.Union():
            return _union(step, above)
        case d.Aggregate():
            return [_aggregate(step, above)]
        case d.Join():
            names = above | frozenset(step.using)
            for part in conjuncts(step.condition):
                names |= part.columns()
            return [names & _names(side) for side in step.inputs()]
        case d.Deduplicate() if step.columns:
            times = frozenset(event_times(step)) if step.within_watermark else frozenset()
            return [above | frozenset(step.columns) | times]
    return [_names(below) for below in step.inputs()]


def _names(step: d.Step) -> Names:
    return frozenset(one.name for one in schema(step))


def _read(columns: tuple[d.Named, ...], above: Names) -> Names:
    return frozenset().union(*(one.value.columns() for one in columns if one.name in above))


def _union(step: d.Union, above: Names) -> list[Names]:
    if step.by_name:
        return [above for _ in step.branches]
    places = [at for at, one in enumerate(schema(step)) if one.name in above]
    return [frozenset(schema(branch)[at].name for at in places) for branch in step.branches]


def _aggregate(step: d.Aggregate, above: Names) -> Names:
    names = _read(step.keys, frozenset(key.name for key in step.keys))
    for one in step.computed:
        for part in (one.argument, one.by):
            if part is not None and one.name in above:
                names |= part.columns()
    return names | {step.window.column} if step.window else names
