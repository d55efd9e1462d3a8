"""Chance as a function: native Spark columns that look random and depend on a seed and on columns alone.

The same seed and the same row number give the same value, in any session, in any order, on any number of machines.
Every draw has a label of its own, so that two draws for one row are independent of each other.
"""

import math

from pyspark.sql import Column
from pyspark.sql import functions as F

_BITS = 53  # as many as a double holds exactly


def draw(seed: int, label: str, *columns: Column) -> Column:
    """A 64-bit number (bigint, any sign)."""
    return F.xxhash64(F.lit(seed).cast("bigint"), F.lit(label), *columns)


def below(bound: int, seed: int, label: str, *columns: Column) -> Column:
    """A whole number from 0 to bound - 1 (bigint)."""
    return F.pmod(draw(seed, label, *columns), F.lit(bound).cast("bigint"))


def uniform(seed: int, label: str, *columns: Column) -> Column:
    """A number in [0, 1)."""
    return F.shiftrightunsigned(draw(seed, label, *columns), 64 - _BITS) / F.lit(float(2**_BITS))


def exponential(seed: int, label: str, *columns: Column) -> Column:
    """Exp(1), by inversion."""
    return -F.log(F.lit(1.0) - uniform(seed, label, *columns))


def normal(deviation: float, seed: int, label: str, *columns: Column) -> Column:
    """Normal(0, deviation), by Box and Muller."""
    radius = F.sqrt(F.lit(2.0) * exponential(seed, label + "/radius", *columns))
    return F.lit(deviation) * radius * F.cos(F.lit(2 * math.pi) * uniform(seed, label + "/angle", *columns))
