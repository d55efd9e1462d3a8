"""Everything Whence refuses or cannot do is a `WhenceError`: what is wrong, with what, and what to do."""

from __future__ import annotations


class WhenceError(Exception):
    """An error in three parts: `primary`, `detail` (with what), `hint` (what to do).

    >>> print(WhenceError('column "sped" not found', "the input has car_id, speed", 'did you mean "speed"?'))
    column "sped" not found
    Detail: the input has car_id, speed
    Hint: did you mean "speed"?
    """

    def __init__(self, primary: str, detail: str = "", hint: str = "") -> None:
        super().__init__(primary, detail, hint)
        self.primary = primary
        self.detail = detail
        self.hint = hint

    def __str__(self) -> str:
        lines = [self.primary]
        if self.detail:
            lines.append(f"Detail: {self.detail}")
        if self.hint:
            lines.append(f"Hint: {self.hint}")
        return "\n".join(lines)


class BadInputError(WhenceError):
    """A name, value or expression that does not fit: a missing column, a `where` that is not SQL, an unknown mode."""


class RefusedError(WhenceError):
    """Something that Whence cannot trace exactly, refused before the query starts."""


class SourceError(WhenceError):
    """A source without ids, or whose coordinates cannot be told apart."""


class StoreError(WhenceError):
    """A folder that is not a store, has a newer version, or cannot be read or written."""


class CheckpointError(WhenceError):
    """A checkpoint that does not fit: made without lineage, by another network, or with an unknown log version."""


class SinkError(WhenceError):
    """A sink that Whence cannot deliver to, or that holds what another query wrote."""


class NotFoundError(WhenceError):
    """A sink, a source or an id that the store does not hold."""


class UnsupportedError(RefusedError, AttributeError):
    """A DataFrame method that a traced frame does not have; an `AttributeError` too, so that `hasattr` works."""
