"""The commands together, and what happens when one of them fails: exit codes 0 found, 1 nothing found, 2 wrong use."""

import re
from importlib import metadata
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from whence.cli.demo import demo
from whence.cli.doctor import doctor
from whence.cli.failure import print_error
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


class Command(TyperCommand):
    """Writes its arguments into the usage line as they are documented."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [re.sub(r"^[{\[](.* .*)[}\]]\.\.\.$", r"\1", piece) for piece in super().collect_usage_pieces(ctx)]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"whence {metadata.version('whence')}")
        raise typer.Exit()


app = typer.Typer(
    cls=Whence, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
)


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
    app.command(command.__name__, cls=Command, epilog=f"Example: {example}")(command)
