"""The documentation tells the truth: its example runs, its tables are complete, its links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from whence import errors
from whence.frame.stream_sinks import FILES, TEMPORARY
from whence.modes import MODES

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])


def first_cells(page: str) -> str:
    """The first column of a page's tables."""
    rows = re.findall(r"^\|(.*?)\|", (ROOT / "docs" / page).read_text(), re.M)
    return "\n".join(rows)


def test_readme_example(tmp_path: Path) -> None:
    """The README's example runs as it stands, and finds the alert of the car that stood still and its four reports."""
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    (tmp_path / "example.py").write_text(code)
    run = subprocess.run([sys.executable, "example.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    assert re.search(r"Trace: 1 output rows, 4 edges to reports\n.*car_id=7.*n=4", run.stdout)
    assert re.search(r"Impact: 1 output rows, 4 edges to reports\n.*car_id=7.*n=4", run.stdout)
    assert {"reports", "lineage", "out", "ckpt"} <= {path.name for path in tmp_path.iterdir()}


def test_modes() -> None:
    """Every mode has its line."""
    assert {"auto", *MODES} == set(re.findall(r"`(\w+)`", first_cells("modes.md")))


def test_errors() -> None:
    """Every error has its line, and no other."""
    kinds = {name for name, kind in vars(errors).items() if isinstance(kind, type)} - {"WhenceError"}
    assert kinds == set(re.findall(r"`(\w+)`", first_cells("errors.md")))


def test_sinks() -> None:
    """Every sink that the writer knows has its line, also the one that is refused."""
    known = {*FILES, *TEMPORARY, "delta", "kafka", "table", "memory"}
    assert known == set(re.findall(r"`(\w+)`", first_cells("sinks.md"))) - {"toTable"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links(page: Path) -> None:
    """Every relative link leads to a file."""
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_rooms() -> None:
    """Every room of the house is in the table of rooms."""
    rooms = {path.name for path in (ROOT / "src" / "whence").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert rooms == set(re.findall(r"`(\w+)/`", first_cells("design/README.md")))
