"""How a batch goes: rows into the store, one commit, the sink from the committed rows, then Spark's checkpoint.

A batch that runs again after its commit is executed for its state's sake; its rows are thrown away and the sink is
written again from the committed ones. So lineage and results agree, whatever the network and the sink.
"""

from __future__ import annotations

import dataclasses
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whence.deliver import capture
from whence.deliver.checkpoint import Checkpoint
from whence.deliver.segments import Ranges, Scan, of_batch
from whence.deliver.sinks import Committed, Sink
from whence.errors import CheckpointError, StoreError
from whence.names import NETWORKS, NETWORKS_SCHEMA, OUTPUTS
from whence.store import NetworkRecord, Store, batch_rows, free, networks, open_store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

log = logging.getLogger("whence")


@dataclass
class Delivery:
    """The `foreachBatch` function of a query with lineage. It pickles: on Spark Connect it runs on the server."""

    store_uri: str
    storage_options: dict[str, str] | None
    checkpoint: str
    network: NetworkRecord
    scans: tuple[Scan, ...]
    payload: tuple[str, ...]
    sink: Sink
    _store: Store | None = field(default=None, repr=False)
    _ranges: Ranges = field(default_factory=Ranges, repr=False)
    _run: str = ""
    _committed: dict[int, dict[str, Any]] = field(default_factory=dict, repr=False)
    _freed: set[str] = field(default_factory=set, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_store": None, "_ranges": Ranges(), "_run": "", "_committed": {}, "_freed": set()}

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Deliver one batch."""
        store, run = self._begin()
        known = self._committed.get(batch)
        if known is None:
            files = self.write(frame, store, run, batch)
            known = self.commit(store, run, batch, files)
        else:
            log.info("batch %s of %s was committed before: its rows are delivered again", batch, self.network.sink)
            frame.write.format("noop").mode("overwrite").save()
        self.deliver(frame, store, run, known)
        self._free(store, run)

    def write(self, frame: DataFrame, store: Store, run: str, batch: int) -> list[capture.Written]:
        """Step one."""
        return capture.write_rows(frame, store, run, batch, self.network.layout)

    def commit(self, store: Store, run: str, batch: int, files: list[capture.Written]) -> dict[str, Any]:
        """Step two."""
        checkpoint = Checkpoint.at(self.checkpoint)
        offsets = checkpoint.offsets(batch)
        assert offsets is not None
        segments = of_batch(self.scans, checkpoint, batch)
        self._ranges.add(segments)
        self._check_owner(store, run)
        return capture.commit(
            store,
            run,
            self.network.sink,
            batch,
            files,
            started=offsets.started,
            offsets=offsets.sources,
            watermark=offsets.watermark,
            segments=segments,
        )

    def deliver(self, frame: DataFrame, store: Store, run: str, row: dict[str, Any]) -> None:
        """Step three."""
        root = store.location.at(OUTPUTS)
        paths = [root.at(file["path"]).uri for file in row["files"] if file["table"] == OUTPUTS]
        schema = frame.select(*(f"`{name.replace('`', '``')}`" for name in self.payload)).schema
        self.sink.deliver(Committed(frame.sparkSession, run, row["batch"], paths, schema, row["rows"]))

    def _begin(self) -> tuple[Store, str]:
        """Open the store and, once a start, note the network and clear away what dead attempts left."""
        if self._store is not None:
            return self._store, self._run
        store = open_store(self.store_uri, storage_options=self.storage_options)
        run = Checkpoint.at(self.checkpoint).run()
        if run is None:
            raise CheckpointError(f'the checkpoint "{self.checkpoint}" has no metadata')
        for row in batch_rows(store):
            self._ranges.add(row["segments"] or [])
            if row["run"] == run:
                self._committed[row["batch"]] = row
        clear_attempts(store, run)
        mine = [n for n in networks(store) if n.run == run]
        record = dataclasses.replace(self.network, run=run, version=len(mine) + 1)
        store.append(NETWORKS, [record.to_row()], NETWORKS_SCHEMA, (run, record.version))
        self._store, self._run = store, run
        return store, run

    def _free(self, store: Store, run: str) -> None:
        """Let go of kept rows whose time is over."""
        keeping = [s for s in self.network.declared["sources"].values() if s["keep"] == "rows"]
        free(store, run, [source["keep_for"] for source in keeping], self._freed)

    def _check_owner(self, store: Store, run: str) -> None:
        owner = [n for n in networks(store) if n.sink == self.network.sink and n.streaming][-1]
        if owner.run != run and owner.started > self.network.started:
            raise StoreError(
                f'sink "{self.network.sink}" has been taken over by a newer query',
                f"run {owner.run}, started {owner.started:%Y-%m-%d %H:%M:%S} UTC",
                "stop one of the two, or give this one a name of its own: .lineage(store, name=...)",
            )


def clear_attempts(store: Store, run: str) -> None:
    """Remove what attempts left that were never committed, from the run's own table too."""
    folder = store.location.at(OUTPUTS, run)
    used = {f["path"].split("/")[1] for row in batch_rows(store, run) for f in row["files"]}
    dead = [name for name in folder.names() if name.partition("-")[0].isdigit() and name not in used]
    for name in dead:
        log.info("removing %s of an attempt that was never committed", name)
        folder.at(name).remove()
    if dead:
        store.forget_missing(run)
