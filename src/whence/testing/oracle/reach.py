"""How long a row of a stream-stream join waits: the watermark of each side's state.

Example: with `r.ts <= l.ts + 10 s` and the watermark at W, left rows up to W - 10 s (less a millisecond) wait no
more. With the event time among the keys, both sides wait by the watermark itself. The surprise: Spark reads
`l.v > 1` in the condition of an outer join as a bound on time, too, so such left rows wait for ever at "1 second".
"""

from __future__ import annotations

from dataclasses import dataclass

from whence.testing import description as d
from whence.testing import expression as e
from whence.testing.oracle.condition import split_condition
from whence.testing.oracle.values import SECOND
from whence.testing.schema import event_times, schema

MILLISECOND = 1_000


@dataclass(frozen=True)
class Bound:
    """State whose key (`pair`, its place) or time (`column`) is not after `watermark` is let go."""

    watermark: int
    pair: int | None = None
    column: str | None = None


def state_watermarks(step: d.Join, watermark: int | None) -> tuple[Bound | None, Bound | None]:
    """Bounds of the left and of the right side, where there are any."""
    if watermark is None:
        return None, None
    left, right = event_times(step.left), event_times(step.right)
    pairs = split_condition(step).pairs
    keyed = [at for at, (one, _) in enumerate(pairs) if one in left]
    keyed += [at for at, (_, other) in enumerate(pairs) if other in right]
    if keyed:
        return Bound(watermark, pair=keyed[0]), Bound(watermark, pair=keyed[0])
    return (
        _by_condition(step, step.left, left, right, watermark),
        _by_condition(step, step.right, right, left, watermark),
    )


def _by_condition(
    step: d.Join, own: d.Step, owned: dict[str, int], others: dict[str, int], watermark: int
) -> Bound | None:
    names = {one.name for one in schema(own)}
    found = []
    condition = split_condition(step)
    for part in (*condition.left, *condition.right, *condition.both):
        if not isinstance(part, e.Compare) or part.operator not in ("<", "<=", ">", ">="):
            continue
        low, high = part.left, part.right  # as low < high
        if part.operator in (">", ">="):
            low, high = high, low
        moved, shifted = _moved(low), _moved(high)
        if shifted is None or shifted[0] not in names:
            continue
        strict = 0 if part.operator in ("<", ">") else MILLISECOND
        if moved is not None and moved[0] in others:
            found.append(watermark + (moved[1] - shifted[1]) * SECOND - strict)
        elif isinstance(low, e.Literal) and low.kind == "long" and low.value is not None:
            found.append(int(low.value) * SECOND - strict)
    column = next(iter(owned), None)
    return Bound(min(found), column=column) if found and column is not None else None


def _moved(value: e.Expression) -> tuple[str, int] | None:
    """A column and the seconds that it is moved by."""
    match value:
        case e.Column():
            return value.name, 0
        case e.Shift(e.Column(name), seconds):
            return name, seconds
    return None
