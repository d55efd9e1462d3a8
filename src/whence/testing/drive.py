"""Spark run over a described network in exactly the batches of a split.

Example: `stream(spark, network, data, split, "append", folder)` gives per batch the rows that plain PySpark delivers.
The surprise: values come back as numbers, timestamps as microseconds: no clock, no time zone, the oracle's own form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from whence.testing import description as d
from whence.testing.build import Frame, build
from whence.testing.expression import quoted
from whence.testing.files import Written, ddl, files_a_batch, padded
from whence.testing.oracle.run import Data, Split
from whence.testing.schema import schema

Payload = tuple[Any, ...]
Named = Callable[[Any, d.Table], Frame]


def plainly(frame: Any, table: d.Table) -> Frame:
    """A source's frame as it is."""
    return frame


def read(
    spark: SparkSession, table: d.Table, written: Written, files: int | None, *, static: bool = False
) -> DataFrame:
    """A source's files as a frame; a stream reads this many of them a batch."""
    if table.static or static:
        return spark.read.schema(ddl(table)).parquet(str(written.folder))
    reader = spark.readStream.schema(ddl(table)).option("maxFilesPerTrigger", files or 1)
    return reader.parquet(str(written.folder))


def numbers(network: d.Step, extra: tuple[str, ...] = ()) -> list[str]:
    """SQL that turns each column into numbers and strings, as the oracle has them."""
    made = []
    for one in schema(network):
        name = quoted(one.name)
        if one.kind == "timestamp":
            made.append(f"unix_micros({name}) as {name}")
        elif one.kind == "window":
            both = f"array(unix_micros({name}.start), unix_micros({name}.end))"
            made.append(f"case when {name} is not null then {both} end as {name}")
        else:
            made.append(name)
    return [*made, *extra]


def payload(row: Any, width: int) -> Payload:
    """A collected row's first values, arrays as tuples."""
    return tuple(tuple(value) if isinstance(value, list) else value for value in list(row)[:width])


class Sources:
    """All sources of a network, written stage by stage and read as frames."""

    def __init__(self, spark: SparkSession, network: d.Step, data: Data, split: Split, folder: Path) -> None:
        self.spark, self.network, self.data, self.split = spark, network, data, split
        self.written = {t.name: Written(folder / "in" / t.name) for t in network.tables()}
        for table in network.tables():
            self.written[table.name].folder.mkdir(parents=True)
            if table.static:
                rows = data[table.name]
                self.written[table.name].write(table, rows, [range(len(rows))])

    def add(self, stage: int) -> None:
        """Writes the files of one stage's batches."""
        for table in self.network.tables():
            if not table.static:
                files = files_a_batch(self.split, table.name)
                for batch in self.split.stages[stage]:
                    written = self.written[table.name]
                    written.write(table, self.data[table.name], padded(batch, table.name, files))

    def frames(self, wrap: Named = plainly, *, static: bool = False, together: int = 1) -> Mapping[str, Frame]:
        """A frame a source, each as the caller wants it wrapped; `together` batches are read as one."""
        return {
            table.name: wrap(
                read(
                    self.spark,
                    table,
                    self.written[table.name],
                    files_a_batch(self.split, table.name) * together,
                    static=static,
                ),
                table,
            )
            for table in self.network.tables()
        }

    def build(self, wrap: Named = plainly, *, static: bool = False, together: int = 1) -> Frame:
        """The network over these sources."""
        return build(self.network, self.frames(wrap, static=static, together=together))


class Taken:
    """A sink that takes each batch's rows in the oracle's form; a batch that comes again replaces itself."""

    def __init__(self, network: d.Step, extra: tuple[str, ...] = ()) -> None:
        self._columns = numbers(network, extra)
        self._batches: dict[int, list[Payload]] = {}

    def __call__(self, frame: DataFrame, number: int) -> None:
        rows = frame.selectExpr(*self._columns).collect()
        self._batches[number] = [payload(row, len(self._columns)) for row in rows]

    @property
    def batches(self) -> list[list[Payload]]:
        """The rows, batch by batch."""
        return [self._batches[number] for number in sorted(self._batches)]


def stream(
    spark: SparkSession, network: d.Step, data: Data, split: Split, mode: str, folder: Path
) -> list[list[Payload]]:
    """What plain PySpark delivers, batch by batch, batches without data included."""
    sources = Sources(spark, network, data, split, folder)
    taken = Taken(network)
    for stage in range(len(split.stages)):
        sources.add(stage)
        query = (
            sources.build()
            .writeStream.foreachBatch(taken)
            .outputMode(mode)
            .option("checkpointLocation", str(folder / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
    return taken.batches


def whole(spark: SparkSession, network: d.Step, data: Data, split: Split, folder: Path) -> list[Payload]:
    """What plain PySpark gives for the static form: all files at once."""
    sources = Sources(spark, network, data, split, folder)
    for stage in range(len(split.stages)):
        sources.add(stage)
    rows = sources.build(static=True).selectExpr(*numbers(network)).collect()
    return [payload(row, len(schema(network))) for row in rows]
