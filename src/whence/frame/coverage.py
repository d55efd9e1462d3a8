"""What of DataFrame is traced, refused or not needed: one table, from which `docs/coverage.md` is generated."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reason:
    """Why a method is not there, and what to do instead."""

    text: str
    hint: str


_ACTION = Reason("it runs a job on the plain result", "write .to_spark() in front of it")
_ORDER = Reason("which rows make a result is not exact under it", "use join or dropDuplicates")
_SQL = Reason("a view or SQL text hides the rows from Whence", "write the same with frame methods")
_UDF = Reason("rows that user code mixes cannot be traced", "use column expressions, scalar UDFs or groupBy().agg()")
_SUBQUERY = Reason("a query inside an expression reads rows unseen", "use join")
_SAMPLE = Reason("a sample is drawn anew at each run", 'use where, as in where("pmod(xxhash64(id), 10) = 0")')
_STATS = Reason("it gives statistics, not rows", "write .to_spark() in front of it")
_GROUPS = Reason("one row enters several kinds of groups", "union several groupBy().agg() instead")
_CACHE = Reason("it pins the plain result, not the traced one", "cache the frame that whence.source is given")
_MOVE = Reason("a V2 writer has no lineage yet", "use .write.lineage(store, name=...).saveAsTable(...)")
_META = Reason("it speaks of the plain result", "write .to_spark() in front of it")

REFUSED: dict[str, Reason] = {
    **dict.fromkeys(
        "collect count first foreach foreachPartition head isEmpty show tail take toArrow toJSON toLocalIterator"
        " toPandas rdd pandas_api plot".split(),
        _ACTION,
    ),
    **dict.fromkeys("exceptAll intersect intersectAll subtract".split(), _ORDER),
    **dict.fromkeys(
        "createGlobalTempView createOrReplaceGlobalTempView createOrReplaceTempView createTempView"
        " registerTempTable".split(),
        _SQL,
    ),
    **dict.fromkeys("mapInArrow mapInPandas".split(), _UDF),
    **dict.fromkeys("asTable exists scalar".split(), _SUBQUERY),
    **dict.fromkeys("approxQuantile corr cov crosstab describe freqItems stat summary".split(), _STATS),
    **dict.fromkeys("cube rollup groupingSets".split(), _GROUPS),
    **dict.fromkeys("cache checkpoint localCheckpoint persist unpersist storageLevel".split(), _CACHE),
    **dict.fromkeys("writeTo mergeInto".split(), _MOVE),
    **dict.fromkeys(
        "inputFiles isLocal sameSemantics semanticHash executionInfo metadataColumn observe colRegex".split(),
        _META,
    ),
    "na": Reason("its methods are on the frame itself", "use fillna, dropna or replace"),
    "offset": Reason("which rows are left out is Spark's choice at each run", "use where"),
    **dict.fromkeys("sample sampleBy randomSplit".split(), _SAMPLE),
    "melt": Reason("one row becomes several without a position", "use F.explode of an array of structs"),
    "unpivot": Reason("one row becomes several without a position", "use F.explode of an array of structs"),
    "transpose": Reason("rows become columns", "write .to_spark() in front of it"),
    "lateralJoin": Reason("it reads other rows for each row", "use join"),
    "nearestByJoin": Reason("it reads other rows for each row", "use join"),
    "zip": Reason("it pairs rows by where they lie", "use join"),
    "zipWithIndex": Reason("it numbers rows by where they lie", "a row's _whence_id in .provenance() names it"),
}
"""Methods that a traced frame refuses, each with its reason."""

NOT_NEEDED = tuple("columns dtypes explain isStreaming printSchema schema sparkSession".split())
"""What speaks of the plain result and needs no tracing: the same as on a DataFrame."""

SINCE = {"nearestByJoin": "4.2", "zipWithIndex": "4.2", "zip": "4.3"}
"""The PySpark that a method came with, where it is younger than the oldest that Whence runs on."""


def reason(name: str) -> Reason | None:
    """Why `name` is not on a traced frame, or None if no DataFrame has it either."""
    return REFUSED.get(name)
