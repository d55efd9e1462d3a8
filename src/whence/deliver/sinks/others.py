"""Sinks that are not folders of files. Delta holds a result once; the others at least once, as with plain Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whence.deliver.sinks.committed import Committed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class FormatSink:
    """A format that Spark can write batch by batch, Kafka above all: at least once."""

    format: str
    options: dict[str, str]

    def deliver(self, batch: Committed) -> None:
        """Write the batch."""
        if batch.rows:
            batch.frame().write.format(self.format).mode("append").options(**self.options).save()


@dataclass(frozen=True)
class DeltaSink:
    """A Delta table, by Delta's own connector: its transaction ids make a repeated batch a no-op."""

    path: str
    options: dict[str, str]
    overwrite: bool = False
    partition_by: tuple[str, ...] = ()

    def deliver(self, batch: Committed) -> None:
        """Write the batch once."""
        once = {"txnAppId": batch.run, "txnVersion": str(batch.batch)}
        mode = "overwrite" if self.overwrite else "append"
        writer = batch.frame().write.format("delta").mode(mode).options(**self.options, **once)
        if self.partition_by:
            writer = writer.partitionBy(*self.partition_by)
        writer.save(self.path)


@dataclass(frozen=True)
class TableSink:
    """A table of the catalog: at least once, exactly once where it is Delta."""

    table: str
    format: str | None
    options: dict[str, str]
    overwrite: bool = False
    partition_by: tuple[str, ...] = ()

    def deliver(self, batch: Committed) -> None:
        """Append the batch."""
        once = {"txnAppId": batch.run, "txnVersion": str(batch.batch)} if self.format == "delta" else {}
        writer = batch.frame().write.mode("overwrite" if self.overwrite else "append").options(**self.options, **once)
        if self.format:
            writer = writer.format(self.format)
        if self.partition_by:
            writer = writer.partitionBy(*self.partition_by)
        writer.saveAsTable(self.table)


@dataclass(frozen=True)
class ConsoleSink:
    """Prints each batch, as Spark's console does."""

    rows: int = 20
    truncate: bool = True

    def deliver(self, batch: Committed) -> None:
        """Print the batch."""
        line = "-" * 43
        print(f"{line}\nBatch: {batch.batch}\n{line}")
        batch.frame().show(self.rows, self.truncate)


@dataclass(frozen=True)
class NoopSink:
    """Throws results away: only their lineage stays."""

    def deliver(self, batch: Committed) -> None:
        """Do nothing."""


@dataclass(frozen=True)
class BatchFunctionSink:
    """The user's `foreachBatch` function: at least once, with the same rows each time."""

    function: Callable[[DataFrame, int], None] = field(repr=False)

    def deliver(self, batch: Committed) -> None:
        """Call it."""
        self.function(batch.frame(), batch.batch)


@dataclass(frozen=True)
class RowFunctionSink:
    """The user's `foreach` function or writer object: at least once."""

    writer: Any = field(repr=False)

    def deliver(self, batch: Committed) -> None:
        """Call it for each row, on the executors."""
        batch.frame().foreachPartition(_RowWriter(self.writer, batch.batch))


@dataclass(frozen=True)
class _RowWriter:
    """`open`, `process`, `close` for a partition, as Spark's ForeachWriter has it."""

    writer: Any
    batch: int

    def __call__(self, rows: Iterator[Any]) -> None:
        from pyspark import TaskContext

        if not hasattr(self.writer, "process"):
            for row in rows:
                self.writer(row)
            return
        context = TaskContext.get()
        partition = context.partitionId() if context else 0
        is_open = self.writer.open(partition, self.batch) if hasattr(self.writer, "open") else True
        error: BaseException | None = None
        try:
            if is_open:
                for row in rows:
                    self.writer.process(row)
        except BaseException as raised:
            error = raised
            raise
        finally:
            if hasattr(self.writer, "close"):
                self.writer.close(error)
