"""Strategies for steps without state, stacked on a step that is there.

The surprise: time columns are left alone here. Whoever stacks a stateful step on top relies on the one column that
carries the watermark, and on no second one coming to carry it.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from whence.testing import description as d
from whence.testing import expression as e
from whence.testing.schema import is_streaming, schema
from whence.testing.strategies.scalars import KEYS, conditions, longs, names, simple

STATIC = d.Table("static", (d.Field("sk", "string"), d.Field("w", "long")), static=True)


def stream(name: str) -> d.Table:
    """A stream with a time, a key, two numbers and an array."""
    fields = [("ts", "timestamp"), ("k", "string"), ("n", "long"), ("v", "long"), ("xs", "longs")]
    return d.Table(name, tuple(d.Field(*one) for one in fields))  # type: ignore[arg-type]


@st.composite
def stacked(draw: st.DrawFn, step: d.Step, most: int = 2) -> d.Step:
    """A step with up to so many stateless ones on top."""
    for _ in range(draw(st.integers(0, most))):
        step = draw(one_more(step))
    return step


@st.composite
def one_more(draw: st.DrawFn, step: d.Step) -> d.Step:
    """A step with one stateless step on top."""
    columns = schema(step)
    arrays = names(columns, "longs")
    choice = draw(st.integers(0, 9))
    if choice <= 1:
        return d.Where(step, draw(conditions(columns)))
    if choice in (2, 3):
        name = draw(st.sampled_from(["v", "more"]))
        return d.WithColumn(step, d.Named(name, draw(longs(columns))))
    if choice == 4:
        return draw(_selected(step))
    if choice == 5 and arrays:
        array = draw(st.sampled_from(arrays))
        return d.Explode(step, array, "x", draw(st.booleans()))
    if choice == 6:
        return draw(_united(step))
    if choice == 7 and names(columns, "string") and not any(one.name == "w" for one in columns):
        return draw(_with_static(step))
    if choice == 8:
        plain = [one.name for one in columns if one.name in ("n", "more", "x")]
        if plain:
            return d.Drop(step, (draw(st.sampled_from(plain)),))
    return draw(_selected(step))


@st.composite
def _selected(draw: st.DrawFn, step: d.Step) -> d.Step:
    """A projection that keeps times and windows, renames or computes some of the rest."""
    columns = schema(step)
    made = []
    for one in columns:
        if one.kind == "long" and draw(st.integers(0, 3)) == 0:
            made.append(d.Named(one.name, draw(longs(columns))))
        else:
            made.append(d.Named(one.name, e.Column(one.name)))
    if draw(st.booleans()):
        made.reverse()
    return d.Select(step, tuple(made))


@st.composite
def _united(draw: st.DrawFn, step: d.Step) -> d.Step:
    """Two branches of one step, or a step with itself."""
    if not is_streaming(step):
        return step
    one = step if draw(st.booleans()) else d.Where(step, draw(simple(schema(step))))
    other = step if draw(st.booleans()) else d.Where(step, draw(simple(schema(step))))
    return d.Union((one, other), by_name=draw(st.booleans()))


@st.composite
def _with_static(draw: st.DrawFn, step: d.Step) -> d.Step:
    """A join with a static frame: on a key, or of everything with everything."""
    key = draw(st.sampled_from(names(schema(step), "string")))
    how: Any = draw(st.sampled_from(["inner", "left", "left_semi", "left_anti", "cross", "right"]))
    static: d.Step = d.Scan(STATIC)
    if draw(st.booleans()):
        static = d.Where(static, e.Compare("<>", e.Column("sk"), e.literal(KEYS[2])))
    if how == "cross":
        return d.Join(step, static, "cross")
    if how == "left_semi":
        return d.Join(step, d.Rename(static, "sk", key), "left_semi", (key,))
    condition: e.Expression = e.Compare("=", e.Column(key), e.Column("sk"))
    if draw(st.integers(0, 3)) == 0 and names(schema(step), "long"):
        number = e.Column(draw(st.sampled_from(names(schema(step), "long"))))
        condition = e.Logic("and", condition, e.Compare("<=", e.Column("w"), number))
    if how == "right":  # the preserved side must be the stream
        return d.Join(static, step, "right", (), condition)
    return d.Join(step, static, how, (), condition)
