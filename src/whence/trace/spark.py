"""Committed lineage as a DataFrame, for answers of Spark's size. Only whole batches are read."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from whence.errors import BadInputError, NotFoundError
from whence.names import BATCH, BATCHES, EDGES, ID, KEPT, NETWORKS, OUTPUTS, SEGMENTS, SOURCE
from whence.store import Store
from whence.trace.current import Run, runs, runs_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def table_of(spark: SparkSession, store: Store, table: str, sink: str | None) -> DataFrame:
    """One of the store's tables; `sink` chooses whose outputs, edges and rows."""
    from pyspark.sql import functions as F

    if table in (BATCHES, NETWORKS, SEGMENTS):
        name = BATCHES if table == SEGMENTS else table
        delta = store.table(name)
        if delta is None:
            raise NotFoundError(f"the store has no {name} yet", hint="a query with .lineage(store) writes it")
        frame = spark.read.parquet(*delta.file_uris())
        if table == SEGMENTS:
            return frame.select("run", "sink", "batch", F.explode("segments").alias("s")).select(
                "run", "sink", "batch", "s.*"
            )
        return frame
    if table not in (OUTPUTS, EDGES, KEPT):
        raise BadInputError(
            f'the store has no table "{table}"',
            "there are outputs, edges, rows, batches, segments, networks",
            "outputs, edges and rows take sink= too",
        )
    every = runs_of(store, sink) if sink else [run for own in runs(store).values() for run in own]
    parts = [part for run in every for part in _parts(spark, store, run, table)]
    if not parts:
        raise NotFoundError(f"the store has no {table} yet", hint="a query with .lineage(store) writes it")
    return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), parts)


def _read(spark: SparkSession, paths: list[str], run: Run) -> DataFrame:
    """A run's files, with the columns that some of them, or all, may lack."""
    from pyspark.sql import functions as F

    if not run.later:
        return spark.read.parquet(*paths)
    frame = spark.read.option("mergeSchema", "true").parquet(*paths)
    return frame.withColumns({name: F.lit(None) for name in run.later if name not in frame.columns})


def _parts(spark: SparkSession, store: Store, run: Run, table: str) -> list[DataFrame]:
    from pyspark.sql import functions as F

    paths = run.files(store, KEPT if table == KEPT else OUTPUTS)
    if not paths:
        return []
    frame = _read(spark, paths, run)
    named = [F.lit(run.network.sink).alias("sink"), F.lit(run.id).alias("run"), F.col(BATCH).alias("batch")]
    layout = run.network.layout
    if table == OUTPUTS:
        return [frame.select(ID, *(F.col(f"`{c.replace('`', '``')}`") for c in layout["payload"]), *(
            n.alias(f"_whence_{k}") for n, k in zip(named, ("sink", "run", "batch"), strict=True)))]  # fmt: skip
    if table == KEPT:
        return [
            frame.where(F.col(SOURCE) == s).select(
                F.lit(s).alias("source"), F.col(f"{c}.id").alias(ID), f"{c}.row.*", *named
            )
            for s, c in layout["kept"].items()
        ]
    found = []
    for source, column in layout["ids"].items():
        value = F.explode(column) if layout["kinds"][source] == "many" else F.col(column)
        edges = frame.select(
            F.col(ID).alias("output_id"), F.lit(source).alias("source"), value.alias("source_id"), *named
        )
        edges = edges.where(F.col("source_id").isNotNull())
        if run.updating:
            edges = edges.groupBy("output_id", "source", "source_id", "sink", "run").agg(F.min("batch").alias("batch"))
        found.append(edges)
    return found
