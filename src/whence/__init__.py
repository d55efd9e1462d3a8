"""Whence: row-level provenance for Spark streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whence.errors import WhenceError

if TYPE_CHECKING:
    from whence.frame import TracedFrame, source
    from whence.trace import Impact, Lineage, Trace, open

__version__ = "0.1.0"
__all__ = ["Impact", "Lineage", "Trace", "TracedFrame", "WhenceError", "open", "source"]

_LAZY = {
    "source": "whence.frame",
    "TracedFrame": "whence.frame",
    "open": "whence.trace",
    "Lineage": "whence.trace",
    "Trace": "whence.trace",
    "Impact": "whence.trace",
}


def __getattr__(name: str) -> Any:
    """Asking needs no Spark and capture no DuckDB: each half is imported when it is used."""
    if name not in _LAZY:
        raise AttributeError(name)
    from importlib import import_module

    return getattr(import_module(_LAZY[name]), name)
