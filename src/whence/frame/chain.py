"""How one more step is put on a network: the machinery under `TracedFrame`'s methods."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NoReturn, Self

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from whence.errors import BadInputError, RefusedError
from whence.frame import joins, refs
from whence.frame.failures import told
from whence.frame.multiply import project
from whence.frame.texts import expr, over_window, star_inside, subquery, text_of
from whence.identity.expressions import quoted
from whence.names import is_hidden
from whence.network import Carry, Dedup, Expr, Node, Ref, Union
from whence.weave import column_of, step

Sides = dict[tuple[int, int], DataFrame]


class Chain:
    """A network so far, its plain result, and which columns of the frames above can still be named.

    Each step is checked at once, against the plain result. Nothing here is named without an underscore: a user's column
    may be called anything.
    """

    def __init__(
        self, node: Node, plain: DataFrame, scope: refs.Scope | None = None, sides: Sides | None = None
    ) -> None:
        self._node = node
        self._plain = plain
        self._number = refs.number()
        self._scope = {**(scope or {}), self._number: refs.own(self._number, plain.columns)}
        self._sides = sides or {}
        hidden = [name for name in plain.columns if is_hidden(name)]
        if hidden:
            raise BadInputError(
                f'column "{hidden[0]}" has the reserved prefix',
                "columns that start with _whence are Whence's own",
                "rename it",
            )

    def _carry(self, verb: str, *args: Any, shown: str | None = None, **options: Any) -> Self:
        shown = shown if shown is not None else ", ".join(text_of(a) for a in args)
        node = Carry((self._node,), verb=verb, args=args, options=tuple(options.items()), shown=shown)
        values = [v for a in args for v in (a.values() if isinstance(a, dict) else [a])]
        return self._then(node, values)

    def _project(self, items: list[Expr]) -> Self:
        for item in items:
            check_row_wise("select", item.value if isinstance(item.value, Column) else item.text)
        values = [item.value for item in items]
        with told(f"select({', '.join(map(str, items))})", self._plain.columns):
            plain = self._with(refs.used(values, self._scope))
            node = project(self._node, plain, [i for item in items for i in self._expanded(item)])
        return self._then(node, values)

    def _with(self, used: tuple[Ref, ...]) -> DataFrame:
        """The plain frame with a column for each reference."""
        added = {ref.token: column_of(ref, self._sides) for ref in used}
        return self._plain.withColumns(added) if added else self._plain

    def _join(self, other: Any, on: Any, how: str | None) -> Self:
        node = joins.join(self._node, self._plain, *joins.side(other), on, how)
        right = other if isinstance(other, Chain) else None
        values = list(on) if isinstance(on, list | tuple) else [on]
        left_refs = refs.used(values, self._scope)
        right_refs = refs.used(values, right._scope, 1, left_refs) if right else ()
        node = replace(node, refs=left_refs + right_refs)
        sides = {**self._sides, **(right._sides if right else {})}
        with told(node.text, [*self._plain.columns, *joins.plain_of(other).columns]):
            plain = step(node, [self._plain, joins.plain_of(other)], sides)
            columns = plain.columns
        if node.how in ("left_semi", "left_anti"):
            return type(self)(node, plain, self._scope, sides)
        return type(self)(node, plain, refs.joined(node, self._scope, right._scope if right else {}, columns), sides)

    def _item(self, value: Any) -> Expr:
        if not isinstance(value, str | Column):
            raise BadInputError(f"select takes names and Columns, not {value!r}", hint="a constant is F.lit(value)")
        return expr(value)

    def _expanded(self, item: Expr) -> list[Expr]:
        """`*` and `a.*` as the columns they stand for: in a woven frame they would bring hidden ones along."""
        if item.text == "*" and len(set(map(str.lower, self._plain.columns))) == len(self._plain.columns):
            return [expr(F.col(quoted(name))) for name in self._plain.columns]
        if item.text.endswith(".*") and "(" not in item.text:
            prefix = item.text[:-2]
            names = self._plain.select(item.text).columns
            return [expr(F.col(f"{prefix}.{quoted(name)}")) for name in names]
        return [item]

    def _dedup(self, verb: str, subset: list[str] | None) -> Self:
        if not isinstance(subset, list | tuple | None):
            raise BadInputError(f"{verb} takes a list of column names, not {subset!r}", hint=f'{verb}(["a", "b"])')
        columns = tuple(subset or ())
        fields = [f for f in self._plain.schema.fields if not columns or f.name in columns]
        within = verb == "dropDuplicatesWithinWatermark"
        bounded = within or not self._plain.isStreaming or any("spark.watermarkDelayMs" in f.metadata for f in fields)
        return self._then(Dedup((self._node,), verb=verb, subset=columns, bounded=bounded))

    def _union(self, other: Chain, by_name: bool, allow_missing: bool = False) -> Self:
        if not isinstance(other, Chain):
            raise RefusedError(
                "union with a frame that is not traced",
                "its rows would be results that came from nowhere",
                'make it a source: whence.source(df, "name")',
            )
        node = Union((self._node, other._node), by_name=by_name, allow_missing=allow_missing)
        return self._then(node, (), other._plain)

    def _then(self, node: Node, values: Iterable[Any] = (), *others: DataFrame) -> Self:
        """The frame after one more step, whose expressions are `values`."""
        node = replace(node, refs=refs.used(values, self._scope))
        with told(node.text, self._plain.columns):
            plain = step(node, [self._plain, *others], self._sides)
            _ = plain.schema, plain.isStreaming  # on Spark Connect only the second one asks the server about a filter
        passing = refs.Passing.through(node, self._plain.columns)
        scope = {} if others else refs.after(node, self._scope, plain.columns, passing)
        return type(self)(node, plain, scope, self._sides)

    def _known(self, **facts: Any) -> Self:
        """The same step, with facts of it added."""
        return type(self)(replace(self._node, **facts), self._plain, self._scope, self._sides)

    def _sorting(self, cols: tuple[Any, ...]) -> list[Any]:
        """Columns to sort by; a position counts the user's columns, not those of a woven frame."""
        flat = list(cols[0]) if len(cols) == 1 and isinstance(cols[0], list) else list(cols)
        for number, col in enumerate(flat):
            if isinstance(col, int) and not isinstance(col, bool) and 0 < abs(col) <= len(self._plain.columns):
                flat[number] = F.col(quoted(self._plain.columns[abs(col) - 1]))
                flat[number] = flat[number].desc() if col < 0 else flat[number]
        return flat

    def _subset(self, subset: Any) -> list[str]:
        if subset is None:
            return [name if name.isidentifier() else quoted(name) for name in self._plain.columns]
        return [subset] if isinstance(subset, str) else list(subset)


def check_row_wise(verb: str, *values: Any) -> None:
    """Refuse expressions that read other rows, or all columns at once."""
    for value in values:
        written = text_of(value)
        if over_window(written):
            _refuse(verb, written, "analytic window functions mix rows", "use groupBy().agg() and a join")
        if subquery(written):
            _refuse(verb, written, "a query inside an expression reads rows unseen", "join the other frame instead")
        if star_inside(written):
            _refuse(verb, written, "* inside a call stands for all columns", "name them: F.struct(*frame.columns)")


def _refuse(verb: str, written: str, why: str, hint: str) -> NoReturn:
    raise RefusedError(f"{verb} cannot be traced: {why}", f"in {written}", hint)
