"""A DataFrame with its tag: what flows between the rules of `weave`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from whence.modes import Mode, Part, Tag
from whence.names import ID, is_hidden, tag_column

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True)
class Weaving:
    """What holds for a whole network: the mode, the labels of numbered steps, the numbers of sources."""

    mode: Mode
    labels: Mapping[int, str]
    index: Mapping[str, int]
    dated: bool = False
    stops: frozenset[str] = frozenset()
    sides: dict[tuple[int, int], DataFrame] = field(default_factory=dict)


@dataclass(frozen=True)
class Woven:
    """`frame` carries the payload and, where `tag` is not None, the row's id and its tag's columns.

    A part whose column is the id itself costs nothing: a row that only one-to-one steps touched is its own reference.
    """

    frame: DataFrame
    tag: Tag | None = None

    @property
    def hidden(self) -> list[str]:
        """Whence's own columns."""
        if self.tag is None:
            return []
        return list(dict.fromkeys([ID, *(part.column for part in self.tag.values())]))

    @property
    def payload(self) -> list[str]:
        """The user's columns, in order."""
        return [name for name in self.frame.columns if not is_hidden(name)]

    def plain(self) -> DataFrame:
        """The frame without Whence's columns."""
        return self.frame.drop(*self.hidden)

    def detached(self, weaving: Weaving) -> Woven:
        """The same with no part riding on the id, because the id is about to change."""
        if self.tag is None:
            return self
        added = {s: tag_column(weaving.index[s]) for s, part in self.tag.items() if part.column == ID}
        frame = self.frame.withColumns({column: F.col(ID) for column in added.values()}) if added else self.frame
        tag = {s: replace(part, column=added.get(s, part.column)) for s, part in self.tag.items()}
        return Woven(frame, tag)

    def with_id(self, row_id: Column) -> Woven:
        """The same rows under another id; the tag must be detached."""
        return Woven(self.frame.withColumn(ID, row_id), self.tag)


def column_of(part: Part) -> Column:
    """The column that carries a part."""
    return F.col(part.column)
