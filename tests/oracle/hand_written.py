"""Networks written by hand, each for one thing that Spark does, with rows and a split that show it.

The surprise: many were found wrong first, in the oracle or in what one would expect of Spark; see
docs/design/oracle.md.
"""

from __future__ import annotations

from whence.testing import description as d
from whence.testing import expression as e
from whence.testing.oracle import Split
from whence.testing.strategies import Case

SECOND = 1_000_000
S = d.Table("s", (d.Field("ts", "timestamp"), d.Field("k", "string"), d.Field("v", "long")))
U = d.Table("u", (d.Field("uts", "timestamp"), d.Field("uk", "string"), d.Field("uv", "long")))
A = d.Table("a", (d.Field("ts", "timestamp"), d.Field("xs", "longs")))
STATIC = d.Table("static", (d.Field("sk", "string"), d.Field("w", "long")), static=True)


def rows(table: d.Table, *given: tuple[float | None, object, int]) -> list[dict[str, object]]:
    """Rows from (seconds, key, number)."""
    time, key, number = (one.name for one in table.columns)
    return [{time: None if at is None else round(at * SECOND), key: k, number: v} for at, k, v in given]


DATA: dict[str, list[dict[str, object]]] = {
    "s": rows(
        S,
        (1, "a", 1), (12, "a", 2), (3, "b", 3), (25, "a", 4), (11, "a", 5),
        (40, None, 6), (0, "a", 7), (-2, "a", 1), (None, "a", 1), (60, "c", 1),
    ),
    "u": rows(
        U,
        (2, "a", 1), (11, "a", 2), (3, "b", 3), (25, "a", 4), (15, "a", 5),
        (44, None, 6), (0, "a", 7), (None, "a", 1), (33, "b", 2), (70, "c", 1),
    ),
    "static": [{"sk": "a", "w": 1}, {"sk": "a", "w": 2}, {"sk": None, "w": 3}, {"sk": "z", "w": 1}],
}  # fmt: skip
BATCHES = (
    {"s": ((0, 1), (2,)), "u": ((0,), (1,))},
    {"s": ((3, 6),), "u": ()},
    {"s": ((4, 7, 8),), "u": ((2, 3, 4),)},
    {"s": ((5,),), "u": ((5, 6, 7),)},
    {"s": ((9,),), "u": ((8, 9),)},
)
SPLIT = Split((BATCHES,))
RESTARTS = Split((BATCHES[:2], BATCHES[2:4], BATCHES[4:]))

COUNT = (d.Computed("n", "count_all"),)
KEY = (d.Named("k", e.Column("k")),)
LEFT = d.Watermark(d.Scan(S), "ts", 5)
RIGHT = d.Watermark(d.Scan(U), "uts", 2)
SAME_KEY = e.Compare("=", e.Column("k"), e.Column("uk"))
WITHIN = e.Logic(
    "and",
    e.Compare(">=", e.Column("uts"), e.Column("ts")),
    e.Compare("<=", e.Column("uts"), e.Shift(e.Column("ts"), 10)),
)
NEAR = e.Logic("and", SAME_KEY, WITHIN)
IS_A = e.Compare("=", e.Column("k"), e.literal("a"))


def case(network: d.Step, mode: str = "append", split: Split = SPLIT, **data: list[dict[str, object]]) -> Case:
    """A case over the rows above, or others."""
    return Case("by hand", network, {**DATA, **data}, split, mode, False, False, True)  # type: ignore[arg-type]


def joined(how: str, condition: e.Expression = NEAR) -> d.Step:
    """The two streams joined."""
    return d.Join(LEFT, RIGHT, how, (), condition)  # type: ignore[arg-type]


def by_window(step: d.Step, column: str = "ts", *keys: d.Named, size: int = 10, slide: int = 10) -> d.Step:
    """Counted by window."""
    return d.Aggregate(step, COUNT, keys, d.Window(column, size, slide))


def with_window(step: d.Step, column: str) -> d.Step:
    """With the window in place of the time."""
    return d.Drop(d.WindowColumn(step, d.Window(column, 10, 10)), (column,))


def one_by_one(*batches: tuple[int, ...]) -> Split:
    """Batches of the first stream alone."""
    return Split((tuple({"s": (batch,)} for batch in batches),))


