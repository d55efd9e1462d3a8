"""Where answers go: rich tables on a terminal; in a pipe the same words, plain, unwrapped and aligned."""

import csv
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from whence.cli.cells import is_number, plain, text

Row = Mapping[str, Any]


class Screen:
    """Standard output. It honours NO_COLOR, and is plain where it is not a terminal."""

    def __init__(self) -> None:
        self.console = Console(highlight=False, soft_wrap=True)

    @property
    def is_terminal(self) -> bool:
        return self.console.is_terminal

    def line(self, words: str = "", *, style: str = "", indent: int = 0) -> None:
        self.console.print(Text(" " * indent + words, style=style))

    def table(self, rows: Sequence[Row], *, columns: Sequence[str] | None = None, indent: int = 0) -> None:
        """Prints rows under their column names."""
        names = list(columns) if columns is not None else columns_of(rows)
        if not rows or not names:
            return
        right = {name for name in names if any(is_number(row.get(name)) for row in rows)}
        cells = [[text(row.get(name)) for name in names] for row in rows]
        if self.is_terminal:
            self.console.print(Padding(_rich(names, cells, right), (0, 0, 0, indent)), soft_wrap=False)
        else:
            for line in _aligned(names, cells, right):
                print(" " * indent + line)

    def pairs(self, values: Row, *, indent: int = 0) -> None:
        """Prints names beside values; what is empty is left out."""
        width = max(map(len, values), default=0)
        for name, value in values.items():
            if text(value):
                self.line(f"{name:<{width}}  {text(value)}", indent=indent)

    def json(self, document: Any) -> None:
        """Prints one JSON document."""
        print(json.dumps(plain(document), ensure_ascii=False, indent=2))

    def csv(self, rows: Iterable[Row], columns: Sequence[str]) -> None:
        """Prints CSV with a header."""
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([text(row.get(column)) for column in columns] for row in rows)


def columns_of(rows: Iterable[Row]) -> list[str]:
    """Every column that a row has, in the order in which they appear."""
    return list(dict.fromkeys(name for row in rows for name in row))


def _rich(names: Sequence[str], cells: Sequence[Sequence[str]], right: set[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for name in names:
        table.add_column(Text(name), justify="right" if name in right else "left", overflow="fold")
    for row in cells:
        table.add_row(*(Text(cell) for cell in row))
    return table


def _aligned(names: Sequence[str], cells: Sequence[Sequence[str]], right: set[str]) -> Iterable[str]:
    flat = [list(names), *([cell.replace("\n", " ") for cell in row] for row in cells)]
    widths = [max(len(row[i]) for row in flat) for i in range(len(names))]
    for row in flat:
        yield "  ".join(
            cell.rjust(width) if name in right else cell.ljust(width)
            for name, cell, width in zip(names, row, widths, strict=True)
        ).rstrip()
