"""A sign of life, on stderr, for whatever takes over a second; nothing where nobody looks."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

PATIENCE = 1.0


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Shows a spinner with ``what`` from the first second on, if stderr is a terminal."""
    stderr = Console(stderr=True, highlight=False)
    if not stderr.is_terminal:
        yield
        return
    status = stderr.status(f"{what} ...")
    timer = threading.Timer(PATIENCE, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()
