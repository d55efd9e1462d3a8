"""A source's rows as Parquet files that Spark reads in prescribed batches.

Example: with at most two files a batch, every batch is written as two files, the missing ones empty. The surprise:
that is how one of two sources has an empty batch: it has files, and no rows in them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from whence.testing.description import Table
from whence.testing.expression import SQL_TYPES
from whence.testing.oracle.run import Batch, Split

ARROW: dict[str, pa.DataType] = {
    "long": pa.int64(),
    "string": pa.string(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "boolean": pa.bool_(),
    "double": pa.float64(),
    "longs": pa.list_(pa.int64()),
}
FIRST_MTIME = 1_700_000_000  # files are read in the order of their times; only that order matters


def ddl(table: Table) -> str:
    """A source's columns as Spark wants them: `` `k` bigint, `ts` timestamp ``."""
    return ", ".join(f"`{one.name}` {SQL_TYPES[one.kind]}" for one in table.columns)


@dataclass
class Written:
    """Where the files of one source are, and which row of the data lies where."""

    folder: Path
    places: dict[tuple[str, int], int] = field(default_factory=dict)  # (file name, position) -> row index
    count: int = 0

    def write(self, table: Table, data: Sequence[Mapping[str, Any]], files: Sequence[Sequence[int]]) -> None:
        """Adds files, each with the rows of these indices, in this order."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for indices in files:
            name = f"{self.count:05d}.parquet"
            arrays = [
                pa.array([_plain(data[at][one.name]) for at in indices], type=ARROW[one.kind]) for one in table.columns
            ]
            pq.write_table(
                pa.Table.from_arrays(arrays, names=[one.name for one in table.columns]),
                self.folder / name,
            )
            os.utime(self.folder / name, (FIRST_MTIME + self.count, FIRST_MTIME + self.count))
            self.places.update({(name, at): index for at, index in enumerate(indices)})
            self.count += 1


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def files_a_batch(split: Split, name: str) -> int:
    """How many files of a source each batch has: the most that any batch needs."""
    return max([1, *(len(batch.get(name, ())) for stage in split.stages for batch in stage)])


def padded(batch: Batch, name: str, files: int) -> list[tuple[int, ...]]:
    """A batch's files of a source, made up to a number with empty ones."""
    there = list(batch.get(name, ()))
    return there + [()] * (files - len(there))
