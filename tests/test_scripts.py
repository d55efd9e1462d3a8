"""What a stranger relies on before any Python of ours runs: scripts, pins, versions, a tree that fits any machine."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = ["script/setup", "script/test", "script/demo", ".ci/run"]
SOURCED = ["script/env"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

# Hosts of package registries, in halves so that this file does not hold them itself.
REGISTRIES = [
    "pypi" + ".org",
    "files.python" + "hosted.org",
    "registry.npm" + "js.org",
    "repo.maven" + ".apache.org",
    "repo1.maven" + ".org",
    "deb.debian" + ".org",
    "archive.ubuntu" + ".com",
    "index." + "crates.io",
    "proxy.golang" + ".org",
]

# Folders that every machine has, and homes in examples: these may be written down.
COMMON = {Path(name) for name in ("/", "/tmp", "/var/tmp", "/home", "/opt", "/srv", "/usr/src")}
SOMEBODYS_HOME = re.compile(r"(?<![\w.$}~])/(?:root|home/(?!me/|you/)\w+|Users/(?!me/|you/)\w+)/")


def run(*command: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=60, **options)


def tracked() -> dict[Path, str]:
    """The text of each file that git tracks or would after `git add`; without git, of each that is not hidden."""
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT)
    if listed.returncode == 0:
        names = [Path(name) for name in listed.stdout.split("\0") if name]
    else:
        names = [path.relative_to(ROOT) for path in ROOT.glob("[!.]*/**/*")]
    files = [name for name in names if (ROOT / name).is_file() and name.suffix != ".pyc"]
    return {name: (ROOT / name).read_bytes().decode("utf-8", errors="replace") for name in files}


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def requirement_name(requirement: str) -> str:
    return canonical(re.match(r"[A-Za-z0-9._-]+", requirement)[0])


def pins() -> dict[str, str]:
    """The lines of constraints.txt, each of which must be exactly `name==release`."""
    found = {}
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            match = re.fullmatch(r"([A-Za-z0-9._-]+)==([0-9][0-9A-Za-z.]*)", line)
            assert match, f"constraints.txt: not an exact pin: {line!r}"
            found[canonical(match[1])] = match[2]
    return found


@pytest.mark.parametrize("script", SCRIPTS)
def test_script_can_be_run(script):
    """Every script is executable and is bash that stops at the first error."""
    path = ROOT / script
    assert path.stat().st_mode & 0o111, "not executable"
    lines = path.read_text().splitlines()
    assert lines[0] == "#!/usr/bin/env bash"
    assert "set -euo pipefail" in lines


@pytest.mark.parametrize("script", SCRIPTS + SOURCED)
def test_script_is_well_formed(script):
    """bash can parse every script."""
    done = run("bash", "-n", ROOT / script)
    assert done.returncode == 0, done.stderr


def test_every_script_is_known():
    """A new file in script/ is put under these tests too."""
    here = {f"script/{path.name}" for path in (ROOT / "script").iterdir() if path.is_file()}
    assert here == {name for name in SCRIPTS + SOURCED if name.startswith("script/")}


@pytest.mark.parametrize("script", ["script/setup", "script/test"])
def test_help_needs_nothing(script):
    """--help answers at once, before any set-up."""
    done = run(ROOT / script, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(f"{script} [--spark VERSION]")


@pytest.mark.parametrize("arguments", [["--spark"], ["--spark", "../elsewhere"], ["--spark", "4.2; true"], ["--what"]])
def test_setup_refuses_wrong_use(arguments):
    """Wrong use of script/setup ends with 2 and one line, and makes no environment."""
    before = set(ROOT.glob(".venv*"))
    done = run(ROOT / "script/setup", *arguments)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert set(ROOT.glob(".venv*")) == before


def test_env_before_setup_says_so(tmp_path):
    """Sourcing script/env where nothing is set up fails with one line and leaves the shell alive."""
    folder = tmp_path / "a checkout" / "script"
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "script/env", folder)
    done = run("bash", "-c", 'source "$1" || echo refused', "bash", folder / "env")
    assert done.stdout == "refused\n"
    assert "run script/setup first" in done.stderr


def test_no_registry_host_is_named():
    """Packages come from wherever the machine's own clients are told to look."""
    assert [(name, host) for name, text in tracked().items() for host in REGISTRIES if host in text] == []


def test_no_path_of_one_machine():
    """No tracked file holds the path of this checkout, of the folder around it, or of anybody's home."""
    around = {f"{folder}/" for folder in (ROOT, ROOT.parent, Path.home()) if folder not in COMMON}
    found = [
        (name, path)
        for name, text in tracked().items()
        for path in [*SOMEBODYS_HOME.findall(text), *(path for path in around if path in text)]
    ]
    assert found == []


def test_every_dependency_is_pinned():
    """Whatever pyproject.toml asks for, extras and build system included, has an exact release in constraints.txt."""
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    wanted = [
        *PROJECT["dependencies"],
        *build,
        *(r for extra in PROJECT["optional-dependencies"].values() for r in extra),
    ]
    assert {requirement_name(requirement) for requirement in wanted} - pins().keys() == set()


def test_everything_installed_is_pinned():
    """What our packages pull in is pinned as well: the closure of their requirements lies in constraints.txt."""
    from importlib.metadata import PackageNotFoundError, distribution

    pinned, unpinned = pins(), set()
    for name in pinned:
        try:
            requires = distribution(name).requires or []
        except PackageNotFoundError:  # only ever installed where it is needed, as the Java runtime is
            continue
        plain = [r for r in requires if "extra ==" not in r]
        unpinned |= {requirement_name(r) for r in plain if is_installed(requirement_name(r))} - pinned.keys()
    assert unpinned == set()


def is_installed(name: str) -> bool:
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def test_version_is_spelled_alike():
    """The version of the package and that of pyproject.toml are the same."""
    source = (ROOT / "src/whence/__init__.py").read_text()
    match = re.search(r'^__version__ = "([^"]+)"$', source, re.MULTILINE)
    assert match, "src/whence/__init__.py: no line __version__ = ..."
    assert match[1] == PROJECT["version"]


def test_changelog_has_a_place_for_the_next_change():
    """CHANGELOG.md opens with Unreleased, and knows the released version once there is one."""
    headings = re.findall(r"^## \[([^\]]+)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings
    assert headings[0] == "Unreleased"


def test_links_in_readme_lead_somewhere():
    """Every relative link of README.md names a file that exists."""
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", (ROOT / "README.md").read_text())
    assert [link for link in links if "://" not in link and not (ROOT / link).exists()] == []
