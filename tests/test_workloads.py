"""The papers' queries on plain Spark, static and streaming, and the generators that feed them."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from pyspark.sql import DataFrame, SparkSession

from whence.workloads import (
    WORKLOADS,
    Workload,
    lr_q1,
    lr_q2,
    read_in_order,
    readings,
    reports,
    sg_q3,
    sg_q4,
    write_in_order,
)

SMALL = {"reports": {"cars": 60, "rounds": 40}, "readings": {"meters": 30, "days": 6}}
by_name = pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS.keys())


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def in_utc(moment: datetime) -> datetime:
    """What `collect` gave, which is naive and in this machine's zone."""
    return moment.astimezone(UTC)


def report_rows(spark: SparkSession, *rows: tuple[str, str, int, str]) -> DataFrame:
    return spark.createDataFrame(
        [(utc(f"2026-01-05 {time}"), *rest) for time, *rest in rows],
        "ts timestamp, car_id string, speed int, pos string",
    )


def standing(car: str, *, speed: int = 0, pos: str = "X", offset: int = 1, times: int = 4) -> list[tuple]:
    first = utc("2026-01-05 08:00:00") + timedelta(seconds=offset)
    return [((first + timedelta(seconds=30 * i)).strftime("%H:%M:%S"), car, speed, pos) for i in range(times)]


def meter_rows(spark: SparkSession, consumption: dict[int, list[int]]) -> DataFrame:
    first = utc("2026-01-05 00:00:00")
    return spark.createDataFrame(
        [
            (first + timedelta(hours=hour), meter, value)
            for meter, values in consumption.items()
            for hour, value in enumerate(values)
        ],
        "hour timestamp, meter_id bigint, consumption int",
    )


def as_set(frame: DataFrame) -> list[str]:
    return sorted(str(row) for row in frame.collect())


def test_figure_1_of_genealog(spark: SparkSession) -> None:
    """Four reports of car a, at speed 0 and position X, give its alert (08:00:00, a, 4, 1) and no other."""
    (alert,) = lr_q1(report_rows(spark, *standing("a"))).collect()
    assert (in_utc(alert.ts), alert.car_id, alert.n, alert.positions) == (utc("2026-01-05 08:00:00"), "a", 4, 1)
    assert alert.pos == "X"


@pytest.mark.parametrize(
    "rows",
    [
        standing("a", times=3),
        standing("a", speed=1),
        [*standing("a", times=3), ("08:01:31", "a", 0, "Y")],
        [*standing("a", times=2), *standing("b", times=2, offset=61)],
    ],
    ids=["three reports", "moving", "two positions", "two cars"],
)
def test_a_car_that_did_not_stop_gives_no_alert(spark: SparkSession, rows: list[tuple]) -> None:
    """Each condition of lr-q1 is needed."""
    assert lr_q1(report_rows(spark, *rows)).count() == 0


def test_more_than_four_reports_count_only_when_asked_for(spark: SparkSession) -> None:
    """Five reports in one window are not four, but at least four."""
    rows = report_rows(spark, *standing("a"), ("08:01:45", "a", 0, "X"))
    whole_window = "ts = timestamp'2026-01-05 08:00:00'"
    assert lr_q1(rows).where(whole_window).count() == 0
    assert [row.n for row in lr_q1(rows, at_least=True).where(whole_window).collect()] == [5]


def test_an_accident_needs_two_cars_at_one_position(spark: SparkSession) -> None:
    """One stopped car is no accident, nor are two at two positions; two at one position are."""
    a = standing("a")
    assert lr_q2(report_rows(spark, *a)).count() == 0
    assert lr_q2(report_rows(spark, *a, *standing("b", pos="Y", offset=7))).count() == 0
    (accident,) = lr_q2(report_rows(spark, *a, *standing("b", offset=7))).collect()
    assert (in_utc(accident.ts), accident.pos, accident.cars) == (utc("2026-01-05 08:01:30"), "X", 2)


def test_a_blackout_needs_eight_meters(spark: SparkSession) -> None:
    """Eight meters without consumption all day are a blackout, seven are none, whatever the others use."""
    dark, lit = [0] * 24, [1] * 24
    (blackout,) = sg_q3(meter_rows(spark, {**dict.fromkeys(range(8), dark), 8: lit})).collect()
    assert (in_utc(blackout.day), blackout.meters) == (utc("2026-01-05 00:00:00"), 8)
    assert sg_q3(meter_rows(spark, {**dict.fromkeys(range(7), dark), 8: lit})).count() == 0


