"""Generated smart-grid readings: row n is meter n % meters in hour n / meters, so rows are in order of event time.

The load of an hour is 1 + sin x + sin(2/3 (x - pi)) + 0.5 sin 2x + Exp(1), the same for all meters, with x going from
0 to 2 pi over the day; a meter adds a Normal(0, 5) of its own each hour; the sum is cut to a whole number, and what is
below 8 is 0. So a day of zeros is rare and a day above 200 hardly occurs: both are injected.
"""

import math
from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from whence.workloads.chance import below, exponential, normal, uniform

START = datetime(2026, 1, 5, tzinfo=UTC)


def readings(
    spark: SparkSession,
    *,
    meters: int = 40,
    days: int = 10,
    seed: int = 1,
    blackouts: float = 0.3,
    dark: int = 8,
    anomalies: float = 0.01,
    base: float = 1.0,
    start: datetime = START,
    closing: bool = True,
) -> DataFrame:
    """Readings ``(hour, meter_id, consumption)`` of ``meters`` meters, one each an hour.

    ``blackouts`` is the share of days on which ``dark`` neighbouring meters read 0 all day; ``anomalies`` the share of
    a meter's days on which its first reading makes up for reports that it missed (250 to 449). ``base`` is the load's
    constant: with 3 instead of 1, days of zeros that nobody injected are twenty times rarer (0.2 % instead of 4 %).
    With ``closing``, one meter more reports once, two days after all others: in a stream that closes every window.
    """
    if meters < 1 or days < 1:
        raise ValueError("meters and days must be positive")
    total = meters * days * 24
    last = f"id = {total}"
    timed = (
        spark.range(total + (1 if closing else 0))
        .selectExpr(f"id div {meters} + if({last}, 48, 0) AS nth", f"if({last}, {meters}, id % {meters}) AS meter_id")
        .selectExpr("*", f"nth + {round(start.timestamp()) // 3600} AS since_epoch")
        .selectExpr("*", "since_epoch div 24 AS day", "since_epoch % 24 AS of_day")
    )
    nth, meter, of_day = F.col("nth"), F.col("meter_id"), F.col("of_day")
    x = of_day * F.lit(2 * math.pi / 24)
    shape = F.sin(x) + F.sin((x - F.lit(math.pi)) * F.lit(2 / 3)) + F.sin(x * 2) * F.lit(0.5)
    load = F.lit(base) + shape + exponential(seed, "load", nth)
    consumed = (load + normal(5.0, seed, "meter", meter, nth)).cast("int")
    usual = F.when(consumed < 8, 0).otherwise(consumed)
    day = F.col("day")
    first_dark = below(meters, seed, "first dark", day)
    in_blackout = (uniform(seed, "blackout", day) < F.lit(blackouts)) & (
        F.pmod(meter - first_dark, F.lit(meters)) < F.lit(dark)
    )
    made_up = (of_day == 0) & (uniform(seed, "anomaly", meter, day) < F.lit(anomalies))
    consumption = (
        F.when(in_blackout, 0).when(made_up, 250 + below(200, seed, "made up", meter, day)).otherwise(usual).cast("int")
    )
    hour = F.timestamp_seconds(F.col("since_epoch") * 3600)
    return timed.select(hour.alias("hour"), "meter_id", consumption.alias("consumption"))
