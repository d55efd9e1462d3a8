"""A store: a folder with a marker and Delta tables. Readers start from `batches`, which names each batch's files."""

from __future__ import annotations

import json
import os
import random
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction

from whence.errors import StoreError
from whence.names import FORMAT_VERSION, MARKER, OUTPUTS, TABLE
from whence.store.location import Location, locate
from whence.store.torn import mend, torn

_TRIES = 20
_ODD = re.compile(r"%[0-9A-Fa-f]{2}|[*?\[\]{}\\\n]")

T = TypeVar("T")


@dataclass
class Store:
    """A store, opened for reading or writing. Tables are read incrementally: asking twice costs little."""

    location: Location
    storage_options: Mapping[str, str] | None = None
    _tables: dict[str, DeltaTable] = field(default_factory=dict, repr=False)
    _arrow: dict[str, tuple[int, pa.Table]] = field(default_factory=dict, repr=False)
    _parsed: dict[str, tuple[pa.Table, list[Any]]] = field(default_factory=dict, repr=False)

    def table(self, *name: str) -> DeltaTable | None:
        """A Delta table as it is now, or None where nothing has been committed."""
        key = "/".join(name)
        try:
            if key in self._tables:
                self._tables[key].update_incremental()
            else:
                self._tables[key] = DeltaTable(self.location.at(*name).table_uri, storage_options=self._options)
        except TableNotFoundError:
            self._tables.pop(key, None)
            return None
        except (DeltaError, OSError) as error:
            return self._before_torn(key, error)
        return self._tables[key]

    def _before_torn(self, key: str, error: Exception) -> DeltaTable | None:
        """The table without a last commit that was cut off."""
        place = self.location.at(key)
        version = torn(place)
        if version is None:
            raise StoreError(f'table "{key}" of the store cannot be read', str(error).split("\n")[0]) from error
        self._tables.pop(key, None)
        return DeltaTable(place.table_uri, version - 1, storage_options=self._options) if version else None

    def read(self, name: str, schema: pa.Schema) -> pa.Table:
        """A small table (`batches`, `networks`) as Arrow."""
        table = self.table(name)
        if table is None:
            return schema.empty_table()
        version = table.version()
        known = self._arrow.get(name)
        if known is None or known[0] != version:
            try:
                data = table.to_pyarrow_table()
            except (DeltaError, OSError, pa.ArrowException) as error:
                raise StoreError(f'table "{name}" of the store cannot be read', str(error).split("\n")[0]) from error
            known = (version, data.select(schema.names).cast(schema))
            self._arrow[name] = known
        return known[1]

    def parsed(self, name: str, schema: pa.Schema, parse: Callable[[pa.Table], list[T]]) -> list[T]:
        """A small table as values, parsed once a version."""
        table = self.read(name, schema)
        known = self._parsed.get(name)
        if known is None or known[0] is not table:
            known = (table, parse(table))
            self._parsed[name] = known
        return list(known[1])

    def append(self, name: str, rows: Sequence[Mapping[str, Any]], schema: pa.Schema, once: tuple[str, int]) -> None:
        """Add rows to a small table in one commit, keyed so that a commit repeated is seen."""
        data = pa.Table.from_pylist([dict(row) for row in rows], schema=schema)
        self._committed(
            name,
            lambda: write_deltalake(
                self.location.at(name).table_uri,
                data,
                mode="append",
                storage_options=self._options,
                commit_properties=CommitProperties(app_transactions=[Transaction(*once)]),
            ),
        )

    def add_files(self, run: str, files: Iterable[AddAction], schema: pa.Schema, once: tuple[str, int]) -> None:
        """Commit data files of a run that Spark has written below `outputs/<run>`."""
        actions: list[AddAction | RemoveAction] = list(files)
        self._committed(f"{OUTPUTS}/{run}", lambda: self._add(run, actions, schema, once))

    def _add(self, run: str, actions: list[AddAction | RemoveAction], schema: pa.Schema, once: tuple[str, int]) -> None:
        table = self.table(OUTPUTS, run)
        parts = [TABLE] if TABLE in schema.names else None
        if table is None:
            uri = self.location.at(OUTPUTS, run).table_uri
            table = DeltaTable.create(uri, schema, mode="ignore", partition_by=parts, storage_options=self._options)
            self._tables[f"{OUTPUTS}/{run}"] = table
        table.create_write_transaction(
            actions,
            mode="append",
            schema=schema,
            partition_by=parts,
            commit_properties=CommitProperties(app_transactions=[Transaction(*once)]),
        )

    def forget_missing(self, run: str) -> None:
        """Take files that are not there out of a run's table."""

        def repair() -> None:
            table = self.table(OUTPUTS, run)
            if table is not None:
                table.repair()

        self._committed(f"{OUTPUTS}/{run}", repair)

    def _committed(self, key: str, commit: Callable[[], None]) -> None:
        """Commit, whoever else commits at the same time, and though the last commit before was cut off."""
        for attempt in range(_TRIES):
            try:
                return commit()
            except DeltaError as error:
                if mend(self.location.at(key)):
                    continue
                if attempt == _TRIES - 1 or not isinstance(error, CommitFailedError):
                    why = str(error).split("\n")[0]
                    raise StoreError(f'table "{key}" of the store takes no commit', why) from error
                time.sleep(random.uniform(0.01, 0.05) * (attempt + 1))

    @property
    def _options(self) -> dict[str, str] | None:
        return dict(self.storage_options) if self.storage_options else None


def open_store(
    folder: str | os.PathLike[str], *, create: bool = False, storage_options: Mapping[str, str] | None = None
) -> Store:
    """Open a store; `create` makes one of an absent or empty folder.

    A folder that holds something else, and a store with a newer layout, are errors.
    """
    location = locate(folder)
    _check_place(folder, location)
    marker = location.at(MARKER)
    if not marker.exists():
        names = [name for name in location.names() if not name.startswith((".", f"{MARKER}."))]
        if not marker.exists():  # unless another made it just now
            _check_new(folder, names, create)
            marker.write(json.dumps({"whence": "lineage store", "version": FORMAT_VERSION}).encode())
    _check_marker(location, marker)
    return Store(location, storage_options)


def _check_place(folder: str | os.PathLike[str], location: Location) -> None:
    odd = _ODD.search(location.path) if location.is_local else None
    if odd is not None:
        raise StoreError(
            f'"{folder}" cannot be the folder of a store',
            f'"{odd.group()}" in its path would be read as something else by one of Spark, delta-rs and DuckDB',
            "choose a folder whose path has no wildcards, brackets, backslashes or percent escapes",
        )
    if location.is_file():
        raise StoreError(f'"{folder}" is not a lineage store', "it is a file", "give .lineage() a new or empty folder")


def _check_new(folder: str | os.PathLike[str], names: list[str], create: bool) -> None:
    if names or not create:
        raise StoreError(
            f'"{folder}" is not a lineage store',
            f"it holds {', '.join(names[:3])}" if names else "there is nothing",
            "give .lineage() a new or empty folder"
            if create
            else 'give the folder that a query wrote with .lineage("folder/")',
        )


def _check_marker(location: Location, marker: Location) -> None:
    try:
        found = json.loads(marker.read())
        version = int(found["version"])
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f'"{location.path}" has a {MARKER} that cannot be read', str(error)) from error
    if version > FORMAT_VERSION:
        raise StoreError(
            f'"{location.path}" was written by a newer Whence',
            f"its layout is version {version}, this Whence knows up to {FORMAT_VERSION}",
            "upgrade whence",
        )
