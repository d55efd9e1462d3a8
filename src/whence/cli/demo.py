"""``whence demo``: from generated reports to answers, in under a minute, with nothing but Python and Java."""

import shlex
import tempfile
from datetime import UTC
from pathlib import Path
from typing import Annotated, Any

import pyarrow.dataset as arrow
import typer

import whence
from whence.cli import health
from whence.cli.cells import text
from whence.cli.impact import impact
from whence.cli.screen import Screen
from whence.cli.steps import step
from whence.cli.trace import trace
from whence.errors import BadInputError, WhenceError

LEAST = 1_000
SINKS = {"stopped_cars": "cars that stood still for four reports", "accidents": "two such cars at one position"}


def demo(
    reports: Annotated[
        int, typer.Option("--reports", metavar="N", min=LEAST, help="About how many reports to generate.")
    ] = 100_000,
    folder: Annotated[
        Path | None,
        typer.Option("--folder", metavar="DIR", help="Where everything is put. [a new temporary folder]"),
    ] = None,
) -> None:
    """Find accidents in generated reports, and trace them.

    Two streaming queries of the Linear Road benchmark run with lineage: stopped cars, and accidents.
    """
    java = health.java()
    if java.state == "fail":
        raise WhenceError(f"the demo needs Java: {java.says}", hint=java.hint)
    home = _empty(folder)
    _run(home, reports)
    screen = Screen()
    found = {sink: _results(home / "out" / sink) for sink in SINKS}
    for sink, rows in found.items():
        screen.line(f"\n{sink}: {len(rows):,} results ({SINKS[sink]}); the first:", style="bold")
        screen.table(rows[:3], indent=2)
    if not all(found.values()):
        raise WhenceError("the demo found too little to trace", hint="give it more --reports")
    _ask(screen, str(home / "lineage"), found["stopped_cars"][0], found["accidents"][0])


def _empty(folder: Path | None) -> Path:
    """The demo's folder: streams that find what an earlier demo left would have nothing new to read."""
    if folder is None:
        return Path(tempfile.mkdtemp(prefix="whence-demo-"))
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInputError(f"{folder} is not an empty folder", hint="name a folder that is empty or not there yet")
    folder.mkdir(parents=True, exist_ok=True)
    return folder.resolve()


def _run(home: Path, wanted: int) -> None:
    """Everything that needs Spark, which nothing else on the command line imports."""
    try:
        from whence.cli import demo_spark
    except ImportError as error:
        raise WhenceError("the demo needs PySpark", str(error), "whence doctor says what is missing") from error
    places = demo_spark.Places(home)
    try:
        with step("Starting Spark"):
            spark = demo_spark.local_spark(places)
        try:
            with step(f"Generating {wanted:,} reports"):
                total = demo_spark.make_reports(spark, places, wanted)
            with step("Running two queries") as advance:
                demo_spark.run_queries(spark, places, total, advance)
        finally:
            spark.stop()
    except WhenceError:
        raise
    except Exception as error:
        reason = str(error).strip().split("\n")[0]
        raise WhenceError("Spark failed", f"{type(error).__name__}: {reason}", f"its log is {places.log}") from error


def _results(folder: Path) -> list[dict[str, Any]]:
    """What a sink holds: plain Parquet, as without lineage, which names no zone for the times, though they are UTC."""
    if not folder.exists():
        return []
    rows: list[dict[str, Any]] = arrow.dataset(folder, format="parquet").to_table().sort_by("ts").to_pylist()
    return [row | {"ts": row["ts"].replace(tzinfo=row["ts"].tzinfo or UTC)} for row in rows]


def _ask(screen: Screen, store: str, alert: dict[str, Any], accident: dict[str, Any]) -> None:
    """The answers, each under the command that gives it."""
    one_alert = f"car_id = {alert['car_id']} and ts = '{text(alert['ts'])}'"
    _say(screen, "Which reports made the first alert?", "trace", store, "stopped_cars", "--where", one_alert)
    trace([store, "stopped_cars"], one_alert)
    one_accident = f"pos = {accident['pos']} and ts = '{text(accident['ts'])}'"
    _say(screen, "Which reports made the first accident?", "trace", store, "accidents", "--where", one_accident)
    trace([store, "accidents"], one_accident)
    with whence.open(store) as lineage:
        report = lineage.trace("accidents", where=one_accident).rows("reports").to_pylist()[0]
    one_report = f"car_id = {report['car_id']} and ts = '{text(report['ts'])}'"
    _say(screen, "What did one of these reports reach?", "impact", store, "reports", "--where", one_report)
    impact([store, "reports"], one_report)
    screen.line("\nWhat to try next:", style="bold")
    for words in (
        ("show", store),
        ("trace", store, "accidents", "--limit", "2"),
        ("trace", store, "stopped_cars", "--where", one_alert, "--format", "json"),
        ("doctor", store),
    ):
        screen.line(_command(*words), indent=2)


def _say(screen: Screen, question: str, *words: str) -> None:
    screen.line(f"\n{question}", style="bold")
    screen.line(f"$ {_command(*words)}\n", style="cyan", indent=2)


def _command(*words: str) -> str:
    """A command as it can be typed; SQL, which has single quotes, in double ones."""
    return " ".join(("whence", *(f'"{word}"' if "'" in word else shlex.quote(word) for word in words)))
