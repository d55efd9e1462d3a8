"""The command line, on the store that the demo makes: what is printed, where, and with which exit code."""

import csv
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import whence
from whence.cli.app import app

RUN = [sys.executable, "-c", "from whence.cli import main; main()"]
runner = CliRunner()


def plain_environment(**more: str) -> dict[str, str]:
    """The environment without what changes how a command prints."""
    left_out = {"WHENCE_STORE", "NO_COLOR", "FORCE_COLOR", "SPARK_REMOTE"}
    return {k: v for k, v in os.environ.items() if k not in left_out} | more


def whence_in_a_shell(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*RUN, *words], capture_output=True, text=True, timeout=280, env=plain_environment(**environment)
    )


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WHENCE_STORE", "NO_COLOR", "FORCE_COLOR", "SPARK_REMOTE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A finished demo: its folder and what it printed."""
    folder = tmp_path_factory.mktemp("demo") / "made by the demo"
    return folder, whence_in_a_shell("demo", "--reports", "1000", "--folder", str(folder))


@pytest.fixture
def store(demo: tuple[Path, subprocess.CompletedProcess[str]]) -> str:
    folder, done = demo
    assert done.returncode == 0, done.stderr
    return str(folder / "lineage")


def ask(*words: str) -> Any:
    return runner.invoke(app, list(words))


def examples() -> Iterator[tuple[str, str]]:
    """Every command that stands in --help or in the documentation, with where it stands."""
    for name in ("demo", "trace", "impact", "show", "doctor"):
        (example,) = re.findall(r"Example: (.+(?:\n .+)*)", ask(name, "--help").stdout)
        yield f"{name} --help", " ".join(example.split())
    text = (Path(__file__).parent.parent / "docs" / "commands.md").read_text()
    for block in re.findall(r"```\n(.*?)```", text, re.DOTALL):
        for line in block.splitlines():
            if "[" not in line:
                yield "docs/commands.md", line


class TestDemo:
    def test_it_tells_its_story(self, demo: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
        """It prints alerts, an alert's four reports, an accident's eight, what a report reached, and what is next."""
        folder, done = demo
        assert done.returncode == 0, done.stderr
        for words in ("from 4 rows of reports", "from 8 rows of reports", "of accidents", "What to try next"):
            assert words in done.stdout
        assert (folder / "spark.log").exists()

    def test_spark_is_not_heard(self, demo: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
        """Nothing of Spark's log reaches the terminal: stderr has the demo's own three steps."""
        lines = demo[1].stderr.splitlines()
        assert [line.split(" ...")[0] for line in lines] == [
            "Starting Spark",
            "Generating 1,000 reports",
            "Running two queries",
        ]

    def test_what_it_says_to_try_works(self, demo: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
        """Each command that it prints can be pasted into a shell."""
        commands = re.findall(r"^  (?:\$ )?whence (.+)$", demo[1].stdout, re.MULTILINE)
        assert len(commands) == 7
        for command in commands:
            assert ask(*shlex.split(command)).exit_code == 0, command

    def test_it_wants_an_empty_folder(self, tmp_path: Path) -> None:
        """A folder with something in it is refused before Spark starts."""
        (tmp_path / "thesis.txt").touch()
        assert ask("demo", "--folder", str(tmp_path)).exit_code == 2

    def test_it_wants_java(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without Java it says so, and how to get it."""
        monkeypatch.setenv("JAVA_HOME", str(tmp_path))
        result = ask("demo", "--folder", str(tmp_path / "new"))
        assert result.exit_code == 2
        assert "needs Java" in result.stderr
        assert "Hint: " in result.stderr


