"""`writeStream` of a traced frame: Spark's writer, with `.lineage(store)`."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from whence.deliver.batch import Delivery
from whence.errors import BadInputError, CheckpointError, RefusedError
from whence.frame.capture import capture, named, options_of, record
from whence.frame.failures import not_started
from whence.frame.restart import check_restart
from whence.frame.stream_sinks import TEMPORARY, Target, sink_of
from whence.modes import choose
from whence.network import Node
from whence.store import locate, open_store

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery


class TracedStreamWriter:
    """Spark's `DataStreamWriter`: every method returns the writer, `start` the running query.

    >>> query = frame.writeStream.queryName("alerts").lineage("lineage/").format("parquet").start("out/")

    Without `.lineage()` it is Spark's own writer on the plain result.
    """

    def __init__(self, node: Node, plain: DataFrame) -> None:
        if not plain.isStreaming:
            raise BadInputError("writeStream needs a streaming source", hint="use .write for a static frame")
        self._node = node
        self._plain = plain
        self._target = Target()
        self._query_name: str | None = None
        self._trigger: dict[str, Any] = {}
        self._store: str | None = None
        self._lineage: dict[str, Any] = {}

    def lineage(
        self,
        store: str | os.PathLike[str],
        *,
        name: str | None = None,
        mode: str = "auto",
        live: bool = False,
        storage_options: Mapping[str, str] | None = None,
    ) -> TracedStreamWriter:
        """Keep lineage in the folder `store`; results are called `name` there (default: the query's name)."""
        if live:
            raise RefusedError("the live graph is not there yet", "live=True", "leave it out: impact asks the store")
        choose(mode)
        self._store = os.fspath(store)
        self._lineage = {"name": name, "mode": mode, "storage_options": storage_options}
        return self

    def format(self, source: str) -> TracedStreamWriter:
        """The sink's format."""
        self._target.format = source
        return self

    def option(self, key: str, value: Any) -> TracedStreamWriter:
        """An option of the sink."""
        self._target.options[key] = value
        return self

    def options(self, **options: Any) -> TracedStreamWriter:
        """Options of the sink."""
        self._target.options.update(options)
        return self

    def outputMode(self, outputMode: str) -> TracedStreamWriter:
        """append, update or complete."""
        if outputMode.lower() not in ("append", "update", "complete"):
            raise BadInputError(
                f'unknown output mode "{outputMode}"', "there are append, update, complete", "leave it out for append"
            )
        self._target.output_mode = outputMode.lower()
        return self

    def partitionBy(self, *cols: Any) -> TracedStreamWriter:
        """Folders by column, for file sinks."""
        flat = cols[0] if len(cols) == 1 and isinstance(cols[0], list | tuple) else cols
        self._target.partition_by = tuple(flat)
        return self

    def clusterBy(self, *cols: Any) -> TracedStreamWriter:
        """Not with lineage."""
        raise RefusedError("clusterBy is not traced", "no sink with lineage writes clustered tables", "use partitionBy")

    def queryName(self, queryName: str) -> TracedStreamWriter:
        """The query's name, and the results' name in the store unless `.lineage(name=...)` says another."""
        self._query_name = queryName
        return self

    def trigger(self, **kwargs: Any) -> TracedStreamWriter:
        """When batches run."""
        refused = {"continuous", "realTime"} & {k for k, v in kwargs.items() if v is not None}
        if refused and self._store is not None:
            raise RefusedError(
                f"trigger {refused.pop()} is not traced", "lineage goes batch by batch", "use processingTime"
            )
        self._trigger = kwargs
        return self

    def foreachBatch(self, func: Callable[[DataFrame, int], None]) -> TracedStreamWriter:
        """Call a function with each batch of plain results."""
        self._target.batch_function = func
        return self

    def foreach(self, f: Any) -> TracedStreamWriter:
        """Call a function, or an object with `process`, for each row."""
        self._target.row_function = f
        return self

    def start(
        self,
        path: str | None = None,
        format: str | None = None,
        outputMode: str | None = None,
        partitionBy: str | list[str] | None = None,
        queryName: str | None = None,
        **options: Any,
    ) -> StreamingQuery:
        """Check everything that can be checked, then start the query."""
        self.options(**options)
        if path is not None:
            self._target.options["path"] = path
        if format is not None:
            self.format(format)
        if outputMode is not None:
            self.outputMode(outputMode)
        if partitionBy is not None:
            self.partitionBy(*([partitionBy] if isinstance(partitionBy, str) else partitionBy))
        if queryName is not None:
            self.queryName(queryName)
        mode = choose(self._lineage["mode"]) if self._store is not None else None
        return self._plain_start() if mode is None or not mode.traces else self._start()

    def toTable(
        self,
        tableName: str,
        format: str | None = None,
        outputMode: str | None = None,
        partitionBy: str | list[str] | None = None,
        queryName: str | None = None,
        **options: Any,
    ) -> StreamingQuery:
        """Start the query with a table as its sink."""
        self._target.table = tableName
        return self.start(None, format, outputMode, partitionBy, queryName, **options)

    def _start(self) -> StreamingQuery:
        assert self._store is not None
        if {"continuous", "realTime"} & {k for k, v in self._trigger.items() if v is not None}:
            raise RefusedError("continuous and real-time triggers are not traced", hint="use processingTime")
        sink = sink_of(self._target, self._plain)
        name = named(self._lineage["name"], self._query_name, '.queryName("...")')
        folder = self._absolute(self._store, "the store")
        store = open_store(folder, create=True, storage_options=self._lineage["storage_options"])
        self._check_running(name)
        mode = choose(self._lineage["mode"])
        output_mode = self._target.output_mode
        ready = capture(self._node, self._plain, mode, output_mode, store)
        network = record(self._node, ready, sink=name, mode=mode.name, output_mode=output_mode)
        checkpoint = self._absolute(self._checkpoint(), "the checkpoint")
        check_restart(checkpoint, store, network)
        delivery = Delivery(
            store_uri=store.location.uri,
            storage_options=dict(self._lineage["storage_options"] or {}) or None,
            checkpoint=checkpoint,
            network=network,
            scans=ready.scans,
            payload=tuple(self._plain.columns),
            sink=sink,
        )
        writer = ready.frame.writeStream.outputMode(output_mode).foreachBatch(delivery)
        writer = writer.option("checkpointLocation", checkpoint)
        if self._query_name:
            writer = writer.queryName(self._query_name)
        if self._trigger:
            writer = writer.trigger(**self._trigger)
        try:
            return writer.start()
        except AnalysisException as error:
            raise not_started(output_mode, error) from error

    def _plain_start(self) -> StreamingQuery:
        writer = self._plain.writeStream.outputMode(self._target.output_mode)
        writer = writer.options(**options_of(self._target.options))
        if self._query_name:
            writer = writer.queryName(self._query_name)
        if self._trigger:
            writer = writer.trigger(**self._trigger)
        if self._target.partition_by:
            writer = writer.partitionBy(*self._target.partition_by)
        if self._target.format:
            writer = writer.format(self._target.format)
        if self._target.batch_function:
            writer = writer.foreachBatch(self._target.batch_function)
        if self._target.row_function:
            writer = writer.foreach(self._target.row_function)
        return writer.toTable(self._target.table) if self._target.table else writer.start()

    def _checkpoint(self) -> str:
        options = {key.lower(): value for key, value in self._target.options.items()}
        if "checkpointlocation" in options:
            return str(options["checkpointlocation"])
        root = self._plain.sparkSession.conf.get("spark.sql.streaming.checkpointLocation", "")
        if root:
            return f"{root.rstrip('/')}/{self._query_name or uuid.uuid4()}"
        if self._target.kind in TEMPORARY:
            return tempfile.mkdtemp(prefix="whence-checkpoint-")
        raise CheckpointError(
            "the query needs a checkpoint",
            f"sink {self._target.kind}",
            '.option("checkpointLocation", "ckpt/")',
        )

    def _absolute(self, folder: str, what: str) -> str:
        if locate(folder).is_local and not folder.startswith(("/", "file:")) and _is_connect(self._plain):
            raise BadInputError(
                f"{what} has a relative path",
                f'"{folder}" on Spark Connect: the server has another working folder',
                "give an absolute path on the server",
            )
        return locate(folder).uri

    def _check_running(self, name: str) -> None:
        for query in self._plain.sparkSession.streams.active:
            if self._query_name and query.name == self._query_name:
                raise BadInputError(
                    f'a query called "{self._query_name}" is running',
                    f"run {query.id}",
                    "stop it first, or give this one another queryName",
                )


def _is_connect(frame: DataFrame) -> bool:
    return "connect" in type(frame.sparkSession).__module__
