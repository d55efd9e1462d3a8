"""From a network to what a writer needs: the woven frame as the store keeps it, its layout, its scans, its record."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, cast

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

import whence
from whence.deliver.segments import Scan, kafka_segment
from whence.errors import BadInputError, RefusedError, SourceError
from whence.frame.failures import refused
from whence.frame.plans import check_plan, check_watermarks, explained
from whence.modes import Mode
from whence.network import (
    Aggregate,
    Carry,
    Node,
    Project,
    Source,
    check,
    in_order,
    keeps_state,
    leaves,
    numbered,
    signature,
    sources,
    static_bounds,
    text,
    untraced,
)
from whence.store import NetworkRecord, Store, networks, now
from whence.weave import Layout, stored, weave

_KEEPS_ROWS = {
    "withColumns", "withColumnRenamed", "withColumnsRenamed", "withMetadata", "drop", "fillna", "replace", "alias",
    "hint", "repartition", "repartitionByRange", "coalesce", "sort", "sortWithinPartitions", "withWatermark",
}  # fmt: skip


@dataclass(frozen=True)
class Capture:
    """A network made ready to run."""

    frame: DataFrame
    layout: Layout
    plan: str
    scans: tuple[Scan, ...]


def capture(root: Node, plain: DataFrame, mode: Mode, output_mode: str, store: Store) -> Capture:
    """Weave, and check everything that can be known before the query starts."""
    check(root)
    check_payload(plain.schema)
    _check_sources(root, store)
    plan = check_plan(root)
    dated = plain.isStreaming and output_mode != "append" and _aggregates(root)
    try:
        woven = weave(root, mode, dated=dated)
        frame, layout = stored(woven, mode, sources(root), fresh=dated and adds_only(root))
        payload = [(n, k) for n, k in frame.dtypes if n in set(layout.payload)]
    except PySparkException as error:
        raise refused(root.name or root.text, error) from error
    if payload != plain.dtypes:
        raise RefusedError(
            "the network gives other columns with lineage than without",
            f"with: {payload}; without: {plain.dtypes}",
            "name the columns one by one",
        )
    if plain.isStreaming:
        check_watermarks(plan, explained(frame))
    return Capture(frame, layout, plan, _scans(root))


def _aggregates(root: Node) -> bool:
    return any(isinstance(node, Aggregate) for node in in_order(root))


def adds_only(root: Node) -> bool:
    """Whether every version of every group is delivered under one id: then a version need only store what it added.

    A session is another group, with another id, each time it grows.
    """
    node = root
    while not isinstance(node, Aggregate):
        one_to_one = (isinstance(node, Carry) and node.verb in _KEEPS_ROWS) or (
            isinstance(node, Project) and node.multiplier is None
        )
        if not one_to_one:
            return False
        (node,) = node.inputs
    return node.window is None or node.window.kind != "session"


def check_payload(schema: T.StructType) -> None:
    """Refuse results that Parquet, and so the store, cannot hold."""
    seen: set[str] = set()
    for field in schema.fields:
        if field.name.lower() in seen:
            raise RefusedError(
                f'the result has two columns "{field.name}"',
                f"its columns are {', '.join(schema.names)}",
                "rename or drop one: .withColumnRenamed or .select with .alias",
            )
        seen.add(field.name.lower())
        wrong = _unstorable(field.dataType)
        if wrong:
            raise RefusedError(
                f'column "{field.name}" has type {wrong}, which the store cannot hold',
                "results are stored as Parquet in Delta tables",
                f'cast it: .withColumn("{field.name}", F.col("{field.name}").cast("string"))',
            )


def _unstorable(kind: T.DataType) -> str | None:
    if isinstance(
        kind, T.NullType | T.CalendarIntervalType | T.DayTimeIntervalType | T.YearMonthIntervalType | T.VariantType
    ):
        return kind.simpleString()
    if isinstance(kind, T.StructType):
        if not kind.fields:
            return "empty struct"
        return next((w for f in kind.fields if (w := _unstorable(f.dataType))), None)
    if isinstance(kind, T.ArrayType):
        return _unstorable(kind.elementType)
    if isinstance(kind, T.MapType):
        return _unstorable(kind.keyType) or _unstorable(kind.valueType)
    known = (
        T.StringType, T.BinaryType, T.BooleanType, T.ByteType, T.ShortType, T.IntegerType, T.LongType, T.FloatType,
        T.DoubleType, T.DecimalType, T.DateType, T.TimestampType, T.TimestampNTZType,
    )  # fmt: skip
    return None if isinstance(kind, known) else kind.simpleString()


def declared(root: Node, output_mode: str) -> dict[str, Any]:
    """The network as the store keeps it. In complete mode nothing is ever evicted, so nothing is bounded."""
    complete = output_mode == "complete" and _aggregates(root)
    bounds = dict.fromkeys(static_bounds(root)) if complete else static_bounds(root)
    return {
        "text": text(root),
        "steps": signature(root),
        "names": {numbered(root).get(id(n), n.text): n.name for n in in_order(root) if n.name},
        "stateless": not keeps_state(root),
        "untraced": [node.text for node in untraced(root)],
        "sources": {
            s.source: {
                "ids": s.ids,
                "key": list(s.key),
                "salt": s.salt,
                "keep": s.keep,
                "columns": list(s.columns),
                "keep_for": s.keep_for,
                "event_time": s.event_time,
                "streaming": s.streaming,
                "schema": json.loads(s.schema),
                "bound": bounds[s.source],
            }
            for s in sources(root)
        },
    }


def record(
    root: Node, ready: Capture, *, sink: str, mode: str, output_mode: str, run: str = "", replaces: bool = True
) -> NetworkRecord:
    """The network's record, as of now."""
    return NetworkRecord(
        run=run,
        sink=sink,
        version=1,
        started=now(),
        mode=mode,
        output_mode=output_mode,
        streaming=ready.frame.isStreaming,
        replaces=replaces,
        declared=declared(root, output_mode),
        layout=ready.layout.to_dict(),
        plan=ready.plan,
        whence=whence.__version__,
    )