FEW = (rows(S, (1, "a", 1), (100, "b", 9), (2, "a", 1), (30, "a", 1)), one_by_one((0, 1), (2,), (3,)))
SESSIONS = (
    rows(
        S,
        *((at, "a", 1) for at in (1, 11, 30, 22, 60, 33, -3, 0)),
        (100, "b", 1),
    ),
    one_by_one((0, 1, 2), (3,), (4,), (5, 6, 7), (8,)),
)
SESSION = d.Aggregate(LEFT, COUNT, KEY, d.Window("ts", gap=10, name="session_window"))
ARRAYS: list[dict[str, object]] = [
    {"ts": 1 * SECOND, "xs": (1, 2)},
    {"ts": 100 * SECOND, "xs": ()},
    {"ts": 90 * SECOND, "xs": None},
    {"ts": 2 * SECOND, "xs": (3, None)},
]
TWICE = Split((({"a": ((0, 1, 2),)}, {"a": ((3,),)}),))
RIGHT_AS_LEFT = d.Select(
    RIGHT, (d.Named("ts", e.Column("uts")), d.Named("k", e.Column("uk")), d.Named("v", e.Column("uv")))
)

QUICK: dict[str, Case] = {
    "a tumbling window drops late rows and null times": case(by_window(LEFT, "ts", *KEY)),
    "a row is late for one sliding window and in time for the next": case(by_window(LEFT, "ts", *KEY, slide=5)),
    "update delivers the groups of the batch": case(by_window(LEFT, "ts", *KEY, slide=5), "update"),
    "complete forgets nothing and drops nothing": case(by_window(LEFT, "ts", *KEY, slide=5), "complete"),
    "sessions merge, late rows never": case(SESSION, split=SESSIONS[1], s=SESSIONS[0]),
    "sessions drop late rows even in complete mode": case(SESSION, "complete", SESSIONS[1], s=SESSIONS[0]),
    "a row joins two sessions": case(
        d.Aggregate(d.Watermark(d.Scan(S), "ts", 30), COUNT, KEY, d.Window("ts", gap=10)),
        split=FEW[1],
        s=rows(S, (1, "a", 1), (15, "a", 2), (9, "a", 3), (80, "a", 4)),
    ),
    "a filter above the watermark is below it": case(by_window(d.Where(LEFT, IS_A)), split=FEW[1], s=FEW[0]),
    "so is a HAVING on a key": case(d.Where(by_window(LEFT, "ts", *KEY), IS_A), split=FEW[1], s=FEW[0]),
    "an explode hides empty arrays from the watermark": case(
        by_window(d.Explode(d.Watermark(d.Scan(A), "ts", 1), "xs", "x")), split=TWICE, a=ARRAYS
    ),
    "chained windows": case(
        d.Aggregate(
            by_window(LEFT, "ts", *KEY),
            (d.Computed("m", "sum", e.Column("n")),),
            (),
            d.Window("window", 20, 20, over="window"),
        )
    ),
    "a key within its watermark is forgotten": case(d.Deduplicate(LEFT, ("k",), True)),
    "a key is forgotten at the very watermark": case(
        d.Deduplicate(LEFT, ("k",), True),
        split=FEW[1],
        s=rows(S, (10, "a", 1), (20, "b", 2), (21, "a", 3), (22, "a", 4)),
    ),
    "a deduplication drops no late row when the event time is not needed": case(
        d.Aggregate(d.Deduplicate(LEFT, ("v",)), COUNT), "complete"
    ),
    "distinct keeps the first, and not the window's end": case(d.Distinct(LEFT)),
    "a global count speaks of nothing, too": case(
        d.Aggregate(d.Where(d.Scan(S), e.Compare(">", e.Column("v"), e.literal(6))), COUNT), "update"
    ),
    "an inner join hides null keys from the watermark": case(joined("inner")),
    "a left join waits": case(joined("left")),
    "a full join lets null meet null": case(joined("full")),
    "a restart forgets what each watermark saw": case(joined("left"), split=RESTARTS),
    "an outer join under a window of the other side is an inner one": case(
        by_window(d.Drop(joined("left"), ("ts",)), "uts", *KEY)
    ),
    "a filter on one side's key is one on the other's": case(
        d.Join(LEFT, d.Where(RIGHT, e.Compare("=", e.Column("uk"), e.literal("a"))), "inner", (), NEAR)
    ),
    "a static side": case(
        by_window(d.Join(LEFT, d.Scan(STATIC), "inner", (), e.Compare("=", e.Column("k"), e.Column("sk"))))
    ),
}

