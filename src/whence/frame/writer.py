"""`write` of a traced frame: Spark's writer, with `.lineage(store, name=...)`. One write is one run of one batch."""

from __future__ import annotations

import dataclasses
import os
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrame, DataFrameWriter

from whence.deliver import capture as rows
from whence.deliver.batch import clear_attempts
from whence.deliver.segments import Ranges, of_static
from whence.deliver.sinks import Committed
from whence.errors import BadInputError, SinkError
from whence.frame.capture import capture, named, options_of, record
from whence.modes import choose
from whence.names import NETWORKS, NETWORKS_SCHEMA, OUTPUTS
from whence.network import Node
from whence.store import NetworkRecord, Store, batch_rows, locate, now, open_store

_MODES = {"append", "overwrite", "ignore", "error", "errorifexists", "default"}
Finish = Callable[[DataFrameWriter], None]


class TracedWriter:
    """Spark's `DataFrameWriter`.

    >>> frame.write.lineage("lineage/", name="report").mode("overwrite").parquet("out/")

    Without `.lineage()` it is Spark's own writer on the plain result.
    """

    def __init__(self, node: Node, plain: DataFrame) -> None:
        if plain.isStreaming:
            raise BadInputError("write needs a static frame", hint="use .writeStream for a stream")
        self._node = node
        self._plain = plain
        self._format: str | None = None
        self._mode = "error"
        self._options: dict[str, Any] = {}
        self._steps: list[tuple[str, tuple[Any, ...]]] = []
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
    ) -> TracedWriter:
        """Keep lineage in the folder `store`, under `name`."""
        if live:
            raise BadInputError("a static write has no live graph", hint="leave live=True out")
        choose(mode)
        self._store = os.fspath(store)
        self._lineage = {"name": name, "mode": mode, "storage_options": storage_options}
        return self

    def format(self, source: str) -> TracedWriter:
        """The format."""
        self._format = source
        return self

    def mode(self, saveMode: str | None) -> TracedWriter:
        """append, overwrite, ignore or errorifexists."""
        if saveMode is not None:
            if saveMode.lower() not in _MODES:
                raise BadInputError(
                    f'unknown save mode "{saveMode}"',
                    f"there are {', '.join(sorted(_MODES))}",
                    "leave it out for error",
                )
            self._mode = "error" if saveMode.lower() in ("errorifexists", "default") else saveMode.lower()
        return self

    def option(self, key: str, value: Any) -> TracedWriter:
        """An option of the format."""
        self._options[key] = value
        return self

    def options(self, **options: Any) -> TracedWriter:
        """Options of the format."""
        self._options.update(options)
        return self

    def partitionBy(self, *cols: Any) -> TracedWriter:
        """Folders by column."""
        return self._noted("partitionBy", *cols)

    def bucketBy(self, numBuckets: int, col: Any, *cols: Any) -> TracedWriter:
        """Buckets, for tables."""
        return self._noted("bucketBy", numBuckets, col, *cols)

    def clusterBy(self, *cols: Any) -> TracedWriter:
        """Clustering, for tables whose format has it."""
        return self._noted("clusterBy", *cols)

    def sortBy(self, col: Any, *cols: Any) -> TracedWriter:
        """Order within buckets."""
        return self._noted("sortBy", col, *cols)

    def save(self, path: str | None = None, format: str | None = None, mode: str | None = None,
             partitionBy: Any = None, **options: Any) -> None:  # fmt: skip
        """Write."""
        self.mode(mode).options(**options)
        if format is not None:
            self._format = format
        if partitionBy is not None:
            self.partitionBy(*([partitionBy] if isinstance(partitionBy, str) else partitionBy))
        target = path or next((v for k, v in self._options.items() if k.lower() == "path"), None)
        self._finish(lambda writer: writer.save(path), exists=_folder(target))

    def parquet(self, path: str, mode: str | None = None, partitionBy: Any = None, **options: Any) -> None:
        """Write Parquet files."""
        self.save(path, "parquet", mode, partitionBy, **_given(options))

    def json(self, path: str, mode: str | None = None, **options: Any) -> None:
        """Write JSON files."""
        self.save(path, "json", mode, **_given(options))

    def csv(self, path: str, mode: str | None = None, **options: Any) -> None:
        """Write CSV files."""
        self.save(path, "csv", mode, **_given(options))

    def orc(self, path: str, mode: str | None = None, partitionBy: Any = None, **options: Any) -> None:
        """Write ORC files."""
        self.save(path, "orc", mode, partitionBy, **_given(options))

    def xml(self, path: str, rowTag: str | None = None, mode: str | None = None, **options: Any) -> None:
        """Write XML files."""
        self.save(path, "xml", mode, **_given({"rowTag": rowTag, **options}))

    def text(self, path: str, **options: Any) -> None:
        """Write text files."""
        self.save(path, "text", None, **_given(options))

    def saveAsTable(self, name: str, format: str | None = None, mode: str | None = None, partitionBy: Any = None,
                    **options: Any) -> None:  # fmt: skip
        """Write a table of the catalog."""
        self.mode(mode).options(**options)
        if partitionBy is not None:
            self.partitionBy(*([partitionBy] if isinstance(partitionBy, str) else partitionBy))
        if format is not None:
            self._format = format
        self._lineage.setdefault("fallback", name)
        self._finish(lambda writer: writer.saveAsTable(name), exists=lambda: self._catalog().tableExists(name))

    def insertInto(self, tableName: str, overwrite: bool | None = None) -> None:
        """Write into a table of the catalog."""
        if overwrite:
            self._mode = "overwrite"
        self._finish(lambda writer: writer.insertInto(tableName, overwrite), exists=lambda: False)

    def jdbc(self, url: str, table: str, mode: str | None = None, properties: dict[str, str] | None = None) -> None:
        """Write a table of a database."""
        self.mode(mode)
        self._finish(lambda writer: writer.jdbc(url, table, self._mode, properties), exists=lambda: False)

    def _noted(self, verb: str, *args: Any) -> TracedWriter:
        self._steps.append((verb, args))
        return self

    def _catalog(self) -> Any:
        return self._plain.sparkSession.catalog

    def _writer(self, frame: DataFrame) -> DataFrameWriter:
        writer = frame.write.mode(self._mode).options(**options_of(self._options))
        if self._format:
            writer = writer.format(self._format)
        for verb, args in self._steps:
            writer = getattr(writer, verb)(*args)
        return writer

    def _finish(self, finish: Finish, exists: Callable[[], bool]) -> None:
        mode = choose(self._lineage["mode"]) if self._store is not None else None
        if mode is None or not mode.traces:
            finish(self._writer(self._plain))
            return
        name = named(self._lineage["name"], self._lineage.get("fallback"), "say which")
        if self._mode == "ignore" and exists():
            return
        if self._mode == "error" and exists():
            raise SinkError(
                "the target exists already", hint='.mode("overwrite") replaces it, .mode("append") adds to it'
            )
        options = self._lineage["storage_options"]
        store = open_store(str(self._store), create=True, storage_options=options)
        ready = capture(self._node, self._plain, mode, "append", store)
        run = str(uuid.uuid4())
        replaces = self._mode == "overwrite"
        network = record(self._node, ready, sink=name, mode=mode.name, output_mode="append", run=run, replaces=replaces)
        started = now()
        clear_attempts(store, run)
        files = rows.write_rows(ready.frame, store, run, 0, network.layout)
        segments = list({(s["source"], s["segment"]): s for scan in ready.scans for s in of_static(scan)}.values())
        ranges = Ranges()
        for row in batch_rows(store):
            ranges.add(row["segments"] or [])
        ranges.add(segments)
        _note(store, network)
        row = rows.commit(store, run, name, 0, files, started=started, offsets=(), watermark=None, segments=segments)
        self._deliver(store, network, row, finish)

    def _deliver(self, store: Store, network: NetworkRecord, row: dict[str, Any], finish: Finish) -> None:
        root = store.location.at(OUTPUTS)
        paths = [root.at(f["path"]).uri for f in row["files"] if f["table"] == OUTPUTS]
        session = self._plain.sparkSession
        committed = Committed(session, network.run, 0, paths, self._plain.schema, row["rows"])
        try:
            finish(self._writer(committed.frame()))
        except BaseException:
            failed = {**network.declared, "failed": True}
            _note(store, dataclasses.replace(network, version=2, declared=failed, started=now()))
            raise


def _note(store: Store, network: NetworkRecord) -> None:
    store.append(NETWORKS, [network.to_row()], NETWORKS_SCHEMA, (network.run, network.version))


def _folder(path: Any) -> Callable[[], bool]:
    return lambda: path is not None and locate(str(path)).exists()


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if value is not None}
