"""How an error is printed: primary, Detail, Hint, on stderr."""

from rich.console import Console

from whence.errors import WhenceError


def print_error(error: WhenceError) -> None:
    """Prints an error in its three parts."""
    stderr = Console(stderr=True, highlight=False, soft_wrap=True)
    stderr.print(f"Error: {error.primary}", style="bold red", markup=False)
    if error.detail:
        stderr.print(f"Detail: {error.detail}", markup=False)
    if error.hint:
        stderr.print(f"Hint: {error.hint}", style="cyan", markup=False)
