"""Smart grid: meters report their consumption every hour; where is a blackout, which meter is broken?

The queries are GeneaLog's Q3 and Q4. Windows are aligned to the epoch, so a day is a day of UTC.
"""

from pyspark.sql import functions as F

from whence.workloads.frames import FrameT


def sg_q3(readings: FrameT, *, delay: str = "1 hour", day: str = "24 hours", more_than: int = 7) -> FrameT:
    """Blackout: more than ``more_than`` meters consumed nothing all day.

    Gives ``day`` (its start) and ``meters`` (how many).
    """
    dark = (
        readings.withWatermark("hour", delay)
        .groupBy(F.window("hour", day), "meter_id")
        .agg(F.sum("consumption").alias("consumed"))
        .where("consumed = 0")
    )
    blackouts: FrameT = (
        dark.groupBy(F.window(F.window_time("window"), day))
        .agg(F.count("*").alias("meters"))
        .where(f"meters > {int(more_than)}")
        .select(F.col("window.start").alias("day"), "meters")
    )
    return blackouts


def sg_q4(readings: FrameT, *, delay: str = "1 hour", more_than: int = 200) -> FrameT:
    """Anomaly: a meter whose day and whose last reading before midnight lie further apart than ``more_than``.

    Gives ``meter_id``, ``slot`` (the hour in which the two meet), ``consumed`` (all day), ``reading`` and
    ``difference``. The last reading belongs to the day as well, so a result rests on 24 readings, not 25.
    """
    in_time = readings.withWatermark("hour", delay)
    daily = (
        in_time.groupBy(F.window("hour", "24 hours"), "meter_id")
        .agg(F.sum("consumption").alias("consumed"))
        .where(f"consumed > {int(more_than)}")
        .select("meter_id", "consumed", F.window(F.window_time("window"), "1 hour").alias("slot"))
    )
    midnight = in_time.where("(unix_seconds(hour) div 3600 + 1) % 24 = 0").select(
        "meter_id", F.col("consumption").alias("reading"), F.window("hour", "1 hour").alias("slot")
    )
    anomalies: FrameT = (
        daily.join(midnight, ["meter_id", "slot"])
        .select("meter_id", "slot", "consumed", "reading", F.expr("abs(consumed - reading)").alias("difference"))
        .where(f"difference > {int(more_than)}")
    )
    return anomalies