def test_an_anomaly_is_a_day_far_from_its_last_reading(spark: SparkSession) -> None:
    """A day of 300 ending in 10 is one; a day of 300 ending in 200, and a day of 200, are none."""
    rows = {
        1: [290, *[0] * 22, 10],
        2: [100, *[0] * 22, 200],
        3: [200, *[0] * 23],
    }
    (anomaly,) = sg_q4(meter_rows(spark, rows)).collect()
    assert (anomaly.meter_id, anomaly.consumed, anomaly.reading, anomaly.difference) == (1, 300, 10, 290)
    assert in_utc(anomaly.slot.start) == utc("2026-01-05 23:00:00")


@by_name
def test_generated_data_has_results(spark: SparkSession, workload: Workload) -> None:
    """Every workload finds something in what its generator makes by default."""
    assert workload.query(workload.generate(spark)).count() > 0


def test_nothing_is_found_where_nothing_is_injected(spark: SparkSession) -> None:
    """Stops, accidents and anomalies come from the shares that were asked for (days of zeros come by chance too)."""
    calm = reports(spark, stopping=0.0, accidents=0.0, closing=False)
    assert calm.where("speed = 0").count() == 0
    assert lr_q2(reports(spark, stopping=0.3, accidents=0.0)).count() == 0
    assert sg_q4(readings(spark, anomalies=0.0)).count() == 0
    assert sg_q3(readings(spark, blackouts=0.0, base=3.0)).count() == 0


@pytest.mark.parametrize("name", SMALL)
def test_a_generator_is_a_function_of_its_seed(spark: SparkSession, name: str) -> None:
    """The same seed gives the same rows, however they are split over tasks; another seed gives others."""
    generate = {"reports": reports, "readings": readings}[name]
    first = as_set(generate(spark, seed=7, **SMALL[name]))
    assert as_set(generate(spark, seed=7, **SMALL[name]).repartition(3)) == first
    assert as_set(generate(spark, seed=8, **SMALL[name])) != first


def test_generators_scale_by_their_arguments(spark: SparkSession) -> None:
    """One report a car and round, one reading a meter and hour, in order of event time, and one row that closes."""
    frame = reports(spark, cars=7, rounds=5)
    assert frame.count() == 7 * 5 + 1
    assert frame.select("car_id").distinct().count() == 7 + 1
    times = [row.ts for row in frame.collect()]
    assert times == sorted(times)
    frame = readings(spark, meters=3, days=2, closing=False)
    assert frame.count() == 3 * 2 * 24
    hours = [row.hour for row in frame.collect()]
    assert hours == sorted(hours)
    with pytest.raises(ValueError, match="must be positive"):
        reports(spark, cars=0)


def test_a_car_reports_every_30_seconds(spark: SparkSession) -> None:
    """The reports of one car lie 30 seconds apart, wherever in the round it reports."""
    for car in (0, 6):
        rows = reports(spark, cars=7, rounds=5, closing=False).where(f"car_id = {car}").orderBy("ts").collect()
        assert {after.ts - before.ts for before, after in pairwise(rows)} == {timedelta(seconds=30)}


def test_files_lie_in_order_of_event_time(spark: SparkSession, tmp_path) -> None:
    """Files keep their names from one writing to the next, follow each other in time, and cut no time apart."""
    frame = readings(spark, **SMALL["readings"])
    paths = write_in_order(frame, tmp_path / "in", time="hour", files=3, name="readings")
    assert [path.name for path in paths] == [f"readings-{n:05d}.parquet" for n in range(3)]
    assert sorted(path.name for path in (tmp_path / "in").iterdir()) == [path.name for path in paths]
    spans = [spark.read.parquet(str(p)).selectExpr("min(hour)", "max(hour)").first() for p in paths]
    assert all(before[1] < after[0] for before, after in pairwise(spans))
    assert [p.stat().st_mtime for p in paths] == sorted({p.stat().st_mtime for p in paths})
    assert as_set(spark.read.parquet(str(tmp_path / "in"))) == as_set(frame)


@by_name
def test_a_stream_gives_what_a_static_frame_gives(spark: SparkSession, tmp_path, workload: Workload) -> None:
    """In append mode, over files read one a batch, every result arrives once the closing row has passed."""
    folder, out = str(tmp_path / "in"), str(tmp_path / "out")
    write_in_order(workload.generate(spark), folder, time=workload.event_time, files=3)
    query = (
        workload.query(read_in_order(spark, folder))
        .writeStream.format("parquet")
        .option("path", out)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert query.lastProgress.batchId >= 3
    results = as_set(spark.read.parquet(out))
    assert results == as_set(workload.query(spark.read.parquet(folder)))
    assert results
