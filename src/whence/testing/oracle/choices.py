"""What Spark is free to choose, as a tape: every choice is read from it, so all worlds can be visited in turn.

Example: a batch with two candidates for one key asks `choose(2)`; the first world answers 0, the second 1.
The surprise: the tape need not know the choices beforehand. A run past its end answers 0 and writes down how many
there were; the next tape is the last one with its final digit moved on, as an odometer's.
"""

from __future__ import annotations

from collections.abc import Iterator


class Choices:
    """One world: answers to every question about what Spark chose."""

    def __init__(self, tape: tuple[int, ...] = ()) -> None:
        self._tape = tape
        self.taken: list[tuple[int, int]] = []  # answer, out of how many

    def choose(self, among: int) -> int:
        """A number below `among`."""
        if among < 2:
            return 0
        at = len(self.taken)
        answer = self._tape[at] if at < len(self._tape) else 0
        self.taken.append((answer, among))
        return answer

    def next_tape(self) -> tuple[int, ...] | None:
        """The tape of the next world, or None after the last."""
        digits = list(self.taken)
        while digits:
            answer, among = digits.pop()
            if answer + 1 < among:
                return (*(one for one, _ in digits), answer + 1)
        return None


def tapes(bound: int) -> Iterator[Choices]:
    """Worlds, one after the other, up to a bound; run each to its end before asking for the next."""
    tape: tuple[int, ...] | None = ()
    for _ in range(bound):
        if tape is None:
            return
        world = Choices(tape)
        yield world
        tape = world.next_tape()
