"""Reading Spark's checkpoint: the query's id, each batch's offsets and watermark. Unknown versions are refused."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from whence.errors import CheckpointError
from whence.store import Location, locate

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Offsets:
    """What a batch read up to, one entry a source in the order of the plan, and its watermark."""

    watermark: datetime | None
    started: datetime
    sources: tuple[str | None, ...]


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint folder of a streaming query."""

    location: Location

    @classmethod
    def at(cls, folder: str) -> Checkpoint:
        """The checkpoint in a folder."""
        return cls(locate(folder))

    def run(self) -> str | None:
        """The query's id, None where the folder holds no checkpoint yet."""
        metadata = self.location.at("metadata")
        if not metadata.exists():
            return None
        try:
            return str(json.loads(metadata.read())["id"])
        except (ValueError, KeyError) as error:
            raise CheckpointError(
                f'the checkpoint "{self.location.path}" has no readable metadata', str(error)
            ) from error

    def has_batches(self) -> bool:
        """Whether a batch was ever finished."""
        return any(name.isdigit() for name in self.location.at("commits").names())

    def offsets(self, batch: int) -> Offsets | None:
        """The offsets of a batch, None before it was planned."""
        log = self.location.at("offsets", str(batch))
        if not log.exists():
            return None
        version, *lines = log.read().decode().splitlines()
        self._check(version, log)
        try:
            head = json.loads(lines[0])
            watermark = int(head["batchWatermarkMs"])
            started = _EPOCH + timedelta(milliseconds=int(head["batchTimestampMs"]))
        except (IndexError, ValueError, KeyError, OverflowError) as error:
            raise CheckpointError(f'"{log.path}" is not an offset log', str(error)) from error
        return Offsets(
            _EPOCH + timedelta(milliseconds=watermark) if watermark else None,
            started,
            tuple(None if line == "-" else line for line in lines[1:]),
        )

    def files(self, source: int, first: int, last: int) -> list[dict[str, Any]]:
        """The files that file source number `source` took up in entries `first` to `last` of its log."""
        folder = self.location.at("sources", str(source))
        names = set(folder.names())
        found: list[dict[str, Any]] = []
        for entry in range(first, last + 1):
            log = next((n for n in (str(entry), f"{entry}.compact") if n in names), None)
            if log is None:
                raise CheckpointError(f'"{folder.path}" has no entry {entry}', "its file log was cut")
            version, *lines = folder.at(log).read().decode().splitlines()
            self._check(version, folder.at(log))
            found += [row for row in map(json.loads, lines) if row["batchId"] == entry]
        return found

    def sources(self) -> list[int]:
        """The numbers of the sources that keep a log."""
        return sorted(int(name) for name in self.location.at("sources").names() if name.isdigit())

    def initial(self, source: int) -> str | None:
        """The offsets at which a Kafka source began."""
        log = self.location.at("sources", str(source), "0")
        if not log.exists():
            return None
        lines = log.read().decode(errors="replace").lstrip("\x00").splitlines()
        return next((line for line in lines if line.startswith("{")), None)

    def _check(self, version: str, log: Location) -> None:
        if version != "v1":
            raise CheckpointError(
                f'"{log.path}" has log version "{version}"',
                "Whence knows v1",
                "turn spark.sql.streaming.queryEvolution.enableSourceEvolution off, or upgrade whence",
            )
