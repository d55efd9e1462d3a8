"""A committed batch, as a sink sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


@dataclass(frozen=True)
class Committed:
    """The rows of one batch as they lie in the store: what is delivered is read from here, never computed again."""

    session: SparkSession
    run: str
    batch: int
    paths: list[str]
    schema: StructType
    rows: int

    def frame(self) -> DataFrame:
        """The payload."""
        if not self.paths:
            return self.session.createDataFrame([], self.schema)
        return self.session.read.schema(self.schema).parquet(*self.paths)


class Sink(Protocol):
    """Where results go. `deliver` may be called again for the same batch, with the same rows."""

    def deliver(self, batch: Committed) -> None:
        """Write one committed batch."""
        ...
