"""Hypothesis strategies for described networks, data, batch splits and output modes.

Example: `@given(cases())` gives a `Case`: a network that Spark accepts, rows for its sources, a split, a mode.
The surprise: nothing is filtered out. What Spark refuses is never built, so every draw is a test.
"""

from whence.testing.strategies.cases import KINDS, Case, cases

__all__ = ["KINDS", "Case", "cases"]
