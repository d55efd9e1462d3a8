"""A value as a table, a CSV file or a JSON document shows it."""

import json
import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any


def text(value: Any) -> str:
    """One line of text for one value; nothing for null."""
    value = plain(value, moment)
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def plain(value: Any, time_of: Callable[[datetime], str] = datetime.isoformat) -> Any:
    """The value made of what JSON has; times as ISO 8601 has them unless ``time_of`` writes them otherwise."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, datetime):
        return time_of(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if isinstance(value, Mapping):
        return {str(key): plain(inner, time_of) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(inner, time_of) for inner in value]
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
