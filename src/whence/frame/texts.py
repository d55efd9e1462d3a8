"""Reading what users wrote: the text of a Column or a SQL string, and what can be told from it.

`str(Column)` prints SQL on classic and Connect sessions alike, so nothing private is needed.
"""

from __future__ import annotations

import re

from pyspark.sql import Column

from whence.names import REFERENCE
from whence.network import Expr, Window

_UNITS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_LITERALS = re.compile(r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\"|`(?:[^`]|``)*`")
_COMMENTS = re.compile(r"--[^\n]*|/\*.*?\*/", re.S)
_WINDOW = re.compile(r"(?<![\w.])(session_window|window)\s*\(", re.I)
_GENERATOR = re.compile(
    r"^\s*(explode|explode_outer|posexplode|posexplode_outer|inline|inline_outer|stack|json_tuple|variant_explode\w*)\s*\(",
    re.I,
)


def text_of(value: object) -> str:
    """The text of an expression: a string itself, a Column as Spark prints it."""
    if isinstance(value, Column):
        printed = re.sub(rf"{REFERENCE}\d+_", "", str(value)).replace("unresolvedstar()", "*")
        return printed[len("Column<'") : -len("'>")] if printed.startswith("Column<'") else printed
    return str(value)


def expr(value: object) -> Expr:
    """A user's expression with its text."""
    return Expr(value, text_of(value))


def bare(text: str) -> str:
    """The text without literals, quoted names and comments: what is left can be searched for words."""
    return _COMMENTS.sub(" ", _LITERALS.sub("''", text))


def generator_of(text: str) -> str | None:
    """The generator that an item calls (`explode`, ...), or None."""
    found = _GENERATOR.match(text)
    return found.group(1).lower() if found else None


def has_window(text: str) -> bool:
    """Whether a time window is written anywhere in an expression."""
    return bool(_WINDOW.search(bare(text)))


def over_window(text: str) -> bool:
    """Whether an analytic function (`... over (...)`) is written in an expression."""
    return bool(re.search(r"\)\s*over\s*(\(|\w+)", bare(text), re.I))


def subquery(text: str) -> bool:
    """Whether a query is written inside an expression."""
    return bool(re.search(r"\(\s*(select|from|with|values|table)\b", bare(text), re.I))


def star_inside(text: str) -> bool:
    """Whether `*` stands for all columns inside a call other than count: hidden columns would get in."""
    without = re.sub(r"(?i)\bcount\s*\(\s*\*\s*\)", "count(1)", bare(text))
    return bool(re.search(r"[(,]\s*(\w+\s*\.\s*)?\*\s*[,)]", without))


def window_of(text: str) -> Window | None:
    """The time window that an expression calls for, read from its text."""
    found = _WINDOW.search(text)
    if not found:
        return None
    arguments = _arguments(text[found.end() :])
    durations = [duration(argument) for argument in arguments[1:]]
    if found.group(1).lower() == "session_window":
        return Window("session", durations[0] if durations else None, None)
    size = durations[0] if durations else None
    slide = durations[1] if len(durations) > 1 else size
    return Window("tumbling" if size == slide and size is not None else "sliding", size, slide)


def duration(text: str) -> int | None:
    """Microseconds of a duration as Spark writes it, `None` where it is not a constant.

    >>> duration("'1 hour 30 minutes'")
    5400000000
    """
    words = re.findall(r"(-?\d+(?:\.\d+)?)\s*([a-z]+?)s?\b", text.lower().replace("interval", " "))
    if not words or any(unit not in _UNITS for _, unit in words):
        return None
    return round(sum(float(amount) * _UNITS[unit] for amount, unit in words))


def _arguments(text: str) -> list[str]:
    """The arguments of a call, from just behind its opening parenthesis."""
    depth, quote, current, found = 0, "", "", list[str]()
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"`":
            quote = letter
        elif letter == ")" and depth == 0:
            break
        elif letter == "," and depth == 0:
            found.append(current.strip())
            current = ""
            continue
        depth += (letter == "(") - (letter == ")") if not quote else 0
        current += letter
    return [*found, current.strip()]


def call_argument(text: str) -> tuple[str, str]:
    """The argument text of the call that `text` begins with, and what follows the call."""
    start = text.index("(") + 1
    inside = ", ".join(_arguments(text[start:]))
    depth, quote = 1, ""
    for at, letter in enumerate(text[start:], start):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"`":
            quote = letter
        else:
            depth += (letter == "(") - (letter == ")")
            if depth == 0:
                return inside, text[at + 1 :].strip()
    return inside, ""
