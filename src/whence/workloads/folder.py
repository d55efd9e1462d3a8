"""A folder of Parquet files that a stream reads in order of event time, one file or several a batch.

Spark's file source takes files by their modification time. So the files are given one each, a second apart, and names
that do not change from one writing to the next: ids, which depend on the path, stay the same too.
"""

import os
import shutil
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

_EPOCH = 1_600_000_000  # the first file's modification time: long ago, so that no file source takes it for unfinished


def write_in_order(
    frame: DataFrame, folder: str | Path, *, time: str, files: int = 4, name: str = "part"
) -> list[Path]:
    """Writes ``frame`` as up to ``files`` Parquet files into a folder of this machine, cut and sorted by ``time``.

    Rows of one time are never cut apart. Timestamps are written as microseconds, which every reader understands.
    """
    target = Path(folder)
    staging = target / "_writing"
    others = [column for column in frame.columns if column != time]
    (
        frame.repartitionByRange(files, time)
        .sortWithinPartitions(time, *others)
        .write.option("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
        .mode("overwrite")
        .parquet(str(staging))
    )
    written = []
    for number, part in enumerate(sorted(staging.glob("part-*.parquet"))):
        path = target / f"{name}-{number:05d}.parquet"
        os.replace(part, path)
        os.utime(path, (_EPOCH + number, _EPOCH + number))
        written.append(path)
    shutil.rmtree(staging)
    return written


def read_in_order(spark: SparkSession, folder: str | Path, *, files_per_batch: int = 1) -> DataFrame:
    """The folder as a stream, ``files_per_batch`` files a batch."""
    schema = spark.read.parquet(str(folder)).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", files_per_batch).parquet(str(folder))
