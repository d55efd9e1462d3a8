"""What an answer cannot show, in words: no answer passes for a whole one that is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whence.cli.options import DEFAULT_LIMIT
from whence.cli.screen import Screen
from whence.cli.sections import many

if TYPE_CHECKING:
    from whence.trace import Answer


def notes(screen: Screen, answer: Answer) -> None:
    """Prints what is missing, what is ambiguous and which sides were not traced."""
    missing = answer.missing
    for one in missing[:DEFAULT_LIMIT]:
        where = f" ({one.segment}, row {one.position})" if one.segment is not None else ""
        screen.line(f"missing: row {one.id} of {one.source}{where}: {one.why}", style="yellow")
    if len(missing) > DEFAULT_LIMIT:
        screen.line(f"missing: {many(len(missing) - DEFAULT_LIMIT, 'row')} more: --format json has all", style="yellow")
    for identity in answer.ambiguous:
        screen.line(f"ambiguous: {identity} stands for more than one row", style="yellow")
    for side in answer.untraced:
        screen.line(f"untraced: {side}", style="yellow")