def _check_sources(root: Node, store: Store) -> None:
    """A source name belongs to the store: other coordinates under it would mix up rows."""
    known = {name: declared for n in networks(store) for name, declared in n.declared["sources"].items()}
    for source in sources(root):
        before = known.get(source.source)
        given = {"ids": source.ids, "key": list(source.key), "salt": source.salt}
        if before and {k: before[k] for k in given} != given:
            raise SourceError(
                f'source "{source.source}" is known to the store by other coordinates',
                f"there: ids by {before['ids']} {before['key'] or ''}, here: by {source.ids} {list(source.key) or ''}",
                "give it another name, or use another store",
            )


def _scans(root: Node) -> tuple[Scan, ...]:
    frames: dict[int, int] = {}
    found = []
    for leaf in leaves(root):
        frame = cast(DataFrame, leaf.frame)
        number = frames.setdefault(id(frame), len(frames))
        if not isinstance(leaf, Source):
            found.append(Scan(None, "", streaming=leaf.streaming, frame=number))
            continue
        scan = Scan(leaf.source, leaf.ids, leaf.salt, leaf.event_time, leaf.streaming, number)
        if not leaf.streaming and leaf.ids == "file":
            scan = Scan(**{**scan.__dict__, "files": tuple(frame.inputFiles())})
        elif not leaf.streaming and leaf.ids == "kafka":
            scan = Scan(**{**scan.__dict__, "static": _kafka_segments(scan, frame)})
        found.append(scan)
    return tuple(found)


def _kafka_segments(scan: Scan, frame: DataFrame) -> tuple[dict[str, Any], ...]:
    ranges = frame.groupBy("topic", "partition").agg(F.min("offset").alias("low"), F.max("offset").alias("high"))
    return tuple(kafka_segment(scan, r["topic"], r["partition"], r["low"], r["high"]) for r in ranges.collect())


def named(name: str | None, fallback: str | None, what: str) -> str:
    """The sink's name in the store."""
    chosen = name or fallback
    if not chosen:
        raise BadInputError("the results need a name in the store", hint=f'{what}, or .lineage(store, name="...")')
    return chosen


def options_of(values: dict[str, Any], *without: str) -> dict[str, str]:
    """Writer options as Spark takes them."""
    left_out = {name.lower() for name in without}
    return {
        k: (str(v).lower() if isinstance(v, bool) else str(v)) for k, v in values.items() if k.lower() not in left_out
    }
