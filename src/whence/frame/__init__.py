"""What users touch: `source`, `TracedFrame`, its groups and its writers."""

from whence.frame.declare import source
from whence.frame.traced import TracedFrame

__all__ = ["TracedFrame", "source"]
