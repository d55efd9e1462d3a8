"""The steps a network is made of: frozen declarations, nothing that runs.

A node holds what the user wrote (`Expr`: an opaque value and its text) and the facts that identity, bounds and checks
need. The rule that turns a node into a DataFrame lives in `weave`; a mode never sees a node.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

Multiplier = Literal["explode", "posexplode", "window"]
IdKind = Literal["file", "kafka", "rate", "key"]


@dataclass(frozen=True)
class Expr:
    """A user's expression: `value` as given (a string or a Column), `text` as it is printed and compared."""

    value: object = field(compare=False, repr=False)
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Window:
    """A window as read from a grouping expression; `size` and `slide` in microseconds, `None` for a dynamic gap."""

    kind: Literal["tumbling", "sliding", "session"]
    size: int | None
    slide: int | None


@dataclass(frozen=True, eq=False)
class Ref:
    """A column that a step names as `frame.x`: `token` stands for it in expressions, `column` is its name in the input.

    Where a join has left two columns of one name, `join` and `side` say which of them is meant.
    """

    token: str
    column: str
    input: int = 0
    join: Node | None = None
    side: int = 0


@dataclass(frozen=True, eq=False)
class Node:
    """One step. `stateful` and `derives_id` say whether it is numbered and recorded with the checkpoint."""

    kind: ClassVar[str] = "step"
    stateful: ClassVar[bool] = False
    inputs: tuple[Node, ...] = ()
    name: str | None = None
    refs: tuple[Ref, ...] = ()

    @property
    def derives_id(self) -> bool:
        """Whether the rows of this step get ids of their own."""
        return False

    @property
    def reach(self) -> int | None:
        """How far, in microseconds of event time, a row of an input can still act here; `None` is without bound."""
        return 0

    @property
    def text(self) -> str:
        """What the user wrote, on one line."""
        return self.kind


@dataclass(frozen=True, eq=False)
class Source(Node):
    """A traced source: where ids come from and what of its rows is kept."""

    kind: ClassVar[str] = "source"
    source: str = ""
    ids: IdKind = "file"
    key: tuple[str, ...] = ()
    salt: str = ""
    keep: Literal["ids", "rows"] = "ids"
    columns: tuple[str, ...] = ()
    keep_for: str | int | None = None
    event_time: str | None = None
    streaming: bool = False
    schema: str = ""
    frame: object = field(default=None, repr=False)

    @property
    def text(self) -> str:
        by = f"key {', '.join(self.key)}" if self.ids == "key" else self.ids
        return f"source {self.source} (ids by {by}{', keeps rows' if self.keep == 'rows' else ''})"


@dataclass(frozen=True, eq=False)
class Untraced(Node):
    """A plain DataFrame joined to a traced one: answers name it, no row of it is ever in an answer."""

    kind: ClassVar[str] = "untraced"
    columns: tuple[str, ...] = ()
    streaming: bool = False
    frame: object = field(default=None, repr=False)

    @property
    def text(self) -> str:
        return f"untraced ({', '.join(self.columns)})"


@dataclass(frozen=True, eq=False)
class Carry(Node):
    """A step that drops, keeps or changes rows one by one: each output row is one input row and keeps its id."""

    kind: ClassVar[str] = "carry"
    verb: str = ""
    args: tuple[object, ...] = ()
    options: tuple[tuple[str, object], ...] = ()
    shown: str = ""

    @property
    def text(self) -> str:
        return f"{self.verb}({self.shown})"


@dataclass(frozen=True, eq=False)
class Project(Node):
    """A select. With a `multiplier` (an explode, or a sliding window) one row becomes several, told apart by it.

    The multiplier is item number `at`, its output `column`; `positioned` is the same item with each element's position.
    """

    kind: ClassVar[str] = "project"
    items: tuple[Expr, ...] = ()
    multiplier: Multiplier | None = None
    column: str = ""
    at: int = -1
    positioned: object = field(default=None, repr=False)
    window: Window | None = None

    @property
    def reach(self) -> int | None:
        return self.window.size if self.window else 0

    @property
    def derives_id(self) -> bool:
        return self.multiplier is not None

    @property
    def text(self) -> str:
        return f"select({', '.join(map(str, self.items))})"


@dataclass(frozen=True, eq=False)
class Union(Node):
    """Rows of both inputs; a row that comes down both branches is two rows."""

    kind: ClassVar[str] = "union"
    by_name: bool = False
    allow_missing: bool = False

    @property
    def derives_id(self) -> bool:
        return True

    @property
    def text(self) -> str:
        return "unionByName" if self.by_name else "union"


@dataclass(frozen=True, eq=False)
class Aggregate(Node):
    """One row a group: every row of the group contributes, whatever the function."""

    kind: ClassVar[str] = "aggregate"
    stateful: ClassVar[bool] = True
    keys: tuple[Expr, ...] = ()
    key_columns: tuple[str, ...] = ()
    aggregates: tuple[Expr, ...] = ()
    window: Window | None = None
    bounded: bool = False

    @property
    def derives_id(self) -> bool:
        return True

    @property
    def reach(self) -> int | None:
        if not self.bounded or (self.window and self.window.kind == "session"):
            return None
        return self.window.size if self.window else 0

    @property
    def text(self) -> str:
        return f"groupBy({', '.join(map(str, self.keys))}).agg({', '.join(map(str, self.aggregates))})"


@dataclass(frozen=True, eq=False)
class Join(Node):
    """Pairs of rows. `span` is the reach of the time condition of a stream-stream join, `None` where there is none."""

    kind: ClassVar[str] = "join"
    stateful: ClassVar[bool] = True
    on: tuple[Expr, ...] = ()
    using: tuple[str, ...] = ()
    how: str = "inner"
    span: int | None = None
    keeps_state: bool = False

    @property
    def derives_id(self) -> bool:
        return self.how not in ("left_semi", "left_anti")

    @property
    def reach(self) -> int | None:
        return self.span if self.keeps_state else 0

    @property
    def text(self) -> str:
        return f"{self.how} join on {', '.join(map(str, self.on or self.using)) or 'nothing'}"


@dataclass(frozen=True, eq=False)
class Dedup(Node):
    """One row of each set of equals survives, and it alone contributes."""

    kind: ClassVar[str] = "dedup"
    stateful: ClassVar[bool] = True
    verb: str = "dropDuplicates"
    subset: tuple[str, ...] = ()
    bounded: bool = False

    @property
    def reach(self) -> int | None:
        return 0 if self.bounded else None

    @property
    def text(self) -> str:
        return f"{self.verb}({', '.join(self.subset)})"
