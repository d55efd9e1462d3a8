"""Ids of source rows, computed here once more: the engine's own code is what they check.

Example: the third row of a file has `xxhash64(path) >>> 2` plus two. The surprise: Spark writes a local path in its
rows as `file:/tmp/x`, with one slash.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from urllib.parse import quote

import xxhash

from whence.testing.files import Written
from whence.testing.oracle.rows import Origin


def base_of(path: Path) -> int:
    """The id of a file's first row."""
    return int(xxhash.xxh64(f"file:{quote(str(path))}".encode(), seed=42).intdigest() >> 2)


def origins_by_id(written: Mapping[str, Written], keyed: Collection[str] = ()) -> dict[tuple[str, int], Origin]:
    """For each (source, id) the source and the index of the row; of a keyed source the index is the id."""
    found: dict[tuple[str, int], Origin] = {}
    for name, one in written.items():
        for (file, position), index in one.places.items():
            id = index if name in keyed else base_of(one.folder / file) + position
            found[name, id] = (name, index)
    return found
