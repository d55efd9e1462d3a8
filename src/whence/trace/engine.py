"""DuckDB over the store's files, in place: the SQL of every answer, spelled once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import duckdb
import pyarrow as pa

from whence.errors import BadInputError
from whence.names import BATCH, ID, OUTPUTS, RUN
from whence.store import Store
from whence.trace.current import Run

EDGE_SCHEMA = pa.schema(
    [
        ("output_id", pa.int64()),
        ("source", pa.string()),
        ("source_id", pa.int64()),
        ("run", pa.string()),
        ("batch", pa.int64()),
    ]
)


def connect(folders: Iterable[str] = (), files: Iterable[str] = ()) -> duckdb.DuckDBPyConnection:
    """A connection that can read the given folders and files, and nothing else."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET preserve_insertion_order = true")
    folders, files = list(folders), list(files)
    if all("://" not in place for place in (*folders, *files)):
        connection.execute(f"SET allowed_directories = {_texts(f + '/' for f in folders)}")
        connection.execute(f"SET allowed_paths = {_texts(files)}")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
    return connection


def arrow(connection: duckdb.DuckDBPyConnection, sql: str) -> pa.Table:
    """What a statement gives, as an Arrow table."""
    return connection.sql(sql).to_arrow_table()


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """A string as SQL writes it."""
    return "'" + value.replace("'", "''") + "'"


def _texts(values: Iterable[str]) -> str:
    return f"[{', '.join(map(text, values))}]"


def scan(paths: Sequence[str]) -> str:
    """The rows of Parquet files."""
    return f"read_parquet({_texts(paths)}, union_by_name = true, hive_partitioning = false)"


def current_rows(run: Run, store: Store, condition: str) -> str | None:
    """The rows of a run as they are now: of an updated result its last version, in complete mode the last batch."""
    paths = run.files(store, OUTPUTS)
    if not paths:
        return None
    columns = ", ".join(quoted(c) for c in [ID, *run.network.layout["payload"], BATCH])
    rows = f"SELECT {columns}, {text(run.id)} AS {RUN} FROM {_with_later(run, scan(paths))}"
    if run.network.output_mode == "complete":
        rows = f"SELECT * FROM ({rows}) WHERE {BATCH} = {run.batches[-1]['batch']}"
    elif run.updating:
        rows = f"SELECT * FROM ({rows}) QUALIFY rank() OVER (PARTITION BY {ID} ORDER BY {BATCH} DESC) = 1"
    return f"SELECT * FROM ({rows}) WHERE ({condition}\n)"


def _with_later(run: Run, rows: str) -> str:
    """Rows with the columns that their files may lack."""
    if not run.later:
        return rows
    nulls = ", ".join(f"NULL AS {quoted(column)}" for column in run.later)
    return f"(SELECT * FROM {rows} UNION ALL BY NAME SELECT {nulls} WHERE false)"


def edges(run: Run, store: Store, source: str | None = None) -> str | None:
    """The edges of a run: each once, with the version that added it."""
    paths = run.files(store, OUTPUTS)
    parts = []
    for name, column in run.network.layout["ids"].items():
        if source is not None and name != source:
            continue
        many = run.network.layout["kinds"][name] == "many"
        value = f"unnest({quoted(column)})" if many else quoted(column)
        parts.append(
            f"SELECT {ID} AS output_id, {text(name)} AS source, {value} AS source_id,"
            f" {text(run.id)} AS run, {BATCH} AS batch FROM {scan(paths)}"
        )
    if not parts or not paths:
        return None
    every = f"SELECT * FROM ({' UNION ALL '.join(parts)}) WHERE source_id IS NOT NULL"
    if not run.updating:
        return every
    return f"SELECT output_id, source, source_id, run, min(batch) AS batch FROM ({every}) GROUP BY ALL"


def ask(connection: duckdb.DuckDBPyConnection, sql: str, where: str | None = None) -> pa.Table:
    """Run a statement; what DuckDB cannot evaluate in the user's `where` is the user's error."""
    try:
        return arrow(connection, sql)
    except duckdb.Error as error:
        if where is None:
            raise
        first = str(error).split("\n")[0]
        raise BadInputError(
            "the where cannot be evaluated", f"{where}: {first}", "mind the types of the columns"
        ) from error
