"""``whence doctor``: is everything here that Whence needs, and can this store be read?"""

import os
from typing import Annotated

import typer

import whence
from whence.cli import health
from whence.cli.health import Check
from whence.cli.options import STORE_VARIABLE, Format, Shape
from whence.cli.screen import Screen
from whence.cli.waiting import waiting
from whence.errors import WhenceError

STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}


def doctor(
    store: Annotated[
        str | None, typer.Argument(metavar="[STORE]", help=f"A store to look at too. [{STORE_VARIABLE}]")
    ] = None,
    format: Shape = Format.TABLE,
) -> None:
    """Is everything here that Whence needs?

    Checks Python, PySpark, Java, the libraries and, where one is given, a store.
    """
    store = store or os.environ.get(STORE_VARIABLE) or None
    with waiting("looking"):
        checks = [health.python(), health.pyspark(), health.java(), *map(health.library, health.LIBRARIES)]
        if store:
            checks.append(store_check(store))
    screen = Screen()
    if format is Format.JSON:
        screen.json({"checks": [check.to_dict() for check in checks]})
    elif format is Format.CSV:
        screen.csv([check.to_dict() for check in checks], ["name", "state", "says", "hint"])
    else:
        for check in checks:
            screen.line(f"{check.state:4}  {check.name}: {check.says}", style=STYLES[check.state])
            if check.hint:
                screen.line(f"Hint: {check.hint}", indent=6)
    if any(check.state == "fail" for check in checks):
        raise typer.Exit(1)


def store_check(store: str) -> Check:
    """Whether the store opens, and what is in it."""
    try:
        with whence.open(store) as lineage:
            sinks, sources = len(lineage.sinks()), len(lineage.sources())
    except WhenceError as error:
        says = f"{error.primary} ({error.detail})" if error.detail else error.primary
        return Check(f"store {store}", "fail", says, error.hint)
    return Check(f"store {store}", "ok", f"{_many(sinks, 'sink')}, {_many(sources, 'source')}")


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
