"""What ``whence doctor`` looks at, one function a check. Nothing here imports PySpark."""

import importlib
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

OLDEST_PYTHON = (3, 11)
JAVAS = (17, 21)
LIBRARIES: dict[str, tuple[str, str | None]] = {
    "pandas": ("2.2", "3"),
    "pyarrow": ("18", None),
    "deltalake": ("1.6", None),
    "duckdb": ("1.4", None),
}
"""At least the first version, below the second: as pyproject.toml says."""
OLDEST_SPARK = "4.1"
SPARKS = ("pyspark", "pyspark-client", "pyspark-connect")


@dataclass(frozen=True)
class Check:
    """One finding: what was looked at, how it is, and what to do about it."""

    name: str
    state: Literal["ok", "warn", "fail"]
    says: str
    hint: str = ""

    def to_dict(self) -> dict[str, str]:
        return {"name": self.name, "state": self.state, "says": self.says, "hint": self.hint}


def python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < OLDEST_PYTHON:
        return Check("Python", "fail", version, f"use Python {'.'.join(map(str, OLDEST_PYTHON))} or newer")
    return Check("Python", "ok", version)


def pyspark() -> Check:
    for name in SPARKS:
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
        if _numbers(version) < _numbers(OLDEST_SPARK):
            return Check("PySpark", "fail", version, f'pip install "pyspark>={OLDEST_SPARK}"')
        return Check("PySpark", "ok", version if name == "pyspark" else f"{version} ({name})")
    return Check(
        "PySpark",
        "warn",
        "not installed: lineage can be asked for, not captured",
        f'pip install "pyspark>={OLDEST_SPARK}"',
    )


def java() -> Check:
    if os.environ.get("SPARK_REMOTE"):
        return Check("Java", "ok", "not needed here: SPARK_REMOTE names a Spark Connect server")
    wanted = " or ".join(map(str, JAVAS))
    home = os.environ.get("JAVA_HOME")
    command = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if home and not Path(str(command)).exists():
        return Check("Java", "fail", f"JAVA_HOME is {home}, where there is no bin/java", f"let it name a Java {wanted}")
    if not command:
        return Check("Java", "fail", "not found", f"install Java {wanted}, or let JAVA_HOME name one")
    try:
        done = subprocess.run([command, "-version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check("Java", "fail", f"{command} does not run: {error}", f"let JAVA_HOME name a Java {wanted}")
    return java_version(done.stderr + done.stdout, command)


def java_version(said: str, command: str) -> Check:
    """Judges what ``java -version`` said."""
    wanted = " or ".join(map(str, JAVAS))
    found = re.search(r'version "(?:1\.)?(\d+)([^"]*)"', said)
    if not found:
        return Check("Java", "fail", f"{command} does not tell its version", f"let JAVA_HOME name a Java {wanted}")
    major, says = int(found[1]), f"{found[1]}{found[2]} ({command})"
    if major < JAVAS[0]:
        return Check("Java", "fail", says, f"Spark 4 needs Java {wanted}: install it, or let JAVA_HOME name one")
    if major not in JAVAS:
        return Check("Java", "warn", says, f"Whence is tested with Java {wanted}")
    return Check("Java", "ok", says)


def library(name: str) -> Check:
    least, below = LIBRARIES[name]
    wanted = f'pip install "{name}>={least}{f",<{below}" if below else ""}"'
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Check(name, "fail", "not installed", wanted)
    try:
        importlib.import_module(name)
    except Exception as error:
        return Check(name, "fail", f"{version} does not import: {error}", wanted)
    if _numbers(version) < _numbers(least):
        return Check(name, "fail", version, wanted)
    if below and _numbers(version) >= _numbers(below):
        return Check(name, "warn", f"{version}, which PySpark warns about", wanted)
    return Check(name, "ok", version)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.split("+")[0])[:3])
