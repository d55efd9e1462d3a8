"""The pieces that answers are printed of: a heading, rows under it, and what had to be left out."""

from collections.abc import Sequence
from typing import Any

from whence.cli.options import DEFAULT_LIMIT
from whence.cli.screen import Screen
from whence.names import BATCH, ID, is_hidden

SOURCE_ID = "_whence_source_id"


def most(limit: int | None, default: int = DEFAULT_LIMIT) -> int | None:
    """How many to print at most, for a slice; None for all."""
    return (default if limit is None else limit) or None


def own(row: dict[str, Any]) -> dict[str, Any]:
    """A row as it is printed: the columns that the user knows, then its id."""
    return columns(row) | {ID: row[ID]}


def columns(row: dict[str, Any]) -> dict[str, Any]:
    """The columns of a row that the user knows."""
    return {name: value for name, value in row.items() if not is_hidden(name)}


def batch(row: dict[str, Any]) -> str:
    """The batch that a result was delivered in, as part of a heading."""
    return f", batch {row[BATCH]}" if BATCH in row else ""


def many(number: int, what: str) -> str:
    """A number of things, in words."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def section(screen: Screen, heading: str, rows: Sequence[dict[str, Any]], limit: int | None) -> None:
    """Prints a heading and rows, indented, under a result."""
    screen.line(heading, style="cyan", indent=2)
    screen.table([own(row) for row in rows[: most(limit)]], indent=4)
    left_out(screen, len(rows), limit, "row", indent=4)


def left_out(screen: Screen, number: int, limit: int | None, what: str, *, indent: int = 0) -> None:
    """Says how many were not printed, and what prints them."""
    limited = most(limit)
    if limited is not None and number > limited:
        screen.line(f"... and {many(number - limited, what)} more: --limit 0 prints all", style="dim", indent=indent)


def by_id(rows: Sequence[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Rows by their id."""
    return {row[ID]: row for row in rows}
