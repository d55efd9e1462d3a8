"""Folders of Parquet, JSON, CSV, ORC and text files: each result is there once after any crash, for any reader.

A batch is written beside the results, in `_whence/<run>-<batch>`, where readers do not look. Then a list of moves is
noted, and files are moved to their final names one by one. Whoever comes back after a crash goes on from the list.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from pyarrow import fs

from whence.deliver.sinks.committed import Committed
from whence.store import Location, locate

_STAGE = "_whence"
_MOVES = "_moves.json"


@dataclass(frozen=True)
class FileSink:
    """A folder of files of one format."""

    format: str
    path: str
    options: dict[str, str]
    partition_by: tuple[str, ...] = ()

    def deliver(self, batch: Committed) -> None:
        """Write the batch's files, or finish what an earlier attempt began."""
        out = locate(self.path)
        stage = out.at(_STAGE, f"{batch.run}-{batch.batch}")
        done = out.at(_STAGE, f"{batch.run}-{batch.batch}.done")
        if batch.rows and not done.exists():
            if not stage.at(_MOVES).exists():
                self._write(batch, stage)
            self._move(out, stage)
            stage.files.move(stage.path, done.path)
        self._forget(out, batch)

    def _write(self, batch: Committed, stage: Location) -> None:
        stage.remove()
        writer = batch.frame().write.format(self.format).mode("error").options(**self.options)
        if self.partition_by:
            writer = writer.partitionBy(*self.partition_by)
        writer.save(stage.uri)
        moves = {}
        for number, path in enumerate(_data_files(stage)):
            folder, _, name = path.rpartition("/")
            extension = name.partition(".")[2]
            final = f"part-{batch.run}-{batch.batch:05d}-{number:05d}.{extension}"
            moves[path] = f"{folder}/{final}" if folder else final
        stage.at(_MOVES).write(json.dumps(moves).encode())

    def _move(self, out: Location, stage: Location) -> None:
        files = out.files
        for path, final in json.loads(stage.at(_MOVES).read()).items():
            source, target = f"{stage.path}/{path}", f"{out.path}/{final}"
            if files.get_file_info(source).type == fs.FileType.File:
                files.create_dir(target.rpartition("/")[0], recursive=True)
                files.move(source, target)

    def _forget(self, out: Location, batch: Committed) -> None:
        """Remove the marks of batches that Spark's checkpoint has long passed."""
        folder = out.at(_STAGE)
        for name in folder.names():
            run, _, number = name.removesuffix(".done").rpartition("-")
            if run == batch.run and name.endswith(".done") and number.isdigit() and int(number) < batch.batch:
                folder.at(name).remove()


def _data_files(stage: Location) -> list[str]:
    found = stage.files.get_file_info(fs.FileSelector(stage.path, recursive=True))
    below = [info.path[len(stage.path) + 1 :] for info in found if info.type == fs.FileType.File]
    return sorted(path for path in below if not any(part.startswith(("_", ".")) for part in _names(path)))


def _names(path: str) -> list[str]:
    """The parts of a path, but for partition folders, whose columns may begin with an underscore."""
    return [part for part in path.split("/") if "=" not in part]
