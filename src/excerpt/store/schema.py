"""The tables of a store, by version: made, brought up step by step, refused where they are newer than this program.

The rows are the truth. Each row is of an area: a folder of a vault with rights of its own, or what is in none. What is
of notes is kept in tables by area, partitions of one table each: whoever reads has the right to those of some areas,
and none to the others or to what they are partitions of. So no plan, statistic or index that PostgreSQL shows of a
query is over rows that are hidden from who asks. Fragments of an area have indexes by words (BM25), by terms (GIN, for
filters, and where the first is damaged) and by meaning (HNSW).

What is of vaults and areas is in tables that readers have no right to. The functions of the schema `excerpt_vault` give
the rows that the caller may know.
"""

from __future__ import annotations

from collections.abc import Sequence

from excerpt.errors import StoreUnusableError
from excerpt.store.connection import Connection, IndexDamagedError, Statement

DIMENSIONS = 256
"""Of the vectors, in the columns of this version."""
ORDINALS = 20
"""Bits of a fragment's key that its ordinal takes; those above are its note's number."""

_NOTE_KEY = "vault integer NOT NULL, area integer NOT NULL, note bigint NOT NULL"
_CASCADE = "FOREIGN KEY (note) REFERENCES {notes} (id) ON DELETE CASCADE"
_AREA_TABLES = {
    "notes": (
        "id bigint GENERATED ALWAYS AS IDENTITY, vault integer NOT NULL, area integer NOT NULL,"
        ' path text COLLATE "C" NOT NULL, state text NOT NULL, size bigint NOT NULL, mtime_ns bigint NOT NULL,'
        " digest text NOT NULL, title text NOT NULL, language text NOT NULL, tokens integer NOT NULL,"
        " kind text NOT NULL, text bytea NOT NULL, own integer NOT NULL, lengths bytea NOT NULL, terms bytea NOT NULL,"
        " files bytea NOT NULL, targets text NOT NULL",
        ("PRIMARY KEY (id)", "UNIQUE (path)"),
        (),
    ),
    "sections": (
        f"{_NOTE_KEY}, ordinal integer NOT NULL, level integer NOT NULL, heading text NOT NULL,"
        " heading_path text NOT NULL, line_start integer NOT NULL, line_end integer NOT NULL, place text NOT NULL",
        ("PRIMARY KEY (note, ordinal)", _CASCADE),
        (),
    ),
    "fragments": (
        f"{_NOTE_KEY}, key bigint NOT NULL, attached boolean NOT NULL, id text NOT NULL, ordinal integer NOT NULL,"
        " section integer NOT NULL, line_start integer NOT NULL, line_end integer NOT NULL, tokens integer NOT NULL,"
        " digest text NOT NULL, text text NOT NULL, words text NOT NULL, lengths smallint[] NOT NULL,"
        f" places bytea NOT NULL, vector halfvec({DIMENSIONS}) NOT NULL",
        ("PRIMARY KEY (key)", _CASCADE),
        ("note", "id"),
    ),
    "terms": (
        'vault integer NOT NULL, area integer NOT NULL, token text COLLATE "C" NOT NULL,'
        ' term text COLLATE "C" NOT NULL, fragments integer NOT NULL, attached integer NOT NULL,'
        " notes integer NOT NULL, fields smallint NOT NULL",
        ("PRIMARY KEY (token)",),
        ("term",),
    ),
    "links": (
        f"rowid bigint GENERATED ALWAYS AS IDENTITY, {_NOTE_KEY}, line integer NOT NULL, kind text NOT NULL,"
        " target text NOT NULL, heading text, block_id text, text text",
        (_CASCADE,),
        ("note",),
    ),
    "labels": (
        f"rowid bigint GENERATED ALWAYS AS IDENTITY, {_NOTE_KEY}, kind text NOT NULL, name text NOT NULL,"
        " value text NOT NULL",
        (_CASCADE,),
        ("note",),
    ),
    "names": (
        f'{_NOTE_KEY}, name text COLLATE "C" NOT NULL',
        (_CASCADE,),
        ("name", "note"),
    ),
}
"""What is of notes: of each table its columns, and the constraints and indexes of its partitions."""
AREA_TABLES = tuple(_AREA_TABLES)