class TestTrace:
    def test_json_is_to_dict(self, store: str) -> None:
        """The document is the library's answer, whole."""
        with whence.open(store) as lineage:
            expected = lineage.trace("accidents").to_dict()
        assert json.loads(ask("trace", store, "accidents", "--format", "json").stdout) == expected

    def test_csv_has_a_line_for_each_edge(self, store: str) -> None:
        """Ids first, then the source row's own columns."""
        with whence.open(store) as lineage:
            edges = lineage.trace("stopped_cars").edges
        lines = list(csv.DictReader(StringIO(ask("trace", store, "stopped_cars", "--format", "csv").stdout)))
        assert len(lines) == edges.num_rows
        assert list(lines[0])[:5] == ["_whence_id", "_whence_source", "_whence_source_id", "ts", "car_id"]
        assert {line["speed"] for line in lines} == {"0"}

    def test_a_table_has_each_result_with_its_rows(self, store: str) -> None:
        """Every result is printed, and under it as many source rows as the heading says."""
        text = ask("trace", store, "accidents", "--limit", "0").stdout
        with whence.open(store) as lineage:
            results = lineage.trace("accidents").outputs.num_rows
        assert text.count("from 8 rows of reports") == text.count("accidents, result ") == results
        assert len(re.findall(r"^    20", text, re.MULTILINE)) == 8 * results

    def test_the_limit_cuts_every_format(self, store: str) -> None:
        """One result, and no edges or source rows of others."""
        text = ask("trace", store, "accidents", "--limit", "1").stdout
        assert "... and 7 rows more: --limit 0 prints all" in text
        assert re.search(r"^\.\.\. and \d+ results more", text, re.MULTILINE)
        answer = json.loads(ask("trace", store, "accidents", "--limit", "1", "--format", "json").stdout)
        assert (len(answer["outputs"]), len(answer["edges"]), len(answer["rows"]["reports"])) == (1, 8, 8)
        assert len(ask("trace", store, "accidents", "--limit", "1", "--format", "csv").stdout.splitlines()) == 1 + 8

    def test_by_id(self, store: str) -> None:
        """An answer's id leads to that row; an id that no result has is nothing found."""
        with whence.open(store) as lineage:
            one = lineage.trace("accidents").outputs.column("_whence_id")[0].as_py()
        answer = json.loads(ask("trace", store, "accidents", "--id", str(one), "--format", "json").stdout)
        assert [row["_whence_id"] for row in answer["outputs"]] == [one]
        assert ask("trace", store, "accidents", "--id", "5").exit_code == 1

    def test_what_is_missing_is_said(self, store: str) -> None:
        """Source rows whose file has gone are listed, with the file and the reason."""
        (first, *_) = sorted((Path(store).parent / "reports").glob("*.parquet"))
        aside = first.with_suffix(".aside")
        first.rename(aside)
        try:
            result = ask("trace", store, "accidents", "--limit", "0")
        finally:
            aside.rename(first)
        assert result.exit_code == 0
        assert re.search(rf"^missing: row \d+ of reports \(.*{first.name}, row \d+\): ", result.stdout, re.MULTILINE)


class TestImpact:
    WHERE = "speed = 0 and car_id = 0"

    def test_json_is_to_dict(self, store: str) -> None:
        """The document is the library's answer, whole."""
        with whence.open(store) as lineage:
            expected = lineage.impact("reports", where=self.WHERE).to_dict()
        printed = json.loads(ask("impact", store, "reports", "--where", self.WHERE, "--format", "json").stdout)
        assert printed.keys() == expected.keys()
        for answer in (printed, expected):
            answer["outputs"].sort(key=lambda row: (row["_whence_sink"], row["_whence_id"]))
        assert printed == expected

    def test_csv_has_a_line_for_each_edge(self, store: str) -> None:
        """Ids and sink first, then the columns of the results, of all sinks side by side."""
        text = ask("impact", store, "reports", "--where", self.WHERE, "--format", "csv").stdout
        lines = list(csv.DictReader(StringIO(text)))
        with whence.open(store) as lineage:
            assert len(lines) == lineage.impact("reports", where=self.WHERE).edges.num_rows
        assert list(lines[0])[:4] == ["_whence_source_id", "_whence_sink", "_whence_id", "ts"]
        assert {line["_whence_sink"] for line in lines} == {"stopped_cars", "accidents"}

    def test_a_table_has_each_row_with_its_results(self, store: str) -> None:
        """Under each source row stand the results of each sink, and whether it can reach more."""
        result = ask("impact", store, "reports", "--where", self.WHERE, "--limit", "1")
        assert result.exit_code == 0
        assert re.search(r"^reports, row 1 of \d+, can reach no more$", result.stdout, re.MULTILINE)
        assert re.search(r"^  reached \d+ results? of stopped_cars$", result.stdout, re.MULTILINE)

    def test_rows_that_reached_nothing(self, store: str) -> None:
        """Cars that drive are in no alert: that is said, and is nothing found."""
        result = ask("impact", store, "reports", "--where", "speed > 0", "--limit", "1")
        assert result.exit_code == 1
        assert "reached no result" in result.stdout


class TestShow:
    def test_it_prints_what_the_store_holds(self, store: str) -> None:
        """Sinks, sources and networks, in the numbers of the library."""
        text = ask("show", store).stdout
        with whence.open(store) as lineage:
            for sink in lineage.sinks():
                assert re.search(rf"^  {sink.name} .*\b{sink.rows} +{sink.edges}\b", text, re.MULTILINE)
                assert sink.network.splitlines()[0] in text
        assert "source reports" in text

    def test_one_sink_in_detail(self, store: str) -> None:
        """Its run, its watermark, how far a source row reaches."""
        text = ask("show", store, "accidents").stdout
        assert re.search(r"^  reach of reports +150 s$", text, re.MULTILINE)
        assert "stopped_cars" not in text.split("1 source")[0]

    def test_json_and_csv(self, store: str) -> None:
        """Both name every sink; JSON times are ISO 8601."""
        document = json.loads(ask("show", store, "--format", "json").stdout)
        assert [sink["name"] for sink in document["sinks"]] == ["accidents", "stopped_cars"]
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT.*\+00:00", document["sinks"][0]["last_commit"])
        lines = list(csv.DictReader(StringIO(ask("show", store, "--format", "csv").stdout)))
        assert [line["name"] for line in lines] == ["accidents", "stopped_cars"]


