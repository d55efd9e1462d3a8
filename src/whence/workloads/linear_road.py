"""Linear Road: cars report their position every 30 seconds; which have stopped, and where do two stand together?

The queries are GeneaLog's Q1 and Q2. Windows are aligned to the epoch.
"""

from typing import Any

from pyspark.sql import functions as F

from whence.workloads.frames import FrameT


def lr_q1(
    reports: FrameT,
    *,
    delay: str = "10 seconds",
    window: str = "120 seconds",
    slide: str = "30 seconds",
    count: int = 4,
    at_least: bool = False,
) -> FrameT:
    """Stopped cars: ``count`` reports of one car at speed 0 in one window, all at one position.

    Gives ``ts`` (the window's start), ``car_id``, ``n`` (reports), ``positions`` (distinct ones: 1) and ``pos``.
    ``at_least`` keeps windows that hold more reports too.
    """
    stopped = _stopped(reports, delay, window, slide, count, at_least)
    alerts: FrameT = stopped.select(F.col("window.start").alias("ts"), "car_id", "n", "positions", "pos")
    return alerts


def lr_q2(
    reports: FrameT,
    *,
    delay: str = "10 seconds",
    window: str = "120 seconds",
    slide: str = "30 seconds",
    count: int = 4,
    at_least: bool = False,
    together: str = "30 seconds",
) -> FrameT:
    """Accidents: more than one stopped car (``lr_q1``) at one position in one tumbling window of ``together``.

    Gives ``ts`` (that window's start), ``pos`` and ``cars`` (how many).
    """
    stopped = _stopped(reports, delay, window, slide, count, at_least)
    accidents: FrameT = (
        stopped.groupBy(F.window(F.window_time("window"), together), "pos")
        .agg(F.size(F.collect_set("car_id")).alias("cars"))
        .where("cars > 1")
        .select(F.col("window.start").alias("ts"), "pos", "cars")
    )
    return accidents


def _stopped(reports: Any, delay: str, window: str, slide: str, count: int, at_least: bool) -> Any:
    """The stopped cars, with their window.

    Streams have no ``count_distinct``; one position means that the least and the greatest are the same, hence the 1,
    and that the latest is either of them.
    """
    return (
        reports.withWatermark("ts", delay)
        .where("speed = 0")
        .groupBy(F.window("ts", window, slide), "car_id")
        .agg(F.count("*").alias("n"), F.min("pos").alias("pos"), F.max("pos").alias("last_pos"))
        .where(f"n {'>=' if at_least else '='} {int(count)} and pos = last_pos")
        .select("window", "car_id", "n", F.lit(1).alias("positions"), "pos")
    )
