"""`groupBy(...)` of a traced frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from whence.errors import BadInputError, RefusedError, UnsupportedError
from whence.frame.texts import expr, window_of
from whence.identity.expressions import quoted
from whence.network import Aggregate, Expr

if TYPE_CHECKING:
    from whence.frame.traced import TracedFrame

REFUSED = {
    "pivot": "the columns of a pivot are made of rows",
    "apply": "user-defined stateful operators are not traced",
    "applyInPandas": "user-defined stateful operators are not traced",
    "applyInArrow": "user-defined stateful operators are not traced",
    "applyInPandasWithState": "user-defined stateful operators are not traced",
    "transformWithState": "user-defined stateful operators are not traced",
    "transformWithStateInPandas": "user-defined stateful operators are not traced",
    "cogroup": "user-defined stateful operators are not traced",
}


class TracedGroup:
    """Groups of rows; every row of a group contributes to its result, whatever the function."""

    def __init__(self, below: TracedFrame, keys: list[Expr]) -> None:
        self._below = below
        self._plain = below.to_spark()
        self._keys = keys

    def agg(self, *exprs: Any) -> TracedFrame:
        """Aggregate with Columns, or with one dict of column to function name."""
        columns = self._dict(exprs[0]) if len(exprs) == 1 and isinstance(exprs[0], dict) else list(exprs)
        wrong = [c for c in columns if not isinstance(c, Column)]
        if wrong or not columns:
            raise BadInputError(f"agg takes Columns or one dict, not {wrong}", hint='F.count("*").alias("n")')
        aggregates = [expr(column) for column in columns]
        node = Aggregate((self._below._node,), keys=tuple(self._keys), aggregates=tuple(aggregates))
        result = self._below._then(node, [key.value for key in self._keys] + list(columns))
        if len(result.columns) != len(self._keys) + len(aggregates):
            raise RefusedError(
                "the groups' keys are not among the results",
                "spark.sql.retainGroupColumns is false in this session",
                "set it to true: a result is identified by its keys",
            )
        fields = result.schema.fields[: len(self._keys)]
        windows = [w for w in (window_of(key.text) for key in self._keys) if w]
        timed = not self._plain.isStreaming or any("spark.watermarkDelayMs" in field.metadata for field in fields)
        return result._known(
            key_columns=tuple(field.name for field in fields),
            window=windows[0] if windows else None,
            bounded=timed and bool(self._keys),
        )

    def count(self) -> TracedFrame:
        """Rows a group."""
        return self.agg(F.count(F.lit(1)).alias("count"))

    def sum(self, *cols: str) -> TracedFrame:
        """Sums."""
        return self.agg(*(F.sum(c) for c in self._numeric(cols)))

    def avg(self, *cols: str) -> TracedFrame:
        """Means."""
        return self.agg(*(F.avg(c) for c in self._numeric(cols)))

    mean = avg

    def min(self, *cols: str) -> TracedFrame:
        """Minima."""
        return self.agg(*(F.min(c) for c in self._numeric(cols)))

    def max(self, *cols: str) -> TracedFrame:
        """Maxima."""
        return self.agg(*(F.max(c) for c in self._numeric(cols)))

    def _numeric(self, cols: tuple[str, ...]) -> list[str]:
        if cols:
            return list(cols)
        keys = {key.text for key in self._keys}
        numbers = ("int", "bigint", "smallint", "tinyint", "float", "double", "decimal")
        return [quoted(n) for n, kind in self._plain.dtypes if kind.startswith(numbers) and n not in keys]

    def _dict(self, functions: dict[str, str]) -> list[Column]:
        return [F.expr(f"{name}({'*' if column == '*' else quoted(column)})") for column, name in functions.items()]

    def __getattr__(self, name: str) -> Any:
        if name in REFUSED:
            raise UnsupportedError(f"{name} is not traced", REFUSED[name], "use .agg(...)")
        raise AttributeError(name)