_PARENTS = "\n".join(
    f"CREATE TABLE excerpt.{name} ({columns}) PARTITION BY LIST (area);"
    for name, (columns, _, _) in _AREA_TABLES.items()
)

_FUNCTION = "STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp LANGUAGE sql"
"""A function that gives of a table, to which its caller has no right, the rows that the caller may know. PostgreSQL
plans it apart: what is asked of its rows is asked when they are there."""

_FIRST = f"""
CREATE EXTENSION IF NOT EXISTS vector;
CREATE EXTENSION IF NOT EXISTS pg_textsearch;
CREATE SCHEMA excerpt;
CREATE SCHEMA excerpt_vault;
CREATE TABLE excerpt.store (version integer NOT NULL);
INSERT INTO excerpt.store VALUES (0);
CREATE TABLE excerpt.vaults (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE, revision bigint NOT NULL DEFAULT 0,
    updated text NOT NULL DEFAULT '', model text NOT NULL DEFAULT '', model_source text NOT NULL DEFAULT '',
    tokenizer text NOT NULL DEFAULT '', identity uuid NOT NULL DEFAULT gen_random_uuid());
CREATE TABLE excerpt.areas (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, vault integer NOT NULL REFERENCES excerpt.vaults,
    folder text COLLATE "C" NOT NULL, UNIQUE (vault, folder));
CREATE TABLE excerpt.rights (
    area integer NOT NULL REFERENCES excerpt.areas ON DELETE CASCADE, role name NOT NULL, PRIMARY KEY (area, role));
CREATE TABLE excerpt.statistics (
    area integer NOT NULL REFERENCES excerpt.areas ON DELETE CASCADE, attached boolean NOT NULL,
    fragments bigint NOT NULL, lengths double precision[] NOT NULL, filled bigint[] NOT NULL,
    vectors double precision[] NOT NULL, PRIMARY KEY (area, attached));
CREATE TABLE excerpt.remarks (
    vault integer NOT NULL REFERENCES excerpt.vaults, area integer NOT NULL REFERENCES excerpt.areas ON DELETE CASCADE,
    path text NOT NULL, skipped boolean NOT NULL, reason text NOT NULL);
CREATE TABLE excerpt.moves (
    vault integer NOT NULL REFERENCES excerpt.vaults, area integer NOT NULL REFERENCES excerpt.areas ON DELETE CASCADE,
    now_in integer NOT NULL REFERENCES excerpt.areas ON DELETE CASCADE, path text NOT NULL, became text NOT NULL,
    PRIMARY KEY (vault, path));
{_PARENTS}
CREATE FUNCTION excerpt_vault.instr(text, text) RETURNS integer IMMUTABLE PARALLEL SAFE LANGUAGE sql
    AS $$ SELECT strpos($1, $2) $$;
CREATE FUNCTION excerpt_vault.areas() RETURNS TABLE (id integer, vault integer) {_FUNCTION} AS $$
    SELECT a.id, a.vault FROM excerpt.areas a,
        (SELECT CASE current_setting('role') WHEN 'none' THEN session_user
            ELSE current_setting('role')::name END) AS u (who)
    WHERE has_table_privilege(who, to_regclass('excerpt.notes_' || a.id), 'SELECT') $$;
CREATE FUNCTION excerpt_vault.vaults() RETURNS TABLE (
    id integer, name text, revision bigint, updated text, model text, model_source text, tokenizer text,
    areas integer[]) {_FUNCTION} AS $$
    SELECT v.id, v.name, v.revision, v.updated, v.model, v.model_source, v.tokenizer, array_agg(a.id ORDER BY a.id)
    FROM excerpt.vaults v JOIN excerpt_vault.areas() a ON a.vault = v.id GROUP BY v.id $$;
CREATE FUNCTION excerpt_vault.statistics(vault integer) RETURNS TABLE (
    area integer, attached boolean, fragments bigint, lengths double precision[], filled bigint[],
    vectors double precision[]) {_FUNCTION} AS $$
    SELECT s.* FROM excerpt.statistics s JOIN excerpt_vault.areas() a ON a.id = s.area WHERE a.vault = $1 $$;
CREATE FUNCTION excerpt_vault.remarks(vault integer) RETURNS TABLE (path text, skipped boolean, reason text)
    {_FUNCTION} AS $$
    SELECT r.path, r.skipped, r.reason FROM excerpt.remarks r JOIN excerpt_vault.areas() a ON a.id = r.area
    WHERE r.vault = $1 $$;
CREATE FUNCTION excerpt_vault.moves(vault integer) RETURNS TABLE (path text, became text) {_FUNCTION} AS $$
    SELECT m.path, m.became FROM excerpt.moves m JOIN excerpt_vault.areas() a ON a.id = m.area
    JOIN excerpt_vault.areas() b ON b.id = m.now_in WHERE m.vault = $1 $$
"""

