"""Tests that query plans in PostgreSQL reveal nothing of hidden rows to a reader who sends SQL.

A plan with its estimates and counts must be the same for a value in a hidden row as for a value in no row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from excerpt_postgres import schema
from excerpt_postgres.words import token_of
from tests.store.test_push import vault
from tests.store.test_rights import SECRETS, guarded_addresses, users

__all__ = ["guarded_addresses", "users", "vault"]
pytestmark = pytest.mark.store

SWITCHES = (
    (),
    ("enable_seqscan",),
    ("enable_seqscan", "enable_bitmapscan"),
    ("enable_seqscan", "enable_indexscan", "enable_indexonlyscan"),
    ("enable_indexscan", "enable_indexonlyscan", "enable_bitmapscan"),
    ("enable_sort", "enable_hashagg", "enable_seqscan"),
)
"""Planner methods to disable."""
CONDITIONS = (
    "{column} = {value}",
    "{column} >= {value} AND {column} < {value} || '~'",
    "{column} <= {value}",
    "{column} LIKE {value} || '%'",
    "{column} ILIKE {value} || '%'",
    "starts_with({column}, {value})",
    "{column} ~ ('^' || {value})",
    "{column} IN ({value}, 'none')",
    "{column} > {value} ORDER BY {column} LIMIT 1",
)
TYPES = ("text", "bytea", "bigint")


@dataclass(frozen=True, slots=True)
class Pair:
    """A value of a hidden row and one of no row, as literals, with no visible value between them."""

    hidden: str
    absent: str


class Reader:
    """A reader's connection that asks for plans."""

    def __init__(self, address: str) -> None:
        self.connection = psycopg.connect(address, autocommit=True)

    def plan(self, statement: str) -> object:
        """Execute a statement and return its plan or its error, without times and values."""
        try:
            explain = f"EXPLAIN (ANALYZE, VERBOSE, BUFFERS, SETTINGS, WAL, TIMING OFF, FORMAT JSON) {statement}"
            return _told(self.connection.execute(explain).fetchall()[0][0])
        except psycopg.Error as error:
            return type(error).__name__, _LITERAL.sub("VALUE", str(error).partition("\n")[0])

    def differs(self, statement: str, pair: Pair) -> str:
        """Return how a statement's plans for the hidden and the absent value differ; "" if they do not."""
        asked = [statement.format(value=value) for value in (pair.hidden, pair.absent)]
        plans: list[object] = []
        for _ in range(2):  # the first run also counts pages that the session had not read yet
            plans = [self.plan(one) for one in asked]
            if plans[0] == plans[1]:
                return ""
        return f"{asked[0]}\n{plans[0]}\n{plans[1]}"


_LITERAL = re.compile(r"E?'(?:[^']|'')*'", re.DOTALL)


def _told(plan: Any) -> Any:
    """Return a plan without times, planning statistics and the distinction of cached and read pages."""
    if isinstance(plan, str):
        return _LITERAL.sub("VALUE", plan)
    if isinstance(plan, list):
        return [_told(one) for one in plan]
    if isinstance(plan, dict):
        found = {name: _told(value) for name, value in plan.items() if "Time" not in name and name != "Planning"}
        for place in ("Shared", "Local", "Temp"):
            of_place = [name for name in found if re.fullmatch(f"{place} (Hit|Read) Blocks", name)]
            found[f"{place} Blocks"] = sum(found.pop(name) for name in of_place)
        return found
    return plan


def values(connection: psycopg.Connection[Any], hidden: int) -> dict[tuple[str, str], Pair]:
    """Return a pair of values for each column name and type.

    `hidden` is the id of the area that has the first value of each pair.
    """
    columns = connection.execute(
        "SELECT attname, format_type(atttypid, NULL), array_agg(relname::text ORDER BY relname) FROM pg_attribute"
        " JOIN pg_class c ON c.oid = attrelid WHERE relnamespace = 'excerpt'::regnamespace AND attnum > 0"
        " AND NOT attisdropped AND relname = ANY(%s) GROUP BY 1, 2",
        ([*schema.AREA_TABLES, "remarks", "moves"],),
    ).fetchall()
    found: dict[tuple[str, str], Pair] = {}
    for column, kind, tables in columns:
        if kind in TYPES:
            rows = " UNION ALL ".join(f"SELECT area, {column} AS value FROM excerpt.{table}" for table in tables)
            if pair := _pair(connection, rows, hidden):
                found[column, kind] = pair
    return found


