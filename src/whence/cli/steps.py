"""The steps of something that takes a while, on stderr: bars on a terminal, one line a step elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

Advance = Callable[[int, int], None]


@contextmanager
def step(what: str) -> Iterator[Advance]:
    """Shows that ``what`` goes on; gives a function that takes how much is done, of how much."""
    stderr = Console(stderr=True, highlight=False)
    if not stderr.is_terminal:
        began = time.monotonic()
        stderr.print(f"{what} ...", end="", markup=False)
        try:
            yield lambda done, whole: None
        finally:
            stderr.print(f" {time.monotonic() - began:.1f} s", markup=False)
        return
    columns = (TextColumn("{task.description:<28}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=stderr) as bars:
        task = bars.add_task(what, total=None)

        def advance(done: int, whole: int) -> None:
            bars.update(task, completed=done, total=whole)

        yield advance
        bars.update(task, completed=1, total=1)
