"""`listed`: the list of contributing ids rides on the row (Ariadne, Reduced-Eager).

Law: `ids(pair(a, b)) = ids(a) | ids(b)` and `ids(fold(S)) = union of ids(s) for s in S`; duplicates are removed once,
at the end. It gives up size: state and shuffle grow with the group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from whence.modes.algebra import Part

if TYPE_CHECKING:
    from pyspark.sql import Column

_ENTRY, _AT = "entry", "at"


class Listed:
    """See the module: eager lists, exact for every step that Whence traces."""

    name = "listed"
    traces = True
    updates = True
    keeps = True
    stored = True

    def leaf(self, row_id: Column, row: Column | None, at: Column | None) -> Column:
        entry = row_id if row is None else F.struct(row_id.alias("id"), row.alias("row"))
        return entry if at is None else F.struct(entry.alias(_ENTRY), at.alias(_AT))

    def promote(self, tag: Column) -> Column:
        return F.filter(F.array(tag), lambda entry: entry.isNotNull())

    def pair(self, left: tuple[Column, Part], right: tuple[Column, Part]) -> Column:
        return F.concat(*(self._list(tag, part) for tag, part in (left, right)))

    def fold(self, tag: Column, part: Part) -> Column:
        return F.flatten(F.collect_list(tag)) if part.many else F.collect_list(tag)

    def ids(self, tag: Column, part: Part, at: Column | None) -> Column:
        entries = self._entries(tag, part, at)
        return F.sort_array(F.array_distinct(F.transform(entries, lambda e: e["id"]) if part.kept else entries))

    def kept(self, tag: Column, part: Part, at: Column | None) -> Column:
        return self._entries(tag, part, at)

    def _entries(self, tag: Column, part: Part, at: Column | None) -> Column:
        entries = self._list(tag, part)
        if not part.dated:
            return entries
        if at is not None:
            entries = F.filter(entries, lambda e: e[_AT] == at)
        return F.transform(entries, lambda e: e[_ENTRY])

    def _list(self, tag: Column, part: Part) -> Column:
        return F.coalesce(tag, F.array()) if part.many else self.promote(tag)
