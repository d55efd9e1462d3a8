"""Session windows: rows of a key whose gaps are short enough make one session, over batches.

Example: with a gap of 10 s, rows at 0 and 8 make the session [0, 18). The surprise: a row can join two sessions that
were apart until it came, and a late row is dropped even where it would have lain inside a session still open.
"""

from __future__ import annotations

from dataclasses import dataclass

from whence.testing import description as d
from whence.testing.oracle.aggregate import Group, Key, results
from whence.testing.oracle.functions import take
from whence.testing.oracle.moment import Moment, event_column, passed
from whence.testing.oracle.rows import Row, together
from whence.testing.oracle.values import evaluate
from whence.testing.oracle.windows import Span, time_of, windows_of
from whence.testing.schema import event_times


@dataclass(eq=False)
class Session:
    span: Span
    group: Group


class Sessions:
    """The state of one session aggregate."""

    def __init__(self, step: d.Aggregate) -> None:
        assert step.window is not None
        self._step = step
        self._window = step.window
        self._watched = event_column(event_times(step)) is not None
        self._open: dict[Key, list[Session]] = {}

    def batch(self, rows: list[Row], moment: Moment) -> list[Row]:
        """Takes a batch in and says what is delivered."""
        arrived: dict[Key, list[tuple[Span, Row]]] = {}
        for row in rows:
            for span in windows_of(self._window, time_of(self._window, row.values)):
                if self._watched and passed(span, moment.late):
                    moment.seen["late"] += 1
                else:
                    key = tuple(evaluate(one.value, row.values) for one in self._step.keys)
                    arrived.setdefault(key, []).append((span, row))
        for key, news in arrived.items():
            self._open[key] = self._merged(self._open.get(key, []), news, moment)
        made = []
        for key, sessions in list(self._open.items()):
            for session in sessions:
                if moment.mode != "append" or self._closed(session, moment):
                    made.append(self._row(key, session, moment))
            if moment.mode == "append":
                self._open[key] = [one for one in sessions if not self._closed(one, moment)]
        return made

    def _closed(self, session: Session, moment: Moment) -> bool:
        return self._watched and passed(session.span, moment.evict)

    def _merged(self, before: list[Session], news: list[tuple[Span, Row]], moment: Moment) -> list[Session]:
        pieces: list[tuple[Span, Group | None, Row | None]] = [(one.span, one.group, None) for one in before] + [
            (span, None, row) for span, row in news
        ]
        pieces.sort(key=lambda piece: piece[0])
        runs: list[list[tuple[Span, Group | None, Row | None]]] = []
        end = 0
        for piece in pieces:
            if runs and touches(end, piece[0]):
                runs[-1].append(piece)
                end = max(end, piece[0][1])
            else:
                runs.append([piece])
                end = piece[0][1]
        return [self._session(run, moment) for run in runs]

    def _session(self, run: list[tuple[Span, Group | None, Row | None]], moment: Moment) -> Session:
        span = (run[0][0][0], max(piece[0][1] for piece in run))
        old = [piece[1] for piece in run if piece[1] is not None]
        news = [piece[2] for piece in run if piece[2] is not None]
        if len(old) > 1:
            moment.seen["session_merged"] += 1
        if not news and len(old) == 1:
            return Session(span, old[0])
        if old:
            moment.seen["multi_batch_group"] += 1
        group = Group([row for one in old for row in one.rows] + news)
        for computed in self._step.computed:
            held = [v for one in old for v in one.taken.get(computed.name, [])][:1]
            group.taken[computed.name] = take(computed, held, news, moment.choices)
        return Session(span, group)

    def _row(self, key: Key, session: Session, moment: Moment) -> Row:
        if any(value is None for value in key):
            moment.seen["null_key"] += 1
        names = [one.name for one in self._step.keys]
        return Row(
            {self._window.name: session.span}
            | dict(zip(names, key, strict=True))
            | results(self._step, session.group, moment),
            together(session.group.rows),
        )


def touches(end: int, span: Span) -> bool:
    """Whether a session that ends there takes in one that starts here."""
    return span[0] <= end
