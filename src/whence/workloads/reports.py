"""Generated Linear Road reports: row n is car n % cars in round n / cars, so rows are in order of event time.

Time goes in trips of ``trip`` rounds. In a trip a car may stop for 4 to 8 rounds, alone or, in an accident, together
with its neighbour (cars 2p and 2p + 1) at one position. Whether it does is a function of the seed, the car and the
trip. A car that stands reports the position at which its first standing round (in an accident: the lead car's) found
it.
"""

from datetime import UTC, datetime

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from whence.workloads.chance import below, uniform

START = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
_PERIOD = 30_000_000  # microseconds between two reports of one car
_DAY = 86_400_000_000
_ROAD = 528_000  # feet, as in Linear Road: 100 segments of 5,280
_SHORTEST, _LONGEST = 4, 8  # rounds that a car stands


def reports(
    spark: SparkSession,
    *,
    cars: int = 100,
    rounds: int = 60,
    seed: int = 1,
    stopping: float = 0.05,
    accidents: float = 0.02,
    trip: int = 20,
    start: datetime = START,
    closing: bool = True,
) -> DataFrame:
    """Reports ``(ts, car_id, speed, xway, lane, dir, seg, pos)`` of ``cars`` cars, one each every 30 seconds.

    ``stopping`` is the share of a car's trips in which it stops alone, ``accidents`` the share of a pair's trips in
    which both stand at one position. With ``closing``, one car more reports once, at speed 0, a day after all others:
    in a stream that closes every window.
    """
    if cars < 1 or rounds < 1 or trip <= _LONGEST:
        raise ValueError(f"cars and rounds must be positive and a trip longer than {_LONGEST} rounds")
    last = f"id = {cars * rounds}"
    first = round(start.timestamp() * 1_000_000)
    moving = spark.range(cars * rounds + (1 if closing else 0)).selectExpr(
        f"timestamp_micros({first} + id * {_PERIOD} div {cars} + if({last}, {_DAY}, 0)) AS ts",
        f"if({last}, {cars}, id % {cars}) AS car_id",
        f"id div {cars} AS turn",
        f"{last} AS last",
    )
    return _standing(moving, seed, stopping, accidents, trip)


def _standing(moving: DataFrame, seed: int, stopping: float, accidents: float, trip: int) -> DataFrame:
    """Adds where each car is and how fast it drives."""
    car, turn = F.col("car_id"), F.col("turn")
    lead = car - car % 2
    nth = F.expr(f"turn div {int(trip)}")
    crash = uniform(seed, "accident", lead, nth) < F.lit(accidents)
    alone = uniform(seed, "stop", car, nth) < F.lit(stopping)
    who = F.when(crash, lead).otherwise(car)
    length = F.lit(_SHORTEST) + below(_LONGEST - _SHORTEST + 1, seed, "length", who, nth)
    since = nth * trip + below(trip - _LONGEST, seed, "since", who, nth)
    stands = (crash | alone) & (turn >= since) & (turn < since + length)
    placed = moving.select(
        "ts",
        "car_id",
        "turn",
        (stands | F.col("last")).alias("stands"),
        F.when(stands, who).otherwise(car).alias("as_car"),
        F.when(stands, since).otherwise(turn).alias("as_of"),
    )
    speed = F.when(F.col("stands"), 0).otherwise(40 + below(61, seed, "speed", car, turn))
    pos = _position(seed, F.col("as_car"), F.col("as_of"))
    return placed.select(
        "ts",
        "car_id",
        speed.cast("int").alias("speed"),
        below(4, seed, "xway", F.col("as_car")).cast("int").alias("xway"),
        below(3, seed, "lane", F.col("as_car"), F.col("as_of")).cast("int").alias("lane"),
        below(2, seed, "dir", F.col("as_car")).cast("int").alias("dir"),
        F.floor(pos / (_ROAD // 100)).cast("int").alias("seg"),
        pos.cast("int").alias("pos"),
    )


def _position(seed: int, car: Column, turn: Column) -> Column:
    """Where a car that never stops is: from its home onward, 2,000 to 3,999 feet a round, around the road."""
    return F.pmod(below(_ROAD, seed, "home", car) + turn * (2_000 + below(2_000, seed, "stride", car)), F.lit(_ROAD))
