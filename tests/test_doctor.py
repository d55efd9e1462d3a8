"""`whence doctor`: each check on the machine that it is about, made up where this one is too healthy."""

import json
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from typer.testing import CliRunner

from whence.cli import health
from whence.cli.app import app

ROOT = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WHENCE_STORE", "SPARK_REMOTE", "JAVA_HOME"):
        monkeypatch.delenv(name, raising=False)


def a_java(folder: Path, says: str) -> Path:
    """A JAVA_HOME whose java says one thing, on stderr as java does."""
    command = folder / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text(f"#!/bin/sh\ncat >&2 <<'X'\n{says}\nX\n")
    command.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("says", "state"),
    [
        ('openjdk version "17.0.15" 2025-04-15', "ok"),
        ('openjdk version "21" 2023-09-19', "ok"),
        ('openjdk version "25.0.1" 2025-10-21', "warn"),
        ('java version "11.0.2" 2019-01-15', "fail"),
        ('java version "1.8.0_392"', "fail"),
        ("no idea", "fail"),
    ],
)
def test_java_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, state: str) -> None:
    """17 and 21 are good, newer ones are untested, older ones do not do; whatever is not ok has a hint."""
    monkeypatch.setenv("JAVA_HOME", str(a_java(tmp_path / "jdk", says)))
    check = health.java()
    assert check.state == state
    assert bool(check.hint) == (state != "ok")


def test_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A JAVA_HOME without Java fails although one is in the path, as it does for Spark; so does none at all."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert (health.java().state, "JAVA_HOME is" in health.java().says) == ("fail", True)
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert (health.java().state, health.java().says) == ("fail", "not found")
    monkeypatch.setenv("SPARK_REMOTE", "sc://somewhere")
    assert health.java().state == "ok"


def test_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without PySpark lineage can still be asked for; an old one fails; a Connect client does."""

    def installed(**versions: str) -> None:
        def version(name: str) -> str:
            if name not in versions:
                raise metadata.PackageNotFoundError(name)
            return versions[name]

        monkeypatch.setattr(health.metadata, "version", version)

    installed()
    assert health.pyspark().state == "warn"
    installed(pyspark="3.5.1")
    assert health.pyspark().state == "fail"
    installed(**{"pyspark-client": "4.2.0"})
    assert (health.pyspark().state, health.pyspark().says) == ("ok", "4.2.0 (pyspark-client)")
    installed(pandas="3.0.1")
    assert health.library("pandas").state == "warn"
    assert health.library("duckdb").state == "fail"


def test_versions_are_those_that_the_package_asks_for() -> None:
    """What doctor wants is what pyproject.toml wants."""
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for name, (least, below) in health.LIBRARIES.items():
        assert f"{name}>={least}{f',<{below}' if below else ''}" in asked["dependencies"]
    assert f"pyspark>={health.OLDEST_SPARK}" in asked["dependencies"]
    assert asked["requires-python"] == f">={'.'.join(map(str, health.OLDEST_PYTHON))}"


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line each; exit code 0 on this machine, 1 where a check fails, with the store's own hint."""
    runner = CliRunner()
    result = runner.invoke(app, ["doctor"])
    assert result.exit_code == 0, result.output
    assert re.search(rf"^ok    Python: {re.escape('.'.join(map(str, sys.version_info[:3])))}$", result.stdout, re.M)
    result = runner.invoke(app, ["doctor", str(tmp_path)])
    assert result.exit_code == 1
    assert re.search(r"^fail  store .*\n      Hint: ", result.stdout, re.M)
    document = json.loads(runner.invoke(app, ["doctor", str(tmp_path), "--format", "json"]).stdout)
    assert document["checks"][-1]["state"] == "fail"
    assert runner.invoke(app, ["doctor", "--format", "csv"]).stdout.startswith("name,state,says,hint\n")
