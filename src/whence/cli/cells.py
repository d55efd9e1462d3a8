"""A value as a table, a CSV file or a JSON document shows it: the same text in all of them, times in UTC."""

import json
import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any


def text(value: Any) -> str:
    """One line of text for one value; nothing for null."""
    value = plain(value)
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def plain(value: Any) -> Any:
    """The value made of what JSON has."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, datetime):
        return moment(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(inner) for inner in value]
    if isinstance(value, Decimal | date | time | timedelta):
        return str(value)
    return str(value)


def moment(value: datetime) -> str:
    """A time in UTC, marked with a Z; without a zone as it is. A fraction only where there is one."""
    mark = "" if value.tzinfo is None else "Z"
    if mark:
        value = value.astimezone(UTC).replace(tzinfo=None)
    whole = value.isoformat(sep=" ")
    return (whole.rstrip("0") if value.microsecond else whole) + mark


def is_number(value: Any) -> bool:
    """Whether a column of such values is aligned to the right."""
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)
