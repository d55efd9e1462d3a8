"""Segments: the runs of source rows that a batch read, with what it takes to know them again."""

from __future__ import annotations

import bisect
import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pyarrow.parquet as pq
from pyarrow import ArrowException, fs

from whence.deliver.checkpoint import Checkpoint
from whence.errors import CheckpointError, SourceError
from whence.identity.coordinates import base_of_file, base_of_partition, canonical
from whence.store import local_path, locate

Segment = dict[str, Any]


@dataclass(frozen=True)
class Scan:
    """One scan of the query, left to right: what is known of it without its DataFrame, so that it pickles."""

    source: str | None
    ids: str
    salt: str = ""
    event_time: str | None = None
    streaming: bool = True
    frame: int = 0
    static: tuple[Segment, ...] = ()
    files: tuple[str, ...] = ()


def of_batch(scans: Iterable[Scan], checkpoint: Checkpoint, batch: int) -> list[Segment]:
    """The segments that a streaming batch read, of every traced source."""
    offsets = checkpoint.offsets(batch)
    before = checkpoint.offsets(batch - 1) if batch else None
    if offsets is None:
        raise CheckpointError(f'the checkpoint "{checkpoint.location.path}" has no offsets of batch {batch}')
    found: list[Segment] = []
    listed = list(scans)
    for scan in listed:
        if not scan.streaming:
            found += of_static(scan)
    streaming = [scan for scan in listed if scan.streaming]
    if len(streaming) != len(offsets.sources):
        raise CheckpointError(
            f"the query reads {len(offsets.sources)} streams, its network {len(streaming)}",
            hint="please report this with the output of frame.explain(True)",
        )
    for number, (scan, folders) in enumerate(zip(streaming, _folders(streaming, checkpoint), strict=True)):
        start = before.sources[number] if before else None
        end = offsets.sources[number]
        if scan.source is None or end is None:
            continue
        if scan.ids == "file" and _is_file(end):
            paths = [f["path"] for at in folders for f in checkpoint.files(at, _entry(start) + 1, _entry(end))]
            found += of_files(scan, list(dict.fromkeys(paths)))
        elif scan.ids == "kafka":
            begin = start or checkpoint.initial(folders[0])
            found += _of_kafka(scan, json.loads(begin) if begin else {}, json.loads(end))
    return _unique(found)


def of_static(scan: Scan) -> list[Segment]:
    """The segments of a static scan."""
    return [*scan.static, *of_files(scan, list(scan.files))] if scan.source is not None else []


def _folders(scans: list[Scan], checkpoint: Checkpoint) -> list[list[int]]:
    """For each scan, from left to right, the numbers of its folders in the checkpoint.

    Spark numbers the sources of a plan from left to right. A scan that a union reads twice is one source, one that a
    join reads twice is two. Where that leaves it open which is which, every folder is looked into.
    """
    frames = list(dict.fromkeys(scan.frame for scan in scans))
    there = checkpoint.sources()
    if len(frames) == len(scans) or len(scans) - 1 in there:
        return [[number] for number in range(len(scans))]
    if max(there, default=0) < len(frames):
        return [[frames.index(scan.frame)] for scan in scans]
    return [there for _ in scans]


def _is_file(offset: str) -> bool:
    return "logOffset" in offset


def _entry(offset: str | None) -> int:
    return int(json.loads(offset)["logOffset"]) if offset and _is_file(offset) else -1


def of_files(scan: Scan, paths: list[str]) -> list[Segment]:
    """A segment a Parquet file: rows and event times from its footer, size and time of change as its fingerprint."""
    if len(paths) < 2:
        return [_of_file(scan, path) for path in paths]
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(lambda path: _of_file(scan, path), paths))


def _of_file(scan: Scan, uri: str) -> Segment:
    files, path = file_of(uri)
    try:
        info = files.get_file_info(path)
        with files.open_input_file(path) as stream:
            footer = pq.read_metadata(stream)
    except (OSError, ArrowException) as error:
        raise SourceError(
            f'source "{scan.source}": "{path}" cannot be read', str(error), "it was there when the batch began"
        ) from error
    low, high = _event_range(footer, scan.event_time)
    return {
        "source": scan.source,
        "segment": canonical(uri),
        "base": base_of_file(uri, scan.salt),
        "first": 0,
        "last": footer.num_rows - 1,
        "bytes": info.size,
        "modified": info.mtime_ns // 1_000_000 if info.mtime_ns is not None else None,
        "event_min": low,
        "event_max": high,
    }


def file_of(uri: str) -> tuple[fs.FileSystem, str]:
    """The file system and path of a file as Spark names it."""
    if uri.startswith("file:"):
        return fs.LocalFileSystem(), local_path(uri)
    place = locate(uri)
    return place.files, place.path


def _event_range(footer: pq.FileMetaData, column: str | None) -> tuple[datetime | None, datetime | None]:
    """The least and greatest event time by the footer, where it tells (INT96 timestamps have no statistics)."""
    if column is None:
        return None, None
    names = [footer.schema.column(i).path for i in range(footer.num_columns)]
    if column not in names:
        return None, None
    low: list[datetime] = []
    high: list[datetime] = []
    for group in range(footer.num_row_groups):
        statistics = footer.row_group(group).column(names.index(column)).statistics
        if statistics is None or not statistics.has_min_max or not isinstance(statistics.min, datetime):
            return None, None
        low.append(statistics.min)
        high.append(statistics.max)
    return min(low, default=None), max(high, default=None)


def _of_kafka(scan: Scan, start: dict[str, Any], end: dict[str, Any]) -> list[Segment]:
    found = []
    for topic, partitions in end.items():
        for partition, until in partitions.items():
            first = int(start.get(topic, {}).get(partition, 0))
            if int(until) > first:
                found.append(kafka_segment(scan, topic, int(partition), first, int(until) - 1))
    return found


def kafka_segment(scan: Scan, topic: str, partition: int, first: int, last: int) -> Segment:
    """A run of offsets of one topic partition."""
    return {
        "source": scan.source,
        "segment": f"kafka:{topic}/{partition}",
        "base": base_of_partition(topic, partition, scan.salt),
        "first": first,
        "last": last,
    }


def _unique(segments: list[Segment]) -> list[Segment]:
    return list({(s["source"], s["segment"]): s for s in segments}.values())


@dataclass
class Ranges:
    """The id ranges of every segment that a store knows, by source: two that overlap would mix up rows."""

    _names: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    _sorted: dict[str, list[tuple[int, int, str]]] = field(default_factory=dict)

    def add(self, segments: Iterable[Segment]) -> None:
        """Take segments in; two of one source whose ids overlap are an error that names both."""
        for segment in segments:
            low, high = segment["base"] + segment["first"], segment["base"] + segment["last"]
            if high >= low:
                self._add(segment["source"], segment["segment"], low, high)

    def _add(self, source: str, name: str, low: int, high: int) -> None:
        own = self._sorted.setdefault(source, [])
        before = self._names.get((source, name))
        if before is not None:
            if before[0] <= low and high <= before[1]:
                return
            own.remove((*before, name))
            low, high = min(low, before[0]), max(high, before[1])
        at = bisect.bisect(own, (low, high, name))
        for least, most, other in own[max(0, at - 1) : at + 1]:
            if low <= most and least <= high:
                raise SourceError(
                    f'source "{source}": the ids of two segments overlap',
                    f"{name} has ids {low} to {high}, {other} has {least} to {most}",
                    'declare a key, or another salt: whence.source(..., salt="2")',
                )
        own.insert(at, (low, high, name))
        self._names[(source, name)] = (low, high)
