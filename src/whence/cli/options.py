"""The arguments and options that several commands have, and what they mean."""

import os
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from whence.errors import BadInputError
from whence.names import MARKER

STORE_VARIABLE = "WHENCE_STORE"
DEFAULT_LIMIT = 20


class Format(str, Enum):
    """How an answer is printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


Where = Annotated[
    str | None,
    typer.Option("--where", metavar="SQL", help="Which rows: an SQL expression over the row's own columns."),
]
Id = Annotated[int | None, typer.Option("--id", metavar="N", help="Which row: its _whence_id.")]
Limit = Annotated[
    int | None,
    typer.Option(
        "--limit",
        metavar="N",
        min=0,
        help=f"Print at most N results, and at most N rows under each; 0 for all. [{DEFAULT_LIMIT} in tables, else all]",
    ),
]
Shape = Annotated[Format, typer.Option("--format", help="How to print the answer.")]
First = Annotated[str, typer.Argument(metavar="[STORE]", show_default=False)]


def store_and_name(first: str, second: str | None, kind: str) -> tuple[str, str]:
    """The store and the sink or source that ``[STORE] NAME`` means: the store may come from WHENCE_STORE."""
    if second is not None:
        return first, second
    store = os.environ.get(STORE_VARIABLE)
    if not store:
        raise BadInputError(
            f"no {kind} given, or no store",
            f'the only argument is "{first}", and {STORE_VARIABLE} is not set',
            f"give both the store and the {kind}, or set {STORE_VARIABLE}",
        )
    return store, first


def store_and_perhaps_name(first: str | None, second: str | None) -> tuple[str, str | None]:
    """What ``[STORE] [SINK]`` means: one argument alone is a sink only if WHENCE_STORE is set and it is no folder."""
    store = os.environ.get(STORE_VARIABLE)
    if second is not None and first is not None:
        return first, second
    if first is not None:
        return (first, None) if not store or looks_like_store(first) else (store, first)
    if not store:
        raise BadInputError("no store given", hint=f"give the store's folder, or set {STORE_VARIABLE}")
    return store, None


def looks_like_store(text: str) -> bool:
    """Whether an argument can only be a store: it is written as a path, or it is a store's folder."""
    return "/" in text or os.sep in text or (Path(text) / MARKER).exists()


def check_choice(where: str | None, id: int | None) -> None:
    """``--where`` and ``--id`` exclude each other."""
    if where is not None and id is not None:
        raise BadInputError("--where and --id cannot both be given", hint="give the one that names the rows you mean")
