"""A Delta log whose last entry was cut off: that entry was never committed, and what came before it stands.

delta-rs gives an entry its name only when it is whole, so a kill leaves none such behind. A machine that lost its last
writes does, and so does a copy made while a query ran.
"""

from __future__ import annotations

import json
import re

from whence.store.location import Location

_ENTRY = re.compile(r"\d{20}\.json")


def torn(table: Location) -> int | None:
    """The version of the last entry, where that was cut off."""
    log = table.at("_delta_log")
    entries = [name for name in log.names() if _ENTRY.fullmatch(name)]
    if not entries or _is_whole(log.at(entries[-1]).read()):
        return None
    return int(entries[-1].removesuffix(".json"))


def mend(table: Location) -> bool:
    """Remove a last entry that was cut off, so that the next commit can take its place; whether there was one."""
    version = torn(table)
    if version is not None:
        table.at("_delta_log", f"{version:020d}.json").remove()
    return version is not None


def _is_whole(entry: bytes) -> bool:
    try:
        return all(isinstance(json.loads(line), dict) for line in entry.decode().splitlines() if line.strip())
    except ValueError:
        return False
