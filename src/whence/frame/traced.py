"""`TracedFrame`: a DataFrame's method names over a network that remembers where every row came from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from whence.errors import BadInputError, RefusedError, UnsupportedError
from whence.frame import refs
from whence.frame.chain import Chain, check_row_wise
from whence.frame.coverage import reason
from whence.frame.failures import refused, told
from whence.frame.multiply import multiplies
from whence.frame.plans import check_plan
from whence.frame.texts import expr, has_window, text_of
from whence.identity.expressions import quoted
from whence.modes import choose
from whence.names import ID, ROWS
from whence.network import Expr, Node, check, text
from whence.weave import annotated, stops_of, weave

if TYPE_CHECKING:
    from whence.frame.grouped import TracedGroup
    from whence.frame.stream_writer import TracedStreamWriter
    from whence.frame.writer import TracedWriter

ColumnOrName = Column | str


class TracedFrame(Chain):
    """A DataFrame whose rows can be traced. Made by `whence.source`, never by hand.

    >>> fast = whence.source(df, "reports").where("speed > 100").select("car_id", "speed")

    Methods have DataFrame's own names and arguments; each one checks at once, against the plain result, that Spark
    takes it. What cannot be traced exactly raises `RefusedError` here and not later.
    """

    # -- what a DataFrame says of itself ---------------------------------------------------------------------------

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._plain.columns

    @property
    def schema(self) -> T.StructType:
        """The schema of the plain result."""
        return self._plain.schema

    @property
    def dtypes(self) -> list[tuple[str, str]]:
        """Names and types."""
        return self._plain.dtypes

    @property
    def isStreaming(self) -> bool:
        """Whether a streaming source is read."""
        return self._plain.isStreaming

    @property
    def sparkSession(self) -> Any:
        """The session of the plain result."""
        return self._plain.sparkSession

    def printSchema(self, level: int | None = None) -> None:
        """Print the schema of the plain result."""
        self._plain.printSchema(level)

    def explain(self, extended: bool | str | None = None, mode: str | None = None) -> None:
        """Print the network, then Spark's plan of the plain result."""
        print(text(self._node))
        print()
        self._plain.explain(extended, mode)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}: {kind}" for name, kind in self.dtypes)
        return f"TracedFrame[{fields}]\n{text(self._node)}"

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, str):
            with told(f"[{item!r}]", self.columns):
                self._plain.select(quoted(item) if item in self.columns else item)
            if item in self.columns and self.columns.count(item) > 1:
                raise BadInputError(
                    f'column "{item}" is there twice',
                    f"the frame has {', '.join(self.columns)}",
                    'give each side of the join a name with .alias("a") and write F.col("a.column")',
                )
            return F.col(quoted(refs.token(self._number, item)) if item in self.columns else item)
        if isinstance(item, Column):
            return self.where(item)
        if isinstance(item, list | tuple):
            return self.select(*item)
        if isinstance(item, int):
            return self[self.columns[item]]
        raise BadInputError(f"a frame has no item {item!r}", hint='use a column\'s name: frame["x"]')

    def __getattr__(self, name: str) -> Any:
        if name in ("_jdf", "_plan"):
            raise UnsupportedError(
                "a plain DataFrame cannot take a traced frame in",
                "the rows of the traced one would lose where they came from",
                "begin with the traced frame: traced.join(plain, ...); or write .to_spark()",
            )
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self.columns:
            return self[name]
        why = reason(name)
        if why is not None:
            raise UnsupportedError(f"{name} is not traced", f"DataFrame.{name}: {why.text}", why.hint)
        raise AttributeError(f"no column or method {name!r}; the columns are {', '.join(self.columns)}")

    # -- one row in, at most one row out ---------------------------------------------------------------------------

    def where(self, condition: ColumnOrName) -> TracedFrame:
        """Keep the rows for which `condition` holds."""
        check_row_wise("where", condition)
        if has_window(text_of(condition)):
            raise RefusedError(
                "a time window inside a condition is not traced",
                f"in where({text_of(condition)})",
                'select the window under a name first: .withColumn("w", F.window(...))',
            )
        return self._carry("where", condition)

    filter = where

    def select(self, *cols: Any) -> TracedFrame:
        """Choose and compute columns; `F.explode` and `F.window` may stand here too."""
        flat = list(cols[0]) if len(cols) == 1 and isinstance(cols[0], list | tuple) else list(cols)
        return self._project([self._item(c) for c in flat])

    def selectExpr(self, *expr: Any) -> TracedFrame:
        """`select` in SQL."""
        flat = list(expr[0]) if len(expr) == 1 and isinstance(expr[0], list) else list(expr)
        with told(f"selectExpr({', '.join(map(str, flat))})", self.columns):
            items = [Expr("*", "*") if sql.strip() == "*" else Expr(F.expr(sql), sql) for sql in flat]
        return self._project(items)

    def withColumn(self, colName: str, col: Column) -> TracedFrame:
        """Add or replace one column."""
        return self.withColumns({colName: col})

    def withColumns(self, *colsMap: dict[str, Column]) -> TracedFrame:
        """Add or replace columns, all computed from the input."""
        if len(colsMap) != 1 or not isinstance(colsMap[0], dict):
            raise BadInputError("withColumns takes one dict of name to Column", f"not {colsMap!r}", '{"x": F.col("y")}')
        (columns,) = colsMap
        for column in columns.values():
            check_row_wise("withColumn", column)
        if not any(multiplies(column) for column in columns.values()):
            shown = ", ".join(f"{name} = {text_of(column)}" for name, column in columns.items())
            return self._carry("withColumns", columns, shown=shown)
        new = {name.lower(): column for name, column in columns.items()}
        named = {name.lower(): name for name in columns}
        items = [
            expr(new.pop(c.lower()).alias(c)) if c.lower() in new else expr(F.col(quoted(c))) for c in self.columns
        ]
        return self._project([*items, *(expr(column.alias(named[name])) for name, column in new.items())])

    def withColumnRenamed(self, existing: str, new: str) -> TracedFrame:
        """Rename one column."""
        return self._carry("withColumnRenamed", existing, new)

    def withColumnsRenamed(self, colsMap: dict[str, str]) -> TracedFrame:
        """Rename columns."""
        return self._carry("withColumnsRenamed", colsMap)

    def withMetadata(self, columnName: str, metadata: dict[str, Any]) -> TracedFrame:
        """Give a column metadata."""
        return self._carry("withMetadata", columnName, metadata)

    def toDF(self, *cols: str) -> TracedFrame:
        """Rename all columns."""
        if len(cols) != len(self.columns):
            raise BadInputError(
                f"toDF got {len(cols)} names for {len(self.columns)} columns",
                f"the input has {', '.join(self.columns)}",
                "name each of them",
            )
        return self.select(*(F.col(quoted(old)).alias(new) for old, new in zip(self.columns, cols, strict=True)))

    def to(self, schema: T.StructType) -> TracedFrame:
        """Reorder and cast to a schema, by name."""
        return self.select(*(F.col(quoted(f.name)).cast(f.dataType).alias(f.name) for f in schema.fields))

    def drop(self, *cols: ColumnOrName) -> TracedFrame:
        """Leave columns out."""
        return self._carry("drop", *cols)

    def fillna(self, value: Any, subset: Any = None) -> TracedFrame:
        """Replace nulls. Whence's own columns are never touched."""
        return self._carry("fillna", value, subset=self._subset(subset), shown=f"{value!r}")

    def dropna(self, how: str = "any", thresh: int | None = None, subset: Any = None) -> TracedFrame:
        """Leave out rows with nulls."""
        return self._carry("dropna", how, thresh, self._subset(subset), shown=f"{how}")

    def replace(self, to_replace: Any, value: Any = None, subset: Any = None) -> TracedFrame:
        """Replace values."""
        given = (to_replace,) if isinstance(to_replace, dict) else (to_replace, value)
        return self._carry("replace", *given, subset=self._subset(subset), shown=f"{to_replace!r}")

    def alias(self, alias: str) -> TracedFrame:
        """Name the frame, so that its columns can be written `alias.column` in a join."""
        return self._carry("alias", alias)

    def hint(self, name: str, *parameters: Any) -> TracedFrame:
        """Pass a hint to Spark's optimiser."""
        return self._carry("hint", name, *parameters)

    def repartition(self, numPartitions: int | ColumnOrName, *cols: ColumnOrName) -> TracedFrame:
        """Spread rows over partitions."""
        return self._carry("repartition", numPartitions, *cols)

    def repartitionByRange(self, numPartitions: int | ColumnOrName, *cols: ColumnOrName) -> TracedFrame:
        """Spread rows over partitions by range."""
        return self._carry("repartitionByRange", numPartitions, *cols)

    def repartitionById(self, numPartitions: int, partitionIdCol: ColumnOrName) -> TracedFrame:
        """Spread rows over partitions that an expression numbers."""
        return self._carry("repartitionById", numPartitions, partitionIdCol)

    def coalesce(self, numPartitions: int) -> TracedFrame:
        """Use fewer partitions."""
        return self._carry("coalesce", numPartitions)

    def sort(self, *cols: Any, **kwargs: Any) -> TracedFrame:
        """Sort rows; on streams Spark allows it in complete mode only."""
        return self._carry("sort", *self._sorting(cols), **kwargs)

    orderBy = sort

    def sortWithinPartitions(self, *cols: Any, **kwargs: Any) -> TracedFrame:
        """Sort each partition."""
        return self._carry("sortWithinPartitions", *self._sorting(cols), **kwargs)

    def limit(self, num: int) -> TracedFrame:
        """Keep the first rows; which ones is Spark's choice, and what is kept is traced."""
        return self._carry("limit", num)

    def withWatermark(self, eventTime: str, delayThreshold: str) -> TracedFrame:
        """Say how late rows may come."""
        return self._carry("withWatermark", eventTime, delayThreshold)

    def transform(self, func: Callable[..., TracedFrame], *args: Any, **kwargs: Any) -> TracedFrame:
        """Apply a function to this frame."""
        result = func(self, *args, **kwargs)
        if not isinstance(result, TracedFrame):
            raise RefusedError(
                "transform left the traced frame",
                f"{getattr(func, '__name__', func)} returned {type(result).__name__}",
                "the function must return what it makes of the TracedFrame it is given",
            )
        return result

    # -- several rows meet -----------------------------------------------------------------------------------------

    def union(self, other: TracedFrame) -> TracedFrame:
        """Rows of both, columns by position."""
        return self._union(other, by_name=False)

    unionAll = union

    def unionByName(self, other: TracedFrame, allowMissingColumns: bool = False) -> TracedFrame:
        """Rows of both, columns by name."""
        return self._union(other, by_name=True, allow_missing=allowMissingColumns)

    def join(self, other: TracedFrame | DataFrame, on: Any = None, how: str | None = None) -> TracedFrame:
        """Join with a traced frame, or with a plain one, which answers will name as untraced."""
        return self._join(other, on, how)

    def crossJoin(self, other: TracedFrame | DataFrame) -> TracedFrame:
        """Every row with every row."""
        return self._join(other, None, "cross")

    def groupBy(self, *cols: Any) -> TracedGroup:
        """Group rows by columns and time windows."""
        from whence.frame.grouped import TracedGroup

        flat = list(cols[0]) if len(cols) == 1 and isinstance(cols[0], list | tuple) else list(cols)
        keys = [F.col(quoted(self.columns[c - 1])) if isinstance(c, int) else c for c in flat]
        check_row_wise("groupBy", *keys)
        return TracedGroup(self, [expr(key) for key in keys])

    groupby = groupBy

    def agg(self, *exprs: Any) -> TracedFrame:
        """One row for all."""
        return self.groupBy().agg(*exprs)

    def dropDuplicates(self, subset: list[str] | None = None) -> TracedFrame:
        """One row of each set of equals; the one that stays is what contributed."""
        return self._dedup("dropDuplicates", subset)

    drop_duplicates = dropDuplicates

    def dropDuplicatesWithinWatermark(self, subset: list[str] | None = None) -> TracedFrame:
        """`dropDuplicates` that forgets a row once the watermark has passed it; streams only."""
        return self._dedup("dropDuplicatesWithinWatermark", subset)

    def distinct(self) -> TracedFrame:
        """One row of each set of equal rows."""
        return self._dedup("distinct", None)

    # -- results ---------------------------------------------------------------------------------------------------

    def named(self, name: str) -> TracedFrame:
        """Name this step: errors, answers and `provenance(to=...)` use it. No id depends on it."""
        return self._known(name=name)

    def to_spark(self) -> DataFrame:
        """The plain result: the very DataFrame that the same calls make without Whence."""
        return self._plain

    def provenance(self, mode: str = "listed", to: str | Iterable[str] | None = None) -> DataFrame:
        """The result with `_whence_id` and `_whence_rows` (array of `struct<source, id>`), streaming or static.

        `to` names the sources or steps to report: a named step is then where tracing stops.
        """
        check(self._node)
        chosen = choose(mode)
        if not chosen.traces:
            raise BadInputError(f'mode "{mode}" has no provenance', hint='use mode "listed"')
        stops, only = stops_of(self._node, [to] if isinstance(to, str) else to) if to is not None else ([], None)
        check_plan(self._node)
        try:
            woven = weave(self._node, chosen, stops=stops)
            frame = annotated(woven, chosen, self.columns, only)
            payload = frame.drop(ID, ROWS).dtypes
        except PySparkException as error:
            raise refused(self._node.name or self._node.text, error) from error
        _same_payload(self._node, payload, self.dtypes)
        return frame

    @property
    def writeStream(self) -> TracedStreamWriter:
        """Spark's DataStreamWriter, with `.lineage(store)`."""
        from whence.frame.stream_writer import TracedStreamWriter

        return TracedStreamWriter(self._node, self._plain)

    @property
    def write(self) -> TracedWriter:
        """Spark's DataFrameWriter, with `.lineage(store, name=...)`."""
        from whence.frame.writer import TracedWriter

        return TracedWriter(self._node, self._plain)


def _same_payload(node: Node, woven: list[tuple[str, str]], plain: list[tuple[str, str]]) -> None:
    if woven != plain:
        raise RefusedError(
            f'step "{node.name or node.text}" gives other columns with lineage than without',
            f"with: {woven}; without: {plain}",
            "name the columns one by one",
        )
