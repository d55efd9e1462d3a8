"""Spark's own errors while a step is built, said in Whence's way: the step, the user's expression, what to do."""

from __future__ import annotations

import contextlib
import difflib
import re
from collections.abc import Iterator, Sequence

from pyspark.errors import AnalysisException, ParseException, PySparkException

from whence.errors import BadInputError, RefusedError
from whence.names import REFERENCE


@contextlib.contextmanager
def told(step: str, columns: Sequence[str]) -> Iterator[None]:
    """Turn an analysis error inside into a `BadInputError` that names the step and the columns there are."""
    try:
        yield
    except AnalysisException as error:
        raise _translated(step, columns, error) from error
    except PySparkException as error:
        raise BadInputError(f"step {_quoted(step)}: {_first_line(error)}") from error


def _translated(step: str, columns: Sequence[str], error: AnalysisException) -> BadInputError:
    condition = error.getCondition() or ""
    if condition.startswith("UNRESOLVED_COLUMN"):
        name = (error.getMessageParameters() or {}).get("objectName", "").replace("`", "")
        if name.startswith(REFERENCE):
            return _out_of_reach(step, columns, re.sub(rf"{REFERENCE}\d+_", "", name))
        close = difflib.get_close_matches(name.split(".")[-1], columns, 1)
        return BadInputError(
            f'step {_quoted(step)}: column "{name}" not found',
            f"the input has {', '.join(columns)}",
            f'did you mean "{close[0]}"?' if close else "check the spelling, or the alias in front of the dot",
        )
    if condition.startswith("AMBIGUOUS") or "ambiguous" in str(error):
        return BadInputError(
            f"step {_quoted(step)}: {_first_line(error)}",
            f"the input has {', '.join(columns)}",
            'give each side a name with .alias("a") and write "a.column"',
        )
    kind = "is not SQL" if isinstance(error, ParseException) else "does not fit its input"
    return BadInputError(f"step {_quoted(step)} {kind}", _first_line(error), f"the input has {', '.join(columns)}")


def _out_of_reach(step: str, columns: Sequence[str], name: str) -> BadInputError:
    return BadInputError(
        f'step {_quoted(step)}: column "{name}" of another frame is not in its input',
        f"the input has {', '.join(columns)}",
        'use the column of the frame at hand, or give each side of a join a name with .alias("a") and write "a.column"',
    )


def refused(step: str, error: PySparkException) -> RefusedError:
    """For a step that plain Spark takes and that cannot carry a tag."""
    return RefusedError(
        f"step {_quoted(step)} cannot be traced: Spark does not take it with lineage",
        _first_line(error),
        "docs/coverage.md lists what is traced; .to_spark() gives the plain result",
    )


def not_started(output_mode: str, error: AnalysisException) -> BadInputError:
    """For a query that Spark refuses as a whole when it is started."""
    return BadInputError(
        f"Spark does not start the query in {output_mode} mode",
        _first_line(error),
        "give groups a watermark (.withWatermark), or choose another outputMode: append, update or complete",
    )


def _first_line(error: Exception) -> str:
    text = re.sub(rf"{REFERENCE}\d+_", "", str(error).split("SQLSTATE")[0].split("\n")[0])
    return re.sub(r"\s+", " ", text).strip()


def _quoted(step: str) -> str:
    return '"' + step.replace('"', "'") + '"'
