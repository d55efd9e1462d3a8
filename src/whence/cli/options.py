"""The arguments and options that several commands have, and what they mean."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from whence.cli.failure import print_error
from whence.errors import BadInputError, NotFoundError
from whence.names import MARKER

NOTHING = 1
STORE_VARIABLE = "WHENCE_STORE"
STORE_HELP = f"The store's folder, unless {STORE_VARIABLE} names it, and the name of what is asked about."
DEFAULT_LIMIT = 20


class Format(StrEnum):
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
        help=f"Print at most N results, and N rows under each; 0 for all. [{DEFAULT_LIMIT} in tables, else all]",
    ),
]
Shape = Annotated[Format, typer.Option("--format", help="How to print the answer.")]


def store_and_name(given: list[str], kind: str) -> tuple[str, str]:
    """The store and the sink or source that ``[STORE] NAME`` means: the store may come from WHENCE_STORE."""
    _not_more_than_two(given)
    if len(given) == 2:
        return given[0], given[1]
    store = os.environ.get(STORE_VARIABLE)
    if not store:
        raise BadInputError(
            f"no {kind} given, or no store",
            f'the only argument is "{given[0]}", and {STORE_VARIABLE} is not set',
            f"give the store, then the {kind}; or set {STORE_VARIABLE}",
        )
    return store, given[0]


def store_and_perhaps_name(given: list[str]) -> tuple[str, str | None]:
    """What ``[STORE] [SINK]`` means: one argument alone is a sink only if WHENCE_STORE is set and it is no path."""
    _not_more_than_two(given)
    if len(given) == 2:
        return given[0], given[1]
    store = os.environ.get(STORE_VARIABLE)
    if given and (not store or looks_like_store(given[0])):
        return given[0], None
    if not store:
        raise BadInputError("no store given", hint=f"give the store's folder, or set {STORE_VARIABLE}")
    return store, given[0] if given else None


def _not_more_than_two(given: list[str]) -> None:
    if len(given) > 2:
        raise BadInputError(f'unexpected argument "{given[2]}"', hint="put a --where into quotes")


def looks_like_store(text: str) -> bool:
    """Whether an argument can only be a store: it is written as a path, or it is a store's folder."""
    return "/" in text or os.sep in text or (Path(text) / MARKER).exists()


def check_choice(where: str | None, id: int | None) -> None:
    """``--where`` and ``--id`` exclude each other."""
    if where is not None and id is not None:
        raise BadInputError("--where and --id cannot both be given", hint="give the one that names the rows you mean")


@contextmanager
def none_found(id: int | None, name: str, known: Callable[[], Sequence[Any]]) -> Iterator[None]:
    """An id that a known sink or source does not hold is nothing found; an unknown name stays wrong use."""
    try:
        yield
    except NotFoundError as error:
        if id is None or name not in {one.name for one in known()}:
            raise
        print_error(error)
        raise typer.Exit(NOTHING) from error
