"""`off`: nothing rides on a row and nothing can be asked. The baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from pyspark.sql import Column

    from whence.modes.algebra import Part


class Off:
    """See the module: `weave` adds no column in this mode, so the algebra is never asked."""

    name = "off"
    traces = False
    updates = True
    keeps = False
    stored = False

    def leaf(self, row_id: Column, row: Column | None, at: Column | None) -> Column:
        self._never()

    def promote(self, tag: Column) -> Column:
        self._never()

    def pair(self, left: tuple[Column, Part], right: tuple[Column, Part]) -> Column:
        self._never()

    def fold(self, tag: Column, part: Part) -> Column:
        self._never()

    def ids(self, tag: Column, part: Part, at: Column | None) -> Column:
        self._never()

    def kept(self, tag: Column, part: Part, at: Column | None) -> Column:
        self._never()

    def _never(self) -> NoReturn:
        raise AssertionError("mode off has no tags")
