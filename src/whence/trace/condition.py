"""A `where`: one SQL expression over a row's own columns. Nothing in it can reach a file or run a statement."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb

from whence.errors import BadInputError

_HINT = 'write one condition over the row\'s own columns, such as "car_id = 7 and speed > 50"'
_ALLOWED = {
    "COLUMN_REF", "CONSTANT", "COMPARISON", "CONJUNCTION", "FUNCTION", "OPERATOR", "CAST", "BETWEEN", "CASE",
    "COLLATE", "LAMBDA", "LAMBDA_REF", "TYPE",
}  # fmt: skip
_BARRED = {
    "getenv", "getvariable", "current_setting", "nextval", "currval", "current_query", "current_database",
    "current_schema", "current_schemas", "current_user", "session_user", "user", "version", "txid_current",
    "write_log", "query", "query_table", "in_search_path", "pg_typeof", "current_catalog", "current_role", "setseed",
    "read_text", "read_blob", "random", "uuid", "gen_random_uuid", "uuidv4", "uuidv7", "sleep_ms", "setval", "stats",
    "vector_type", "current_connection_id", "current_query_id", "current_transaction_id", "error",
}  # fmt: skip
_WHOLE = "whence_where"


def checked(where: str, columns: Sequence[str]) -> str:
    """The expression, ready to stand in parentheses behind WHERE; anything else is an error that says why."""
    text = where.strip()
    if not text:
        raise BadInputError("the where is empty", hint=_HINT)
    node = _parsed(text)
    for part in _walk(_whole(text, node["where_clause"])):
        kind = part.get("class")
        if kind == "SUBQUERY":
            raise _bad(text, "a query inside it could read anything")
        if kind == "FUNCTION" and str(part.get("function_name", "")).lower() in _BARRED:
            raise _bad(text, f"function {part['function_name']} is not a function of the row")
        if kind is not None and kind not in _ALLOWED:
            raise _bad(text, f"{kind.lower()} is not a condition on one row")
        if kind == "COLUMN_REF":
            _check_column(part["column_names"], columns, node)
    return text


def _parsed(text: str) -> dict[str, Any]:
    statement_text = f"SELECT 1 FROM t WHERE {_WHOLE}({text}\n)"
    with duckdb.connect() as connection:
        row = connection.execute("SELECT json_serialize_sql(?)", [statement_text]).fetchone()
    assert row is not None
    answer = json.loads(row[0])
    if answer.get("error"):
        raise BadInputError("the where is not SQL", f"{text}: {answer.get('error_message', '')}", _HINT)
    (statement,) = answer["statements"] if len(answer["statements"]) == 1 else ({"node": {}},)
    node: dict[str, Any] = statement["node"]
    plain = (
        node.get("type") == "SELECT_NODE"
        and not node.get("group_expressions")
        and node.get("having") is None
        and node.get("qualify") is None
        and not node.get("modifiers")
        and node.get("sample") is None
        and node.get("where_clause") is not None
    )
    if not plain:
        raise _bad(text, "it is more than one condition")
    return node


def _whole(text: str, clause: dict[str, Any]) -> dict[str, Any]:
    """The expression inside the call that it was parsed in: it must not close the call's parentheses itself."""
    given = clause.get("arguments") or clause.get("children") or []
    one = clause.get("class") == "FUNCTION" and clause.get("function_name") == _WHOLE and len(given) == 1
    more = clause.get("filter") or clause.get("distinct") or (clause.get("order_bys") or {}).get("orders")
    if not one or more or given[0].get("name"):
        raise _bad(text, "it is not one expression")
    expression: dict[str, Any] = given[0].get("expression", given[0])
    return expression


def _walk(part: Any) -> Iterator[dict[str, Any]]:
    if isinstance(part, dict):
        yield part
        for value in part.values():
            yield from _walk(value)
    elif isinstance(part, list):
        for value in part:
            yield from _walk(value)


def _check_column(names: list[str], columns: Sequence[str], node: dict[str, Any]) -> None:
    known = {column.lower() for column in columns}
    bound = {name.lower() for part in _walk(node) if part.get("class") == "LAMBDA" for name in _lambda_names(part)}
    if names[0].lower() in known | bound:
        return
    close = difflib.get_close_matches(names[0], columns, 1)
    hint = f'did you mean "{close[0]}"?' if close else "strings are written in single quotes, columns in none"
    raise BadInputError(f'the where asks for column "{".".join(names)}"', f"the row has {', '.join(columns)}", hint)


def _lambda_names(part: dict[str, Any]) -> list[str]:
    left = part.get("lhs") or part.get("named_parameters") or {}
    return [name for p in _walk(left) for name in p.get("column_names", [])]


def _bad(text: str, why: str) -> BadInputError:
    return BadInputError("the where is not a condition on one row", f"{text}: {why}", _HINT)
