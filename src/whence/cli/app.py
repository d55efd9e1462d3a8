"""The commands together, and what happens when one of them fails: exit codes 0 found, 1 nothing found, 2 wrong use."""

from importlib import metadata
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from whence.cli.demo import demo
from whence.cli.doctor import doctor
from whence.cli.impact import impact
from whence.cli.show import show
from whence.cli.trace import trace
from whence.errors import WhenceError

WRONG_USE = 2


class Whence(TyperGroup):
    """Reports Whence's own errors as what they are: primary, Detail, Hint, without a stack trace."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except WhenceError as error:
            print_error(error)
            raise typer.Exit(WRONG_USE) from error


def print_error(error: WhenceError) -> None:
    """Prints an error in its three parts on stderr."""
    stderr = Console(stderr=True, highlight=False, soft_wrap=True)
    stderr.print(f"Error: {error.primary}", style="bold red", markup=False)
    if error.detail:
        stderr.print(f"Detail: {error.detail}", markup=False)
    if error.hint:
        stderr.print(f"Hint: {error.hint}", style="cyan", markup=False)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"whence {metadata.version('whence')}")
        raise typer.Exit()


app = typer.Typer(cls=Whence, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.callback()
def whence(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Row-level provenance for PySpark streams: which input rows made a result, and what an input row has reached.

    WHENCE_STORE names the store where STORE is left out. Exit codes: 0 found, 1 nothing found or a check that
    failed, 2 wrong use.
    """


for command, example in (
    (demo, "whence demo --reports 50000"),
    (trace, "whence trace lineage/ stopped_cars --where \"car_id = 'a'\""),
    (impact, "whence impact lineage/ reports --where \"car_id = 'a' and speed = 0\""),
    (show, "whence show lineage/ stopped_cars"),
    (doctor, "whence doctor lineage/"),
):
    app.command(command.__name__, epilog=f"Example: {example}")(command)
