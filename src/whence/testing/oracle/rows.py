"""A row inside the oracle: its values and the set of source rows that made it.

The surprise: rows are compared by identity, never by value. Two equal rows are two rows.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field

from whence.testing.oracle.values import Value

Origin = tuple[str, int]  # source name, index of the row in that source's data
Origins = frozenset[Origin]


@dataclass(frozen=True, eq=False)
class Row:
    """`group` says of which updating result a row is a version; None of a row that is there for good."""

    values: Mapping[str, Value]
    origins: Origins = field(default_factory=frozenset)
    group: Hashable = None

    def with_values(self, values: Mapping[str, Value]) -> Row:
        """Other values, same provenance."""
        return Row(values, self.origins, self.group)


def together(rows: Iterable[Row]) -> Origins:
    """The provenance of all rows at once."""
    return frozenset().union(*(row.origins for row in rows))
