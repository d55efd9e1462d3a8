"""`docs/coverage.md` says of every method of the installed PySpark what becomes of it."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import DataFrame

from whence.frame import TracedFrame
from whence.frame.coverage import NOT_NEEDED, REFUSED, SINCE
from whence.frame.coverage_page import PAIRS, page, public
from whence.frame.grouped import REFUSED as REFUSED_BY_GROUPS

PAGE = Path(__file__).parent.parent / "docs" / "coverage.md"
BY_CLASS = {"DataFrame": REFUSED, "GroupedData": REFUSED_BY_GROUPS}


def test_the_page_is_not_stale() -> None:
    """The file is what the code gives: run `python -m whence.frame.coverage_page > docs/coverage.md`."""
    assert PAGE.read_text() == page()


def test_the_command_prints_the_page() -> None:
    """And nothing else, so that its output is the file."""
    command = [sys.executable, "-m", "whence.frame.coverage_page"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == PAGE.read_text()


@pytest.mark.parametrize(("title", "spark", "own"), PAIRS, ids=[title for title, _, _ in PAIRS])
def test_every_method_of_spark_is_in_one_list(title: str, spark: type, own: type) -> None:
    """Traced, refused or not needed: none is missing, and none is both there and refused."""
    refused = BY_CLASS.get(title, {})
    assert public(spark) - public(own) - refused.keys() == set()
    assert public(own) & refused.keys() == set()


def test_what_is_listed_is_there() -> None:
    """A method that the installed PySpark does not have is listed only with the release that it came with."""
    assert REFUSED.keys() - public(DataFrame) - SINCE.keys() == set()
    assert set(NOT_NEEDED) <= public(DataFrame) & public(TracedFrame)
    assert all(why.text and why.hint for why in REFUSED.values())


@pytest.mark.parametrize(("title", "spark", "own"), PAIRS, ids=[title for title, _, _ in PAIRS])
def test_arguments_have_sparks_own_names_and_order(title: str, spark: type, own: type) -> None:
    """Whatever call PySpark takes, by position or by keyword, its namesake takes too."""
    for name in sorted(public(spark) & public(own)):
        theirs, ours = getattr(spark, name), getattr(own, name)
        if not callable(theirs) or not callable(ours):
            continue
        wanted = list(inspect.signature(theirs).parameters.values())
        given = list(inspect.signature(ours).parameters.values())
        takes_any = given[-1].kind is inspect.Parameter.VAR_KEYWORD
        for position, parameter in enumerate(wanted):
            if position < len(given) and given[position].kind is not inspect.Parameter.VAR_KEYWORD:
                assert (given[position].name, given[position].kind) == (parameter.name, parameter.kind), name
            else:
                assert takes_any, f"{name}: {parameter.name}"
