"""Which room of src/whence may import which: capture on Spark and answers without it meet only in the names."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "whence"

# A room, or one module of it that is stricter or freer than its room, and the rooms whose imports it may hold. Within
# itself a room is free. A room that has no line here fails: decide which half it belongs to, then add it.
MAY_IMPORT = {
    # both halves
    "whence": "errors frame trace",  # the front door; frame and trace only when they are used
    "names": "",
    "errors": "",
    "identity": "names errors network",
    "identity.coordinates": "names errors",  # the part that answers need too
    # capture: names, errors <- network <- modes <- weave <- frame
    "network": "names errors",
    "modes": "names errors network",
    "weave": "names errors network modes identity",
    "deliver": "names errors identity store",  # a batch into the store's writing side and the user's sink
    "frame": "whence names errors network modes weave identity deliver store",
    # answers: names, errors <- store <- trace <- cli, web
    "store": "names errors",
    "trace": "names errors identity.coordinates store",
    "cli": "whence names errors store trace",
    "cli.demo": "whence names errors store trace workloads",
    "cli.demo_spark": "whence names errors store trace workloads",
    "web": "whence names errors store trace",
    # what both are tried with
    "workloads": "whence names errors frame",
    "testing": "whence names errors network modes weave identity frame store trace workloads",
}

# Rooms and modules that hold no import of PySpark, not even one inside a function; only type checkers may see one.
WITHOUT_SPARK = ["whence", "names", "errors", "identity.coordinates", "network", "store", "trace", "cli", "web"]
WITH_SPARK_AFTER_ALL = [
    "cli.demo_spark",  # imported when `whence demo` has found PySpark
    "trace.spark",  # imported when `Lineage.to_spark` is handed a session
]

# Asking is what DuckDB is for: a job on a cluster does not load it.
WITH_DUCKDB = ["trace", "cli", "web", "testing"]

MODULES = sorted(SOURCE.rglob("*.py"))


def name_of(path: Path) -> str:
    """The dotted name of a module below `whence`; of the package itself, "whence"."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__") or "whence"


def within(name: str, rooms: list[str] | dict[str, str]) -> str | None:
    """The line of a table that speaks for a module: its own, else that of the nearest package around it."""
    while name and name not in rooms:
        name = name.rpartition(".")[0]
    return name or None


def for_types(tree: ast.Module) -> set[ast.AST]:
    """Everything below `if TYPE_CHECKING:`, which never runs."""
    tests = (n for n in ast.walk(tree) if isinstance(n, ast.If) and ast.unparse(n.test).endswith("TYPE_CHECKING"))
    return {node for test in tests for statement in test.body for node in ast.walk(statement)}


def imports(path: Path, *, types: bool) -> Iterator[tuple[int, str]]:
    """Line and full name of every module that a file imports, anywhere in it; those for types only if `types`."""
    package = ["whence", *path.relative_to(SOURCE).parent.parts]
    tree = ast.parse(path.read_text(), str(path))
    left_out = set() if types else for_types(tree)
    for node in ast.walk(tree):
        if node in left_out:
            continue
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                below = SOURCE.joinpath(*module.split(".")[1:], alias.name)
                is_module = module.split(".")[0] == "whence" and (below.is_dir() or below.with_suffix(".py").exists())
                yield node.lineno, f"{module}.{alias.name}" if is_module else module


def of_whence(module: str) -> str | None:
    """The dotted name below `whence`, as in the table; None for a module that is not ours."""
    return module.removeprefix("whence.") if module == "whence" or module.startswith("whence.") else None


def test_every_room_has_a_line():
    """A new package or module under src/whence states what it may import before it is merged."""
    assert [name_of(path) for path in MODULES if within(name_of(path), MAY_IMPORT) is None] == []


def test_tables_agree():
    """The tables name no room that they do not define, and except no module that does not exist."""
    named = {room for rooms in MAY_IMPORT.values() for room in rooms.split()}
    assert named | {*WITHOUT_SPARK, *WITH_DUCKDB} <= MAY_IMPORT.keys()
    assert {*WITH_SPARK_AFTER_ALL} <= {name_of(path) for path in MODULES}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_keep_the_direction(path):
    """A module imports only from its own room and from the rooms that its line in the table names."""
    name = name_of(path)
    line = within(name, MAY_IMPORT)
    assert line is not None
    room = name.split(".")[0]
    allowed = MAY_IMPORT[line].split()
    wrong = []
    for number, module in imports(path, types=True):
        target = of_whence(module)
        if target is None or target.split(".")[0] == room:
            continue
        if not any(target == other or target.startswith(f"{other}.") for other in allowed):
            wrong.append(f"{path.relative_to(ROOT)}:{number}: {line} may not import {target} (may: {MAY_IMPORT[line]})")
    assert wrong == []


def test_the_halves_meet_only_in_the_names():
    """By no path through the table does an answer's room reach a room of capture."""
    capture = {"network", "modes", "weave", "deliver", "frame", "identity"}
    for start in ("store", "trace"):
        reached, left = set(), [start]
        while left:
            room = left.pop()
            reached.add(room)
            left += [other for other in MAY_IMPORT[room].split() if other not in reached]
        assert reached & capture == set(), start


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_answers_hold_no_spark(path):
    """What answers questions holds no import of PySpark, not even a hidden one."""
    name = name_of(path)
    if within(name, WITHOUT_SPARK) and not within(name, WITH_SPARK_AFTER_ALL):
        assert [number for number, module in imports(path, types=False) if module.split(".")[0] == "pyspark"] == []


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_capture_holds_no_duckdb(path):
    """What runs inside a Spark job does not need DuckDB."""
    if not within(name_of(path), WITH_DUCKDB):
        assert [number for number, module in imports(path, types=False) if module.split(".")[0] == "duckdb"] == []


def test_answers_import_where_spark_is_missing():
    """Where PySpark cannot be imported, the package, the store, the answers and every command still can."""
    rooms = ("whence", "names", "errors", "identity.coordinates", "store", "trace", "cli", "web")
    names = [n for n in map(name_of, MODULES) if within(n, list(rooms)) and not within(n, WITH_SPARK_AFTER_ALL)]
    modules = ["whence", "whence.store", "whence.trace", "whence.cli", *(f"whence.{n}" for n in names if n != "whence")]
    program = (
        "import importlib, sys\n"
        "sys.modules['pyspark'] = None\n"
        "for name in sys.argv[1:]: importlib.import_module(name)\n"
        "import whence\n"
        "whence.open, whence.Lineage, whence.Trace, whence.WhenceError\n"
    )
    done = subprocess.run([sys.executable, "-c", program, *modules], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_what_is_imported_is_declared():
    """Every library that src/whence imports is one that pyproject.toml asks for itself, not one that came along."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *(r for extra in project["optional-dependencies"].values() for r in extra)]
    declared = {re.split(r"[^a-z0-9_.-]", requirement.lower())[0] for requirement in asked}
    owners = packages_distributions()
    undeclared = set()
    for path in MODULES:
        for number, module in imports(path, types=True):
            top = module.split(".")[0]
            if top == "whence" or top in sys.stdlib_module_names:
                continue
            if not declared & {owner.lower().replace("_", "-") for owner in owners.get(top, [top])}:
                undeclared.add(f"{path.relative_to(ROOT)}:{number}: {top}")
    assert undeclared == set()