_REFUSED = 2
"""The last version that cannot be migrated.

Its rows were compared with rights after an index had read them, and a query plan showed hidden ones.
"""
STEPS = (_FIRST,)
"""From each version to the next, the first from an empty database."""
VERSION = _REFUSED + len(STEPS)

_SCHEMA_LOCK = 0x657863657270  # of the advisory lock under which one program at a time changes tables


def prepare(connection: Connection) -> None:
    """Make the tables, or bring them up to this version. Raises StoreUnusableError where they are newer."""
    with connection.transaction():
        connection.rows("SELECT pg_advisory_xact_lock(%s)", _SCHEMA_LOCK)
        version = _version(connection)
        for step in STEPS[max(version - _REFUSED, 0) :]:
            for statement in filter(str.strip, step.split(";\n")):
                connection.rows(statement)
        if version < VERSION:
            connection.rows("UPDATE excerpt.store SET version = %s", VERSION)


def check(connection: Connection) -> None:
    """Raise StoreUnusableError if there are no tables of this version."""
    version = _version(connection)
    if version == 0:
        raise StoreUnusableError("There is no vault in this database.", "Push one: `excerpt push VAULT --to ADDRESS`.")
    if version < VERSION:
        raise StoreUnusableError(
            "This store was made by an older excerpt.", "Run `excerpt push` to it once: that upgrades its tables."
        )


def _version(connection: Connection) -> int:
    if connection.rows("SELECT to_regclass('excerpt.store') IS NULL")[0][0]:
        return 0
    version = int(connection.rows("SELECT version FROM excerpt.store")[0][0])
    if version > VERSION:
        raise StoreUnusableError(
            f"This store was made by a newer excerpt (tables of version {version}; this excerpt reads {VERSION}).",
            "Update excerpt.",
        )
    if 0 < version <= _REFUSED:
        raise StoreUnusableError(
            f"This store was made by an older excerpt (its tables have version {version}) and cannot be upgraded.",
            "Run `DROP SCHEMA excerpt, excerpt_vault CASCADE`. Then push again from each copy that has notes of its "
            "own, with the same --roles and --allow.",
        )
    return version


# --- the tables of an area --------------------------------------------------------------------------------------------


def table(name: str, area: int) -> str:
    """Return the table of an area, by the name of that of all areas."""
    return f"excerpt.{name}_{area}"


def index(name: str, area: int) -> str:
    """Return an index of an area's fragments: that by "words", by "terms" or by "meaning"."""
    return f"{table('fragments', area)}_{name}"


