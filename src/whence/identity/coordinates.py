"""Ids of source rows from coordinates, in plain Python: the same numbers that Spark's expressions give.

>>> base_of_file("file:/data/part-0.parquet") + 7        # the eighth row of that file
"""

from __future__ import annotations

import struct

import xxhash

_SEED = 42


def base_of_file(path: str, salt: str = "") -> int:
    """The id of a file's first row. `path` is written as Spark's `_metadata.file_path` writes it."""
    return xxhash.xxh64_intdigest(canonical(path).encode(), seed=_seed(salt)) >> 2


def base_of_partition(topic: str, partition: int, salt: str = "") -> int:
    """The id that offset 0 of a Kafka partition would have."""
    seed = xxhash.xxh64_intdigest(topic.encode(), seed=_seed(salt))
    return xxhash.xxh64_intdigest(struct.pack("<i", partition), seed=seed) >> 2


def base_of_rate() -> int:
    """The id of a rate source's value 0."""
    return xxhash.xxh64_intdigest(b"rate", seed=_SEED) >> 2


def canonical(path: str) -> str:
    """One spelling for one file: Spark writes `file:/a` in rows and `file:///a` in its logs and listings."""
    return "file:/" + path[len("file:///") :] if path.startswith("file:///") else path


def _seed(salt: str) -> int:
    return xxhash.xxh64_intdigest(salt.encode(), seed=_SEED) if salt else _SEED