def _pair(connection: psycopg.Connection[Any], rows: str, hidden: int) -> Pair | None:
    """Return a value that only hidden rows have and one that no row has, with no row's value between them."""
    only_hidden = (
        f"SELECT value FROM ({rows}) r WHERE value::text <> '' GROUP BY 1 HAVING bool_and(area = {hidden}) ORDER BY 1"
    )
    for (value,) in connection.execute(only_hidden).fetchall():
        absent, between = _beside(value)
        taken = f"SELECT count(*) FROM ({rows}) r WHERE value = %(b)s{between}"
        ((count,),) = connection.execute(taken, {"a": value, "b": absent}).fetchall()
        if not count:
            return Pair(_literal(value), _literal(absent))
    return None


def _beside(value: Any) -> tuple[Any, str]:
    """Return a value of the same length, and an SQL condition for values between the two."""
    if isinstance(value, int):
        return value + 1_000_003, ""
    if isinstance(value, bytes):
        return value[:-1] + bytes([value[-1] ^ 1]), ""
    at = max(place for place, character in enumerate(value) if character.isalnum())
    other = "y" if value[at] == "z" else "z"
    return value[:at] + other + value[at + 1 :], " OR value > least(%(a)s, %(b)s) AND value < greatest(%(a)s, %(b)s)"


def _literal(value: Any) -> str:
    if isinstance(value, bytes):
        return f"'\\x{value.hex()}'"
    return "'{}'".format(str(value).replace("'", "''"))