def make_area(connection: Connection, area: int) -> None:
    """Create the tables of an area, without the indexes of fragments: a first push is faster so."""
    if not connection.rows("SELECT to_regclass(%s) IS NULL", table("notes", area))[0][0]:
        return
    with connection.transaction():
        for name, (_, constraints, indexes) in _AREA_TABLES.items():
            new_table = table(name, area)
            # To make it as a partition would wait for, and hold up, all that is pushed meanwhile.
            connection.rows(f"CREATE TABLE {new_table} (LIKE excerpt.{name} INCLUDING DEFAULTS)")
            for constraint in constraints:
                connection.rows(f"ALTER TABLE {new_table} ADD {constraint.format(notes=table('notes', area))}")
            for column in indexes:
                connection.rows(f"CREATE INDEX ON {new_table} ({column})")
            connection.rows(f"ALTER TABLE excerpt.{name} ATTACH PARTITION {new_table} FOR VALUES IN ({area})")


def drop_area(connection: Connection, area: int) -> None:
    """Forget an area with all that is in it."""
    with connection.transaction():
        # Those that they are partitions of first, as every query locks them: no two wait for each other.
        parents = ", ".join(f"ONLY excerpt.{name}" for name in AREA_TABLES)
        connection.rows(f"LOCK TABLE {parents} IN ACCESS EXCLUSIVE MODE")
        connection.rows(f"DROP TABLE {', '.join(table(name, area) for name in AREA_TABLES)}")
        connection.rows("DELETE FROM excerpt.areas WHERE id = %s", area)


_NEIGHBOURS = "m = 12, ef_construction = 40"
"""Of the index by meaning. Of 111,118 fragments it has .915 of the best 250 and .962 of the best 40 after 8 s of
building; pgvector's own (16, 64) .944 and .976 after 14 s, with the same answers in the end."""

TOKENS = "to_tsvector('simple'::regconfig, words)"
"""The terms of a fragment, as the index by terms has them."""
_INDEXES = {
    "words": "bm25 (words) WITH (text_config = 'simple')",
    "terms": f"gin ({TOKENS})",
    "meaning": f"hnsw (vector halfvec_ip_ops) WITH ({_NEIGHBOURS})",
}


def damaged_indexes(connection: Connection, areas: Sequence[int]) -> tuple[str, ...]:
    """Return which of the indexes "words", "terms" and "meaning" of some areas are missing or damaged.

    The index by words must find a fragment by its first term.
    """
    return tuple(name for name in _INDEXES if any(name in _damaged(connection, area) for area in areas))


def _damaged(connection: Connection, area: int) -> list[str]:
    fragments = table("fragments", area)
    whole = connection.rows(
        "SELECT 'excerpt.' || relname FROM pg_class JOIN pg_index ON indexrelid = oid"
        " WHERE indrelid = %s::regclass AND indisvalid",
        fragments,
    )
    damaged = [name for name in _INDEXES if (index(name, area),) not in whole]
    first = connection.rows(f"SELECT split_part(words, ' ', 1) FROM {fragments} WHERE words <> '' LIMIT 1")
    if "words" not in damaged and first:
        by_words = f"SELECT key FROM {fragments} ORDER BY words <@> to_bm25query(%s, %s) LIMIT 1"
        statement: Statement = by_words, (first[0][0], index("words", area))
        try:
            (row_count,) = connection.attempt([statement])
        except IndexDamagedError:
            row_count = []
        if not row_count:
            damaged.append("words")
    return damaged


def make_indexes(connection: Connection, areas: Sequence[int]) -> None:
    """Make what indexes of some areas' fragments are missing, and again those that are damaged."""
    for area in areas:
        for name in _damaged(connection, area):
            connection.rows(f"DROP INDEX IF EXISTS {index(name, area)}")
            bare = index(name, area).partition(".")[2]
            connection.rows(f"CREATE INDEX {bare} ON {table('fragments', area)} USING {_INDEXES[name]}")
