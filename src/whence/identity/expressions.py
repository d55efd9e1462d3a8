"""Ids as native Column expressions: of source rows from coordinates, of derived rows from what made them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql import types as T

from whence.errors import RefusedError
from whence.network import Source

if TYPE_CHECKING:
    from pyspark.sql import Column


def source_id(source: Source) -> Column:
    """The id of a row of `source`: non-negative, 63 bits, a function of its coordinates alone."""
    salt = [F.lit(source.salt)] if source.salt else []
    if source.ids == "file":
        return _base(*salt, F.col("_metadata.file_path")) + F.col("_metadata.row_index")
    if source.ids == "kafka":
        return _base(*salt, F.col("topic"), F.col("partition")) + F.col("offset")
    if source.ids == "rate":
        return _base(F.lit("rate")) + F.col("value")
    return _key_id(source)


def _base(*segment: Column) -> Column:
    return F.shiftrightunsigned(F.xxhash64(*segment), 2)


def _key_id(source: Source) -> Column:
    schema = T.StructType.fromJson(json.loads(source.schema))
    fields = [schema[name] for name in source.key]
    hashed = derived_id("key", [(F.col(quoted(f.name)), f.dataType) for f in fields])
    if len(fields) == 1 and isinstance(fields[0].dataType, T.ByteType | T.ShortType | T.IntegerType | T.LongType):
        key = F.col(quoted(fields[0].name)).cast("bigint")
        return F.when(key >= 0, key).otherwise(hashed)
    return hashed


def derived_id(step: str, parts: Sequence[tuple[Column, T.DataType]]) -> Column:
    """The id of a row that `step` made from `parts`, each with its null flag: Spark's hash skips nulls."""
    arguments = [F.lit(step)]
    for column, kind in parts:
        arguments += _hashable(column, kind)
    return F.shiftrightunsigned(F.xxhash64(*arguments), 1)


def _hashable(column: Column, kind: T.DataType) -> list[Column]:
    """A column as hash arguments that are equal exactly where Spark's grouping holds two values equal."""
    flag = column.isNull()
    if isinstance(kind, T.StructType):
        inner = [_hashable(column[field.name], field.dataType) for field in kind.fields]
        return [flag, *(argument for arguments in inner for argument in arguments)]
    if isinstance(kind, T.ArrayType):
        return [flag, F.size(column), F.transform(column, lambda e: F.xxhash64(*_hashable(e, kind.elementType)))]
    if isinstance(kind, T.MapType):
        entries = F.array_sort(F.map_entries(column), _by_key)
        pair = T.StructType([T.StructField("key", kind.keyType), T.StructField("value", kind.valueType)])
        return _hashable(entries, T.ArrayType(pair))
    if isinstance(kind, T.FloatType | T.DoubleType):
        zero = F.lit(0.0).cast(kind)
        return [flag, F.when(F.isnan(column), F.lit(float("nan")).cast(kind)).otherwise(column + zero)]
    if isinstance(kind, T.StringType) and getattr(kind, "collation", "UTF8_BINARY") != "UTF8_BINARY":
        return [flag, _uncollated(column, kind)]
    if isinstance(kind, T.VariantType | T.CalendarIntervalType):
        raise RefusedError(f"a key of type {kind.simpleString()} has no id", hint="cast it to a string first")
    return [flag, column]


def _by_key(left: Column, right: Column) -> Column:
    """The order of a map's entries: keys have one, values need not."""
    return F.when(left["key"] < right["key"], -1).when(left["key"] > right["key"], 1).otherwise(0)


def _uncollated(column: Column, kind: T.StringType) -> Column:
    """A collated string as bytes that are equal where the collation holds two strings equal.

    Spark has no SQL function for a collation's key. UTF8_LCASE compares lower-case code points, which `lower` gives
    too, but for a sigma at the end of a word.
    """
    name = kind.collation.removesuffix("_RTRIM")
    if name not in ("UTF8_BINARY", "UTF8_LCASE"):
        raise RefusedError(
            f"a key of collation {kind.collation} has no id",
            "Spark does not tell which strings it holds equal",
            'collate it first: F.collate("column", "UTF8_LCASE") or "UTF8_BINARY"',
        )
    plain = F.collate(column, "UTF8_BINARY")
    plain = F.translate(F.lower(plain), "\u03c2", "\u03c3") if name == "UTF8_LCASE" else plain
    return plain if name == kind.collation else F.rtrim(plain)


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