class TestStoreVariable:
    def test_it_stands_for_the_store(self, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """With WHENCE_STORE the store may be left out, and what is given still wins."""
        monkeypatch.setenv("WHENCE_STORE", store)
        assert ask("trace", "accidents").exit_code == 0
        assert ask("impact", "reports", "--where", "speed = 0").exit_code == 0
        assert ask("show").stdout == ask("show", store).stdout
        assert "sink accidents" in ask("show", "accidents").stdout
        assert f"store {store}: 2 sinks, 1 source" in ask("doctor").stdout
        assert ask("show", "/not/there").exit_code == 2

    def test_a_folder_in_reach_is_a_store(self, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """One argument that is a store's folder means the store, though it has no slash."""
        monkeypatch.setenv("WHENCE_STORE", "/not/there")
        monkeypatch.chdir(Path(store).parent)
        assert ask("show", "lineage").exit_code == 0


class TestExitCodes:
    @pytest.mark.parametrize(
        ("code", "words"),
        [
            (0, "trace STORE accidents"),
            (0, "show STORE"),
            (1, "trace STORE accidents --where false"),
            (1, "trace STORE accidents --where false --format json"),
            (1, "impact STORE reports --where false"),
            (1, "impact STORE reports --id 5"),
            (2, "trace STORE accident"),
            (2, "trace STORE"),
            (2, "trace"),
            (2, "trace STORE accidents --id 5 --where true"),
            (2, "trace STORE accidents --where sped=0"),
            (2, "trace STORE accidents --format xml"),
            (2, "trace STORE accidents extra"),
            (2, "impact STORE reports"),
            (2, "show STORE nothing"),
            (2, "show"),
            (2, "show /not/there"),
            (2, "trace /not/there accidents"),
            (2, "frobnicate"),
        ],
    )
    def test_found_nothing_found_wrong_use(self, store: str, code: int, words: str) -> None:
        """0, 1, 2; what is wrong use prints nothing on stdout."""
        result = ask(*(store if word == "STORE" else word for word in words.split()))
        assert result.exit_code == code, result.output
        assert code < 2 or (result.stdout == "" and result.stderr != "")

    def test_errors_have_three_parts_on_stderr(self, store: str) -> None:
        """In a real process: primary, Detail, Hint, no stack trace, no colours, exit code 2."""
        done = whence_in_a_shell("trace", store, "accident")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.splitlines() == [
            'Error: the store has no sink "accident"',
            "Detail: it has accidents, stopped_cars",
            'Hint: did you mean "accidents"?',
        ]


class TestPlainness:
    def test_a_pipe_gets_plain_text(self, store: str) -> None:
        """No escape codes, no line drawing, no wrapping, no trailing blanks, however narrow the terminal was."""
        done = whence_in_a_shell("trace", store, "accidents", COLUMNS="20")
        assert done.returncode == 0
        assert done.stdout.isascii()
        assert "\x1b" not in done.stdout
        assert [line for line in done.stdout.splitlines() if line != line.rstrip()] == []
        assert done.stdout == ask("trace", store, "accidents").stdout

    def test_no_color_is_honoured(self, store: str) -> None:
        """A terminal gets colours, and none where NO_COLOR is set."""
        colour = re.compile(r"\x1b\[(\d+;)*3[0-7](;\d+)*m")
        assert colour.search(whence_in_a_shell("trace", store, "accidents", FORCE_COLOR="1").stdout)
        done = whence_in_a_shell("trace", store, "accidents", FORCE_COLOR="1", NO_COLOR="1")
        assert done.returncode == 0
        assert not colour.search(done.stdout)

    def test_head_may_close_the_pipe(self, store: str) -> None:
        """A reader that stops early is no error."""
        command = f"{shlex.join([*RUN, 'trace', store, 'stopped_cars', '--limit', '0'])} | head -1"
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env=plain_environment())
        assert done.stderr == ""
        assert done.stdout.startswith("stopped_cars, result 1 of ")


class TestDocumentation:
    def test_every_command_is_documented(self) -> None:
        """A command without its section in docs/commands.md is not done."""
        text = (Path(__file__).parent.parent / "docs" / "commands.md").read_text()
        listed = {command.callback.__name__ for command in app.registered_commands if command.callback}
        assert listed == set(re.findall(r"^## whence (\S+)$", text, re.MULTILINE))

    @pytest.mark.parametrize(("place", "example"), list(examples()))
    def test_every_example_is_valid(self, place: str, example: str) -> None:
        """Commands, arguments and options of every example exist."""
        import typer

        name, *words = shlex.split(example)[1:]
        command = typer.main.get_command(app)
        context = command.make_context("whence", [name, *words])
        _, sub, left = command.resolve_command(context, [name, *words])
        assert sub.make_context(name, left) is not None

    def test_every_option_is_documented(self) -> None:
        """An option that a command has stands in the documentation."""
        text = (Path(__file__).parent.parent / "docs" / "commands.md").read_text()
        for name in ("demo", "trace", "impact", "show", "doctor"):
            for option in re.findall(r"^  (--\w+)", ask(name, "--help").stdout, re.MULTILINE):
                assert option in text

    def test_help_needs_no_spark(self) -> None:
        """Help, and the answers themselves, load no PySpark."""
        program = "import sys\nfrom whence.cli.app import app\nassert 'pyspark' not in sys.modules"
        subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