MORE: dict[str, Case] = {
    "a window with an offset": case(d.Aggregate(LEFT, COUNT, (), d.Window("ts", 10, 5, offset=3))),
    "dedup on the time": case(d.Deduplicate(LEFT, ("ts", "k"))),
    "dedup without the time": case(d.Deduplicate(LEFT, ("k",))),
    "dedup, then a filter, which stays above": case(
        by_window(d.Where(d.Deduplicate(LEFT, ("ts", "k")), IS_A)), split=FEW[1], s=FEW[0]
    ),
    "dedup, then windows": case(by_window(d.Deduplicate(LEFT, ("ts", "k")), slide=5)),
    "a window as a column": case(d.WindowColumn(LEFT, d.Window("ts", 10, 5))),
    "dedup, then the event time dropped": case(d.Drop(d.Deduplicate(LEFT, ("v",)), ("ts",))),
    "dedup within, then the event time dropped": case(d.Drop(d.Deduplicate(LEFT, ("v",), True), ("ts",))),
    "dedup, then the event time in a filter only": case(
        d.Drop(d.Where(d.Deduplicate(LEFT, ("v",)), e.Not(e.IsNull(e.Column("ts")))), ("ts",))
    ),
    "dedup in update mode": case(d.Deduplicate(LEFT, ("k",)), "update"),
    "dedup, then a global count": case(d.Aggregate(d.Deduplicate(LEFT, ("k",)), COUNT), "complete"),
    "a global sum over a watermark": case(d.Aggregate(LEFT, (d.Computed("t", "sum", e.Column("v")),)), "update"),
    "outer explode": case(
        by_window(d.Explode(d.Watermark(d.Scan(A), "ts", 1), "xs", "x", True)), split=TWICE, a=ARRAYS
    ),
    "a step with a branch of itself": case(by_window(d.Union((LEFT, d.Where(LEFT, IS_A))))),
    "two watermarks united": case(by_window(d.Union((LEFT, RIGHT_AS_LEFT)))),
    "two watermarks united, with restarts": case(by_window(d.Union((LEFT, RIGHT_AS_LEFT))), split=RESTARTS),
    "a stream with itself": case(
        d.Join(
            LEFT,
            d.Rename(d.Rename(d.Rename(LEFT, "ts", "uts"), "k", "uk"), "v", "uv"),
            "inner",
            (),
            NEAR,
        )
    ),
    "what arrival decides": case(
        d.Aggregate(
            LEFT,
            (
                d.Computed("f", "first", e.Column("v")),
                d.Computed("l", "last", e.Column("v")),
                d.Computed("m", "min_by", e.Column("v"), e.Column("k")),
                d.Computed("c", "collect", e.Column("v")),
                d.Computed("a", "avg", e.Column("v")),
            ),
            (),
            d.Window("ts", 10, 10),
        )
    ),
    "a join in update mode": case(joined("inner"), "update"),
}
for _how in ("inner", "left", "right", "full", "left_semi"):
    MORE[f"{_how} by time range"] = case(joined(_how))
    MORE[f"{_how} by time range, with restarts"] = case(joined(_how), split=RESTARTS)
    MORE[f"{_how} with a bound on a number, which Spark takes for one on time"] = case(
        joined(_how, e.Logic("and", e.Compare(">", e.Column("v"), e.literal(1)), NEAR))
    )
    if _how != "left_semi":
        MORE[f"{_how} by equal times"] = case(
            joined(_how, e.Logic("and", SAME_KEY, e.Compare("=", e.Column("ts"), e.Column("uts"))))
        )
        MORE[f"{_how} using a window"] = case(
            d.Join(with_window(LEFT, "ts"), with_window(RIGHT, "uts"), _how, ("window",))  # type: ignore[arg-type]
        )
        MORE[f"{_how}, a window of the left, unevenly sliding"] = case(
            by_window(d.Drop(joined(_how), ("uts",)), "ts", *KEY, slide=4)
        )
        MORE[f"{_how}, a window of the right"] = case(by_window(d.Drop(joined(_how), ("ts",)), "uts", *KEY))
        MORE[f"{_how}, what is null on the right"] = case(d.Where(joined(_how), e.IsNull(e.Column("uv"))))
        MORE[f"{_how}, a sum of both sides"] = case(
            d.Where(
                joined(_how),
                e.Compare(">", e.Arithmetic("+", e.Column("uv"), e.Column("v")), e.literal(2)),
            )
        )
        MORE[f"{_how}, a key of the left"] = case(d.Where(joined(_how), IS_A))
for _how in ("inner", "left", "left_semi", "left_anti"):
    MORE[f"static {_how}"] = case(
        d.Join(LEFT, d.Scan(STATIC), _how, (), e.Compare("=", e.Column("k"), e.Column("sk")))  # type: ignore[arg-type]
    )
