"""Descriptions, expressions and the oracle's own parts, without Spark."""

from __future__ import annotations

import json
import subprocess
import sys

from hand_written import MORE, QUICK
from hypothesis import given, settings

from whence.testing import expression as e
from whence.testing.description import Window
from whence.testing.oracle.choices import tapes
from whence.testing.oracle.values import evaluate
from whence.testing.oracle.windows import windows_of
from whence.testing.record import dump, load
from whence.testing.schema import schema
from whence.testing.strategies import Case, cases


def test_json_and_back() -> None:
    """A description survives JSON."""
    for one in (QUICK | MORE).values():
        assert load(json.loads(json.dumps(dump(one.network)))) == one.network


@settings(max_examples=50, deadline=None, database=None)
@given(cases())
def test_every_drawn_network_is_well_formed(case: Case) -> None:
    """Columns have one name each, JSON keeps the network, and every row of the data is in one batch, once."""
    names = [one.name for one in schema(case.network)]
    assert len(set(names)) == len(names)
    assert load(dump(case.network)) == case.network
    for table in case.network.tables():
        read = [
            index
            for stage in case.split.stages
            for batch in stage
            for file in batch.get(table.name, ())
            for index in file
        ]
        assert table.static or sorted(read) == list(range(len(case.data[table.name])))


def test_null_logic() -> None:
    """`false and null` is false, `true and null` null; null equals null by `<=>` only."""
    null, no, yes = e.Literal(None, "boolean"), e.literal(False), e.literal(True)
    assert evaluate(e.Logic("and", null, no), {}) is False
    assert evaluate(e.Logic("and", yes, null), {}) is None
    assert evaluate(e.Logic("or", null, yes), {}) is True
    assert evaluate(e.Compare("=", null, null), {}) is None
    assert evaluate(e.Compare("<=>", null, null), {}) is True


def test_windows_before_1970() -> None:
    """Windows are aligned below zero as above it."""
    window = Window("ts", 10, 5)
    assert windows_of(window, -1_000_000) == [(-10_000_000, 0), (-5_000_000, 5_000_000)]
    assert windows_of(window, 0) == [(-5_000_000, 5_000_000), (0, 10_000_000)]


def test_every_world_once() -> None:
    """Choices of two and of three are six worlds."""
    met = []
    for world in tapes(100):
        met.append((world.choose(2), world.choose(3)))
    assert sorted(met) == [(a, b) for a in range(2) for b in range(3)]


def test_the_oracle_knows_nothing_of_the_engine() -> None:
    """Importing the oracle imports no engine, and no Spark."""
    code = (
        "import sys, whence.testing.oracle\n"
        "rooms = {n.split('.')[1] for n in sys.modules if n.startswith('whence.')}\n"
        "print(rooms <= {'testing', 'errors', 'names'}, 'pyspark' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["True", "False"]
