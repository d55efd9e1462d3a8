"""The capture modes: one small file each."""

from __future__ import annotations

from whence.errors import BadInputError
from whence.modes.algebra import Mode, Part, Tag
from whence.modes.listed import Listed
from whence.modes.off import Off

MODES: dict[str, Mode] = {mode.name: mode for mode in (Off(), Listed())}


def choose(name: str) -> Mode:
    """The mode called `name`; `auto` is the cheapest that is exact, which for now is always `listed`."""
    if name == "auto":
        return MODES["listed"]
    if name not in MODES:
        known = ", ".join(["auto", *MODES])
        raise BadInputError(f'unknown mode "{name}"', f"there are {known}", 'leave mode out for "auto"')
    return MODES[name]


__all__ = ["MODES", "Mode", "Part", "Tag", "choose"]
