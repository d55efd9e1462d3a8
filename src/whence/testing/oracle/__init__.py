"""The oracle: plain Python that says what a described network delivers, and which source rows made each row.

It shares nothing with the engine but the description. It derives watermarks, lateness, closing and eviction from the
batch split alone, as Spark does. The surprise: where Spark may choose (which duplicate survives), there is no one
answer, so the oracle enumerates what could have been, and a result is right when it equals one of these.
"""

from whence.testing.oracle.run import Delivered, Run, Split, Stage, run_static, run_stream, worlds

__all__ = ["Delivered", "Run", "Split", "Stage", "run_static", "run_stream", "worlds"]