def relations(reader: psycopg.Connection[Any]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield every table, view and row-returning function of the store with its columns and their types.

    This includes those that may not be read.
    """
    tables = reader.execute(
        "SELECT format('%I.%I', nspname, relname), array_agg(attname::text ORDER BY attnum),"
        " array_agg(format_type(atttypid, atttypmod) ORDER BY attnum) FROM pg_class c"
        " JOIN pg_namespace n ON n.oid = relnamespace JOIN pg_attribute ON attrelid = c.oid"
        " WHERE nspname IN ('excerpt', 'excerpt_vault') AND relkind IN ('r', 'p', 'v', 'm') AND attnum > 0"
        " AND NOT attisdropped GROUP BY 1 ORDER BY 1"
    ).fetchall()
    functions = reader.execute(
        "SELECT format('excerpt_vault.%I(%s)', proname, CASE WHEN pronargs = 1 THEN '1' END),"
        " proargnames[pronargs + 1:], ARRAY(SELECT format_type(t, NULL) FROM unnest(proallargtypes[pronargs + 1:]) t)"
        " FROM pg_proc WHERE pronamespace = 'excerpt_vault'::regnamespace AND proretset ORDER BY 1"
    ).fetchall()
    assert functions
    for name, columns, kinds in [*tables, *functions]:
        yield name, list(zip(columns, kinds, strict=True))


def statements(relation: str, column: str, kind: str, hidden: int, columns: Sequence[str]) -> Iterator[str]:
    """Yield statements that query a column for a value, with and without a condition on the area."""
    for condition in CONDITIONS if kind == "text" else CONDITIONS[:1]:
        asked = condition.format(column=column, value="{value}")
        yield f"SELECT 1 FROM {relation} WHERE {asked}"
        if "area" in columns:
            yield f"SELECT 1 FROM {relation} WHERE area = {hidden} AND {asked}"
            yield f"SELECT 1 FROM {relation} WHERE area <> {hidden} AND {asked}"
    yield f"SELECT count(*), max({column}::text) FROM {relation} WHERE {column} = {{value}}"


def switch_off(reader: Reader, off: Sequence[str]) -> None:
    reader.connection.execute("RESET ALL")
    for switch in off:
        reader.connection.execute(f"SET {switch} = off")


@pytest.fixture
def hidden(guarded_addresses: dict[str, str], database: str) -> int:
    """Return the id of the area that the reader may not read, in a store with current planner statistics."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("ANALYZE")
        ((area,),) = connection.execute("SELECT id FROM excerpt.areas WHERE folder = 'staff/'").fetchall()
    return int(area)


@pytest.fixture
def reader(guarded_addresses: dict[str, str], users: dict[str, str], hidden: int) -> Iterator[Reader]:
    made = Reader(users["reader"])
    with made.connection:
        yield made


@pytest.fixture
def pairs(database: str, hidden: int) -> dict[tuple[str, str], Pair]:
    with psycopg.connect(database) as connection:
        return values(connection, hidden)


def test_the_plan_of_a_query_does_not_tell_a_hidden_value_from_a_missing_one(
    reader: Reader, pairs: dict[tuple[str, str], Pair], hidden: int
) -> None:
    asked, told = 0, []
    for off in SWITCHES:
        switch_off(reader, off)
        for relation, columns in relations(reader.connection):
            for column, kind in columns:
                if pair := pairs.get((column, kind)):
                    for statement in statements(relation, column, kind, hidden, [name for name, _ in columns]):
                        asked += 1
                        told.append(reader.differs(statement, pair))
    assert not [one for one in told if one][:3]
    assert {"path", "title", "term", "token", "name", "heading", "text", "words", "value"} <= {
        name for name, _ in pairs
    }
    assert asked > 4_000


def test_no_prepared_or_parallel_plan_depends_on_hidden_values(
    reader: Reader, pairs: dict[tuple[str, str], Pair]
) -> None:
    told = []
    for setting in ("plan_cache_mode = force_generic_plan", "debug_parallel_query = regress"):
        switch_off(reader, ["enable_seqscan"])
        for one in (setting, "parallel_setup_cost = 0", "min_parallel_table_scan_size = 0"):
            reader.connection.execute(f"SET {one}")
        for relation, columns in relations(reader.connection):
            for column, _ in columns:
                if pair := pairs.get((column, "text")):
                    asked = f"SELECT {column} FROM {relation} WHERE {column} = $1"
                    try:
                        reader.connection.execute(f"PREPARE asked (text) AS {asked}")
                    except psycopg.Error:
                        continue
                    told.append(reader.differs("EXECUTE asked ({value})", pair))
                    reader.connection.execute("DEALLOCATE asked")
    assert told
    assert not [one for one in told if one][:3]


def test_no_index_of_terms_or_postings_reveals_that_a_hidden_row_has_a_word(reader: Reader, hidden: int) -> None:
    pair = Pair(f"'{token_of('zanzibar')}'", f"'{token_of('zanzibaz')}'")
    areas = [area for (area,) in reader.connection.execute("SELECT id FROM excerpt_vault.areas()").fetchall()]
    assert areas
    assert hidden not in areas
    told = []

    for off in SWITCHES:
        switch_off(reader, off)
        for table in (*areas, hidden):
            fragments = schema.table_name("fragments", table)
            told += [
                reader.differs(
                    f"SELECT key FROM {fragments} WHERE {schema.TERMS_TSVECTOR} @@ {{value}}::tsquery", pair
                ),
                reader.differs(f"SELECT key FROM {fragments} WHERE to_tsvector(words) @@ {{value}}::tsquery", pair),
                reader.differs(
                    f"SELECT block FROM {schema.table_name('postings', table)} WHERE token = {{value}}", pair
                ),
            ]
    assert not [one for one in told if one][:3]


def test_nearest_vectors_are_searched_among_visible_rows_only(reader: Reader, hidden: int) -> None:
    areas = [area for (area,) in reader.connection.execute("SELECT id FROM excerpt_vault.areas()").fetchall()]
    vector = f"'[{','.join(['0.0625'] * schema.DIMENSIONS)}]'::halfvec"
    for area in areas:
        for off in SWITCHES:
            switch_off(reader, off)
            fragments = schema.table_name("fragments", area)
            plan = reader.plan(f"SELECT key FROM {fragments} ORDER BY vector <#> {vector} LIMIT 3")
            assert "Removed" not in str(plan)
            assert f"fragments_{hidden}" not in str(plan)


def test_statistics_of_hidden_rows_are_not_shown(reader: Reader) -> None:
    shown = 0
    for view in ("pg_stats", "pg_stats_ext", "pg_stats_ext_exprs"):
        for (row,) in reader.connection.execute(f"SELECT s::text FROM {view} s").fetchall():
            assert not [secret for secret in SECRETS if secret in row.lower()], row
            shown += "excerpt" in row
    assert shown
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        reader.connection.execute("SELECT * FROM pg_statistic")


def test_an_error_reveals_only_that_a_hidden_table_is_closed(reader: Reader, hidden: int) -> None:
    for name in schema.AREA_TABLES:
        for table in (schema.table_name(name, hidden), f"excerpt.{name}"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied for table"):
                reader.connection.execute(f"SELECT 1 / (length(t::text) - length(t::text)) FROM {table} t")
