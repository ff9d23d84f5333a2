"""The tables of a store: create them, upgrade them version by version, refuse tables of a newer version.

A vault is divided into areas: an area is a folder with read rights of its own, or all notes in no such folder. Data of
notes is in tables per area, which are partitions of one table for all areas. A reader has the right to the partitions
of some areas, but not to others nor to the whole tables. So no plan, statistic or index that PostgreSQL shows for a
query covers rows that are hidden from the reader. The fragments of an area have indexes by terms (GIN, for filters)
and by meaning (HNSW), which can be rebuilt from the rows. Postings are rows, written with those of the notes.

Data of vaults and areas is in tables that readers have no right to. The functions of the schema `excerpt_vault` return
the rows that their caller may read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct

from excerpt.base.errors import StoreUnusableError
from excerpt.text.display import visible_line
from excerpt_postgres.connection import StoreConnection
from excerpt_postgres.postings import add_postings, encode_postings

DIMENSIONS = 256
"""Number of dimensions of the vectors in a store."""

CATALOG_COLUMNS: Mapping[str, Sequence[str]] = {
    "notes": (
        *('path text COLLATE "C" NOT NULL', "size int8 NOT NULL", "mtime_ns int8 NOT NULL", "digest text NOT NULL"),
        *("title text NOT NULL", "language text NOT NULL", "tokens int4 NOT NULL", "kind text NOT NULL"),
    ),
    "sections": (
        *("ordinal int4 NOT NULL", "level int4 NOT NULL", "heading text NOT NULL", "heading_path text NOT NULL"),
        *("line_start int4 NOT NULL", "line_end int4 NOT NULL", "place text NOT NULL"),
    ),
    "fragments": (
        *("id text NOT NULL", "ordinal int4 NOT NULL", "section int4 NOT NULL", "line_start int4 NOT NULL"),
        *("line_end int4 NOT NULL", "tokens int4 NOT NULL", "digest text NOT NULL", "text text NOT NULL"),
    ),
    "links": (
        *("line int4 NOT NULL", "kind text NOT NULL", "target text NOT NULL", "heading text", "block_id text"),
        "text text",
    ),
    "labels": ("kind text NOT NULL", "name text NOT NULL", "value text NOT NULL"),
    "names": ('name text COLLATE "C" NOT NULL',),
}
"""Columns that a store has in common with an index's catalog, by table: name, type and constraints of each.

The tables of a store, what a push copies and what a search reads are all derived from these, so that another column of
both is one more entry here.
"""


def catalog_columns(table: str) -> tuple[tuple[str, str], ...]:
    """Return the name and PostgreSQL's type of each of a table's CATALOG_COLUMNS, in order."""
    return tuple((name, kind) for name, kind, *_ in (column.split() for column in CATALOG_COLUMNS[table]))


def catalog_column_names(table: str) -> str:
    """Return the names of a table's CATALOG_COLUMNS as a list in SQL."""
    return ", ".join(name for name, _ in catalog_columns(table))


_CATALOG_COLUMNS_SQL = {table: ", ".join(columns) for table, columns in CATALOG_COLUMNS.items()}
_NOTE_KEY_COLUMNS = "vault int4 NOT NULL, area int4 NOT NULL, note int8 NOT NULL"
_NOTE_FOREIGN_KEY = "FOREIGN KEY (note) REFERENCES {notes} (id) ON DELETE CASCADE"
_AREA_TABLE_DEFINITIONS = {
    "notes": (
        "id bigint GENERATED ALWAYS AS IDENTITY, vault integer NOT NULL, area integer NOT NULL, state text NOT NULL,"
        f" {_CATALOG_COLUMNS_SQL['notes']}, text bytea NOT NULL, own integer NOT NULL, lengths bytea NOT NULL,"
        " terms bytea NOT NULL, files bytea NOT NULL, targets text NOT NULL",
        ("PRIMARY KEY (id)", "UNIQUE (path)"),
        (),
    ),
    "sections": (
        f"{_NOTE_KEY_COLUMNS}, {_CATALOG_COLUMNS_SQL['sections']}",
        ("PRIMARY KEY (note, ordinal)", _NOTE_FOREIGN_KEY),
        (),
    ),
    "fragments": (
        f"{_NOTE_KEY_COLUMNS}, key bigint NOT NULL, attached boolean NOT NULL, {_CATALOG_COLUMNS_SQL['fragments']},"
        " words text NOT NULL, lengths smallint[] NOT NULL,"
        " places bytea NOT NULL, vector bytea NOT NULL",
        ("PRIMARY KEY (key)", _NOTE_FOREIGN_KEY),
        ("note", "id"),
    ),
    "terms": (
        'vault integer NOT NULL, area integer NOT NULL, token text COLLATE "C" NOT NULL,'
        ' term text COLLATE "C" NOT NULL, fragments integer NOT NULL, attached integer NOT NULL,'
        " notes integer NOT NULL, fields smallint NOT NULL",
        ("PRIMARY KEY (token)",),
        ("term",),
    ),
    "postings": (
        'area integer NOT NULL, token text COLLATE "C" NOT NULL, block integer NOT NULL, data bytea NOT NULL',
        ("PRIMARY KEY (token, block)",),
        (),
    ),
    "links": (
        f"rowid bigserial, {_NOTE_KEY_COLUMNS}, {_CATALOG_COLUMNS_SQL['links']}",
        (_NOTE_FOREIGN_KEY,),
        ("note",),
    ),
    "labels": (
        f"rowid bigserial, {_NOTE_KEY_COLUMNS}, {_CATALOG_COLUMNS_SQL['labels']}",
        (_NOTE_FOREIGN_KEY,),
        ("note",),
    ),
    "names": (
        f"{_NOTE_KEY_COLUMNS}, {_CATALOG_COLUMNS_SQL['names']}",
        (_NOTE_FOREIGN_KEY,),
        ("name", "note"),
    ),
}
"""The tables of notes, by name: their columns, and the constraints and indexed columns of their partitions."""
AREA_TABLES = tuple(_AREA_TABLE_DEFINITIONS)

_CREATE_PARENT_TABLES = "\n".join(
    f"CREATE TABLE excerpt.{name} ({columns}) PARTITION BY LIST (area);"
    for name, (columns, _, _) in _AREA_TABLE_DEFINITIONS.items()
)

_FUNCTION_OPTIONS = "STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp LANGUAGE sql"
"""Options of a function that returns the rows that its caller may read, from a table to which the caller has no right.

PostgreSQL plans such a function separately: conditions on its rows are applied only to the returned rows.
"""

_CREATE_TABLES = f"""
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
{_CREATE_PARENT_TABLES}
CREATE FUNCTION excerpt_vault.instr(text, text) RETURNS integer IMMUTABLE PARALLEL SAFE LANGUAGE sql
    AS $$ SELECT strpos($1, $2) $$;
CREATE FUNCTION excerpt_vault.areas() RETURNS TABLE (id integer, vault integer) {_FUNCTION_OPTIONS} AS $$
    SELECT a.id, a.vault FROM excerpt.areas a,
        (SELECT CASE current_setting('role') WHEN 'none' THEN session_user
            ELSE current_setting('role')::name END) AS u (who)
    WHERE has_table_privilege(who, to_regclass('excerpt.notes_' || a.id), 'SELECT') $$;
CREATE FUNCTION excerpt_vault.vaults() RETURNS TABLE (
    id integer, name text, revision bigint, updated text, model text, model_source text, tokenizer text,
    areas integer[]) {_FUNCTION_OPTIONS} AS $$
    SELECT v.id, v.name, v.revision, v.updated, v.model, v.model_source, v.tokenizer, array_agg(a.id ORDER BY a.id)
    FROM excerpt.vaults v JOIN excerpt_vault.areas() a ON a.vault = v.id GROUP BY v.id $$;
CREATE FUNCTION excerpt_vault.statistics(vault integer) RETURNS TABLE (
    area integer, attached boolean, fragments bigint, lengths double precision[], filled bigint[],
    vectors double precision[]) {_FUNCTION_OPTIONS} AS $$
    SELECT s.* FROM excerpt.statistics s JOIN excerpt_vault.areas() a ON a.id = s.area WHERE a.vault = $1 $$;
CREATE FUNCTION excerpt_vault.remarks(vault integer) RETURNS TABLE (path text, skipped boolean, reason text)
    {_FUNCTION_OPTIONS} AS $$
    SELECT r.path, r.skipped, r.reason FROM excerpt.remarks r JOIN excerpt_vault.areas() a ON a.id = r.area
    WHERE r.vault = $1 $$;
CREATE FUNCTION excerpt_vault.moves(vault integer) RETURNS TABLE (path text, became text) {_FUNCTION_OPTIONS} AS $$
    SELECT m.path, m.became FROM excerpt.moves m JOIN excerpt_vault.areas() a ON a.id = m.area
    JOIN excerpt_vault.areas() b ON b.id = m.now_in WHERE m.vault = $1 $$
"""

_CREATE_LOG = f"""
CREATE TABLE excerpt.pushes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, vault integer NOT NULL REFERENCES excerpt.vaults,
    time timestamptz NOT NULL DEFAULT now(), role name NOT NULL DEFAULT session_user, machine text NOT NULL,
    copy text NOT NULL);
CREATE TABLE excerpt.pushed (
    push bigint NOT NULL REFERENCES excerpt.pushes ON DELETE CASCADE,
    area integer NOT NULL REFERENCES excerpt.areas ON DELETE CASCADE, change text NOT NULL, path text NOT NULL);
CREATE INDEX ON excerpt.pushed (push);
CREATE FUNCTION excerpt_vault.pushed(vault integer) RETURNS TABLE (
    push bigint, "time" timestamptz, role name, machine text, copy text, change text, path text)
    {_FUNCTION_OPTIONS} AS $$
    SELECT p.id, p.time, p.role, p.machine, p.copy, n.change, n.path
    FROM excerpt.pushes p JOIN excerpt.pushed n ON n.push = p.id JOIN excerpt_vault.areas() a ON a.id = n.area
    WHERE p.vault = $1 AND (
        SELECT b.id FROM excerpt.areas b WHERE b.vault = $1 AND starts_with(normalize(n.path), b.folder)
        AND (b.folder = '' OR EXISTS (SELECT FROM excerpt.rights r WHERE r.area = b.id))
        ORDER BY length(b.folder) DESC LIMIT 1) IN (SELECT id FROM excerpt_vault.areas()) $$
"""
"""The log of pushes. The name of a note is for who may read the area that it was in, and the one of its folder now."""

_CALLER = "CASE current_setting('role') WHEN 'none' THEN session_user ELSE current_setting('role')::name END"
"""SQL expression of the role whose rights count, in a function that runs with those of its owner."""

MEMORY_WRITERS = ("save_memory", "forget_memory", "restore_memory")
"""The functions that write memories; only their owner and the role that may save memories call them."""

_WRITE_OPTIONS = "VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp LANGUAGE plpgsql"
_MEMORY_LOCK = 0x65786D65  # number of the advisory lock by which only one at a time writes memories of a vault
_BEGIN_WRITING = f"""
#variable_conflict use_column
DECLARE
    caller name := {_CALLER};
    pushes boolean := pg_has_role(caller, (
        SELECT relowner FROM pg_class WHERE oid = 'excerpt.memories'::regclass), 'MEMBER');
    former_path text := '';
    known record;
BEGIN
    PERFORM pg_advisory_xact_lock({_MEMORY_LOCK}, $1);
"""
_CREATE_MEMORIES = (
    """CREATE TABLE IF NOT EXISTS excerpt.memories (
    vault integer NOT NULL REFERENCES excerpt.vaults ON DELETE CASCADE, id text COLLATE "C" NOT NULL,
    version integer NOT NULL, author name NOT NULL, path text NOT NULL, content text NOT NULL,
    replaced_by text NOT NULL DEFAULT '', replaced_at text NOT NULL DEFAULT '',
    saved timestamptz NOT NULL DEFAULT now(), ended timestamptz, PRIMARY KEY (id, version))""",
    "CREATE UNIQUE INDEX IF NOT EXISTS memories_current ON excerpt.memories (id) WHERE ended IS NULL",
    "CREATE INDEX IF NOT EXISTS memories_vault ON excerpt.memories (vault) WHERE ended IS NULL",
    f"""CREATE OR REPLACE FUNCTION excerpt_vault.memories(vault integer) RETURNS TABLE (
    id text, version integer, author name, path text, content text, replaced_by text, replaced_at text)
    {_FUNCTION_OPTIONS} AS $$
    WITH readable AS MATERIALIZED (SELECT a.id FROM excerpt_vault.areas() a WHERE a.vault = $1),
    visible AS MATERIALIZED (
        SELECT m.* FROM excerpt.memories m
        WHERE m.vault = $1 AND m.ended IS NULL AND EXISTS (SELECT FROM readable) AND NOT EXISTS (
            SELECT FROM (
                SELECT m.path UNION ALL SELECT v.became FROM excerpt.moves v WHERE v.vault = $1 AND v.path = m.path
            ) AS p (path)
            WHERE p.path <> '' AND (
                SELECT b.id FROM excerpt.areas b WHERE b.vault = $1 AND starts_with(normalize(p.path), b.folder)
                ORDER BY length(b.folder) DESC LIMIT 1) NOT IN (SELECT id FROM readable)))
    SELECT v.id, v.version, v.author, v.path, v.content, coalesce(s.id, ''),
        CASE WHEN s.id IS NULL THEN '' ELSE v.replaced_at END
    FROM visible v LEFT JOIN visible s ON s.id = v.replaced_by $$""",
    f"""CREATE OR REPLACE FUNCTION excerpt_vault.save_memory(
    vault integer, memory text, version integer, path text, content text, replaces text[])
    RETURNS TABLE (refusal text, saved text) {_WRITE_OPTIONS} AS $$
    {_BEGIN_WRITING}
    IF memory <> '' THEN
        SELECT * INTO known FROM excerpt_vault.memories($1) m WHERE m.id = $2;
        IF known.id IS NULL THEN
            RETURN QUERY SELECT 'missing', $2; RETURN;
        ELSIF known.author <> caller AND NOT pushes THEN
            RETURN QUERY SELECT 'denied', $2; RETURN;
        ELSIF known.version <> $3 THEN
            RETURN QUERY SELECT 'changed', $2; RETURN;
        END IF;
        former_path := known.path;
    ELSIF NOT EXISTS (SELECT FROM excerpt_vault.areas() a WHERE a.vault = $1) THEN
        RETURN QUERY SELECT 'missing', $2; RETURN;
    END IF;
    IF $4 NOT IN ('', former_path) AND NOT EXISTS (
            SELECT FROM excerpt.notes n JOIN excerpt_vault.areas() a ON a.id = n.area
            WHERE n.vault = $1 AND n.path = $4) THEN
        RETURN QUERY SELECT 'source', $4; RETURN;
    END IF;
    FOR known IN SELECT r.id, m.id IS NULL AS is_missing, m.replaced_by FROM unnest($6) r (id)
            LEFT JOIN excerpt_vault.memories($1) m ON m.id = r.id LOOP
        IF known.is_missing THEN
            RETURN QUERY SELECT 'missing', known.id; RETURN;
        ELSIF known.replaced_by NOT IN ('', $2) THEN
            RETURN QUERY SELECT 'replaced', known.replaced_by; RETURN;
        END IF;
    END LOOP;
    IF memory = '' THEN
        memory := 's' || left(replace(gen_random_uuid()::text, '-', ''), 10);
        INSERT INTO excerpt.memories (vault, id, version, author, path, content)
            VALUES ($1, memory, 1, caller, $4, $5);
    ELSIF content IS NOT NULL THEN
        UPDATE excerpt.memories m SET ended = now() WHERE m.id = memory AND m.ended IS NULL;
        INSERT INTO excerpt.memories (vault, id, version, author, path, content, replaced_by, replaced_at)
            SELECT m.vault, m.id, m.version + 1, m.author, $4, $5, m.replaced_by, m.replaced_at
            FROM excerpt.memories m WHERE m.id = memory ORDER BY m.version DESC LIMIT 1;
    END IF;
    IF cardinality($6) > 0 THEN
        UPDATE excerpt.memories m SET replaced_by = '', replaced_at = '' WHERE m.id = memory AND m.ended IS NULL;
        UPDATE excerpt.memories m SET replaced_by = memory,
            replaced_at = to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
            WHERE m.id = ANY ($6) AND m.vault = $1 AND m.ended IS NULL;
    END IF;
    RETURN QUERY SELECT '', memory;
    END $$""",
    f"""CREATE OR REPLACE FUNCTION excerpt_vault.forget_memory(vault integer, memory text, merged_into text)
    RETURNS TABLE (refusal text, saved text) {_WRITE_OPTIONS} AS $$
    {_BEGIN_WRITING}
    SELECT * INTO known FROM excerpt_vault.memories($1) m WHERE m.id = $2;
    IF known.id IS NULL THEN
        RETURN QUERY SELECT 'missing', $2; RETURN;
    ELSIF known.author <> caller AND NOT pushes THEN
        RETURN QUERY SELECT 'denied', $2; RETURN;
    END IF;
    IF coalesce(nullif($3, ''), known.replaced_by) <> '' THEN
        UPDATE excerpt.memories m SET replaced_by = coalesce(nullif($3, ''), known.replaced_by)
            WHERE m.replaced_by = $2 AND m.vault = $1 AND m.id <> coalesce(nullif($3, ''), known.replaced_by);
    END IF;
    UPDATE excerpt.memories m SET ended = now() WHERE m.id = $2 AND m.ended IS NULL;
    RETURN QUERY SELECT '', $2;
    END $$""",
    f"""CREATE OR REPLACE FUNCTION excerpt_vault.restore_memory(vault integer, memory text)
    RETURNS TABLE (refusal text, saved text) {_WRITE_OPTIONS} AS $$
    {_BEGIN_WRITING}
    SELECT m.*, s.author AS successor_author INTO known
        FROM excerpt_vault.memories($1) m LEFT JOIN excerpt_vault.memories($1) s ON s.id = m.replaced_by
        WHERE m.id = $2;
    IF known.id IS NOT NULL THEN
        IF known.replaced_by = '' THEN
            RETURN QUERY SELECT 'current', $2; RETURN;
        ELSIF caller NOT IN (known.author, known.successor_author) AND NOT pushes THEN
            RETURN QUERY SELECT 'denied', $2; RETURN;
        END IF;
        UPDATE excerpt.memories m SET replaced_by = '', replaced_at = '' WHERE m.id = $2 AND m.ended IS NULL;
    ELSE
        UPDATE excerpt.memories m SET ended = NULL WHERE m.id = $2 AND m.vault = $1
            AND m.version = (SELECT max(n.version) FROM excerpt.memories n WHERE n.id = $2)
            AND m.ended IS NOT NULL AND (m.author = caller OR pushes);
        IF NOT FOUND THEN
            RETURN QUERY SELECT 'missing', $2; RETURN;
        END IF;
    END IF;
    RETURN QUERY SELECT '', $2;
    END $$""",
    *(f"REVOKE EXECUTE ON FUNCTION excerpt_vault.{name} FROM PUBLIC" for name in MEMORY_WRITERS),
)
"""The memories that a team shares: each version is a row, and the current one has not ended.

A memory is for who may read the folder of its source, or the one that its source has moved to; one without a source
for all who may read a folder of the vault. An area without rights counts until its notes have left it. Nobody may read
or write the table; a refusal is the same for a hidden memory or note as for one that does not exist.
"""

_LAST_UNSUPPORTED_VERSION = 2
"""The newest version of tables that cannot be upgraded.

Up to it, rights were checked after an index had read the rows, and a query plan showed hidden rows.
"""
_FRAGMENTS_PER_STEP = 10_000
"""Number of fragments of which the postings are written together when a store is upgraded."""


_MIN_SERVER_VERSION = 15
"""The oldest PostgreSQL that a store was tried on."""
_VECTOR_EXTENSION = "vector"
_MIN_EXTENSION_VERSION = (0, 7)
"""The first pgvector that has the type halfvec."""
SET_ROLE_PRIVILEGE = "CASE WHEN current_setting('server_version_num')::integer < 160000 THEN 'MEMBER' ELSE 'SET' END"
"""SQL for the privilege of `pg_has_role` that lets a user switch to a role."""


class Obstacle(Struct):
    """What a database lacks to become a store: the reason, what to do, and the SQL that does it, "" if none does.

    A store also works without what is only `recommended`.
    """

    reason: str
    hint: str
    sql: str = ""
    recommended: bool = False


def find_obstacles(connection: StoreConnection) -> Iterator[Obstacle]:
    """Yield what keeps the user of a connection from making its database a store, or from pushing to the one there."""
    owners = connection.rows(
        f"SELECT pg_get_userbyid(relowner), pg_has_role(relowner, {SET_ROLE_PRIVILEGE}) FROM pg_class"
        " WHERE relname = 'store' AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = 'excerpt')"
    )
    ((version, role, database, may_create),) = connection.rows(
        "SELECT current_setting('server_version_num')::integer / 10000,"
        " quote_ident(current_user), quote_ident(current_database()),"
        " has_database_privilege(current_database(), 'CREATE')"
    )
    for owner, may_push in owners:
        if not may_push:
            yield Obstacle(
                f"The role {role} may not push to this store.",
                f"Let {visible_line(owner)} push with --roles. Then grant excerpt_writer to {role}.",
                f"GRANT {owner} TO {role}" if owner == "excerpt_writer" else "",
            )
            return
    if version < _MIN_SERVER_VERSION:
        yield Obstacle(
            f"The server of this store has PostgreSQL {version}.",
            f"A store needs PostgreSQL {_MIN_SERVER_VERSION} or newer.",
        )
    extension = _find_extension(connection)
    if not extension.is_available:
        yield Obstacle(
            f"The server of this store has no pgvector, so {_COST_WITHOUT_EXTENSION}.",
            f"The package postgresql-{version}-pgvector of apt.postgresql.org, or of Debian from 13 on, has it.",
            recommended=True,
        )
    elif not extension.may_use:
        yield Obstacle(
            f"The role {role} may not create the extension pgvector in the database {database}, so"
            f" {_COST_WITHOUT_EXTENSION}.",
            _SETUP_HINT,
            f"CREATE EXTENSION IF NOT EXISTS {_VECTOR_EXTENSION}",
            recommended=True,
        )
    if not owners and not may_create:
        yield Obstacle(
            f"The role {role} may not create a schema in the database {database}.",
            _SETUP_HINT,
            f"GRANT CREATE ON DATABASE {database} TO {role}",
        )


_COST_WITHOUT_EXTENSION = "each reader loads the vectors of the whole vault, 260 bytes a fragment"
_SETUP_HINT = "`excerpt store setup ADDRESS` prints the SQL for the one who keeps the server."


class _Extension(Struct, frozen=True):
    """Whether the server has a pgvector with halfvec, and whether it is in the database or the user may create it."""

    is_available: bool
    may_use: bool


def _find_extension(connection: StoreConnection) -> _Extension:
    rows = connection.rows(
        "SELECT coalesce(installed_version, default_version), installed_version IS NOT NULL"
        " OR (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)"
        " OR EXISTS (SELECT FROM pg_available_extension_versions v WHERE v.name = e.name AND trusted)"
        " AND has_database_privilege(current_database(), 'CREATE')"
        " FROM pg_available_extensions e WHERE name = %s",
        _VECTOR_EXTENSION,
    )
    for version, may_use in rows:
        if tuple(map(int, version.split(".")[:2])) >= _MIN_EXTENSION_VERSION:
            return _Extension(is_available=True, may_use=bool(may_use))
    return _Extension(is_available=False, may_use=False)


def _create_tables(connection: StoreConnection) -> None:
    for obstacle in find_obstacles(connection):
        if not obstacle.recommended:
            raise StoreUnusableError(obstacle.reason, obstacle.hint)
    _execute_script(connection, _CREATE_TABLES)


_SCALE = (
    "(1 + (get_byte($1, 2) % 128 * 65536 + get_byte($1, 1) * 256 + get_byte($1, 0)) / 8388608::float8)"
    " * power(2::float8, get_byte($1, 3) * 2 + get_byte($1, 2) / 128 - 127)"
)
"""SQL for the positive number in the first four bytes of $1, a float32 with the lowest byte first."""
_USE_HALFVECS = f"""
CREATE EXTENSION IF NOT EXISTS vector SCHEMA public;
CREATE FUNCTION excerpt.to_halfvec(bytea) RETURNS halfvec IMMUTABLE PARALLEL SAFE LANGUAGE sql AS $$
    SELECT array_agg(((get_byte($1, i) + 128) % 256 - 128) * scale ORDER BY i)::real[]::halfvec
    FROM (SELECT {_SCALE}) AS s (scale), generate_series(4, {DIMENSIONS + 3}) AS i $$;
ALTER TABLE excerpt.fragments ALTER COLUMN vector TYPE halfvec({DIMENSIONS}) USING excerpt.to_halfvec(vector);
DROP FUNCTION excerpt.to_halfvec(bytea);
UPDATE excerpt.vaults SET revision = revision + 1
"""
"""Statements that replace vectors in bytes (a scale and int8 components) by pgvector's, which the server compares."""


def has_halfvecs(connection: StoreConnection) -> bool:
    """Return whether the vectors of a store are of pgvector's type, so that the server compares them."""
    ((is_pgvector,),) = connection.rows(
        "SELECT atttypid <> 'bytea'::regtype FROM pg_attribute"
        " WHERE attrelid = 'excerpt.fragments'::regclass AND attname = 'vector'"
    )
    return bool(is_pgvector)


def _create_log(connection: StoreConnection) -> None:
    _execute_script(connection, _CREATE_LOG)


def _execute_script(connection: StoreConnection, script: str) -> None:
    for statement in filter(str.strip, script.split(";\n")):
        connection.rows(statement)


def _add_postings(connection: StoreConnection) -> None:
    """Make the postings of every area from its fragments. Before, an index of the extension pg_textsearch had them."""
    rows = connection.rows
    columns = _AREA_TABLE_DEFINITIONS["postings"][0]
    rows(f"CREATE TABLE IF NOT EXISTS excerpt.postings ({columns}) PARTITION BY LIST (area)")
    for (area,) in rows("SELECT id FROM excerpt.areas WHERE to_regclass('excerpt.notes_' || id) IS NOT NULL"):
        rows(f"DROP INDEX IF EXISTS {index_name('words', area)}")
        create_area(connection, area)
        for (role,) in rows(
            "SELECT grantee::regrole::text FROM pg_class, aclexplode(relacl) WHERE oid = %s::regclass"
            " AND privilege_type = 'SELECT' AND grantee NOT IN (0, relowner)",
            table_name("notes", area),
        ):
            rows(f"GRANT SELECT ON {table_name('postings', area)} TO {role}")
        last = -1
        while fragments := rows(
            f"SELECT key, words, lengths FROM {table_name('fragments', area)} WHERE key > %s ORDER BY key LIMIT %s",
            *(last, _FRAGMENTS_PER_STEP),
        ):
            keys, words, lengths = zip(*fragments, strict=True)
            blocks = encode_postings(keys, words, np.array(lengths, np.int64))
            add_postings(connection, table_name("postings", area), area, blocks)
            last = keys[-1]


def _create_memories(connection: StoreConnection) -> None:
    for statement in _CREATE_MEMORIES:
        connection.rows(statement)


MIGRATIONS = (_create_tables, _create_log, _add_postings, _create_memories)
"""Functions that upgrade the tables by one version each; the first one creates the tables."""
VERSION = _LAST_UNSUPPORTED_VERSION + len(MIGRATIONS)

_SCHEMA_LOCK = 0x657863657270  # number of the advisory lock by which only one process at a time changes tables


def create_or_upgrade(connection: StoreConnection) -> None:
    """Create the tables of a store, or upgrade them, also to pgvector once the server has it.

    Raises StoreUnusableError if their version is newer.
    """
    with connection.transaction():
        connection.rows("SELECT pg_advisory_xact_lock(%s)", _SCHEMA_LOCK)
        version = _version(connection)
        for migration in MIGRATIONS[max(version - _LAST_UNSUPPORTED_VERSION, 0) :]:
            migration(connection)
        if version < VERSION:
            connection.rows("UPDATE excerpt.store SET version = %s", VERSION)
        if not has_halfvecs(connection) and _find_extension(connection).may_use:
            _execute_script(connection, _USE_HALFVECS)


def check(connection: StoreConnection) -> None:
    """Raise StoreUnusableError if the store has no tables, or tables of another version."""
    version = _version(connection)
    if version == 0:
        raise StoreUnusableError(
            "There is no vault in this database.", "Push a vault: `excerpt push VAULT --to ADDRESS`."
        )
    if version < VERSION:
        raise StoreUnusableError(
            "This store was made by an older excerpt.",
            "Run `excerpt push` to this store once: that upgrades its tables.",
        )


def _version(connection: StoreConnection) -> int:
    """Return the version of a store's tables, 0 if there are none. Raises StoreUnusableError if it is unsupported."""
    if connection.rows("SELECT to_regclass('excerpt.store') IS NULL")[0][0]:
        return 0
    version = int(connection.rows("SELECT version FROM excerpt.store")[0][0])
    if version > VERSION:
        raise StoreUnusableError(
            f"This store was made by a newer excerpt (tables of version {version}; this excerpt reads {VERSION}).",
            "Update excerpt.",
        )
    if 0 < version <= _LAST_UNSUPPORTED_VERSION:
        raise StoreUnusableError(
            f"This store was made by an older excerpt (its tables have version {version}) and cannot be upgraded.",
            "Run `DROP SCHEMA excerpt, excerpt_vault CASCADE` in its database. Then push again from each copy that has "
            "notes of its own, with the same --roles and --allow.",
        )
    return version


# --- the tables of an area --------------------------------------------------------------------------------------------


def table_name(name: str, area: int) -> str:
    """Return the qualified name of the table `name` of an area (a folder with rights), such as "excerpt.notes_3"."""
    return f"excerpt.{name}_{area}"


def index_name(name: str, area: int) -> str:
    """Return the qualified name of an index of an area's fragments; `name` is "terms" or "meaning"."""
    return f"{table_name('fragments', area)}_{name}"


def create_area(connection: StoreConnection, area: int) -> None:
    """Create the tables of an area (a folder with its own read rights) if they are missing.

    The indexes of fragments are created after the rows, by `repair_indexes`: that makes the first push faster.
    """
    with connection.transaction():
        for name, (_, constraints, indexes) in _AREA_TABLE_DEFINITIONS.items():
            new_table = table_name(name, area)
            if not connection.rows("SELECT to_regclass(%s) IS NULL", new_table)[0][0]:
                continue
            # CREATE TABLE … PARTITION OF would lock the parent, and wait for other pushes and block them.
            connection.rows(f"CREATE TABLE {new_table} (LIKE excerpt.{name} INCLUDING DEFAULTS)")
            for constraint in constraints:
                connection.rows(f"ALTER TABLE {new_table} ADD {constraint.format(notes=table_name('notes', area))}")
            for column in indexes:
                connection.rows(f"CREATE INDEX ON {new_table} ({column})")
            connection.rows(f"ALTER TABLE excerpt.{name} ATTACH PARTITION {new_table} FOR VALUES IN ({area})")


def drop_area(connection: StoreConnection, area: int) -> None:
    """Delete an area (a folder with its own read rights) with all its tables and rows."""
    with connection.transaction():
        # Lock the parent tables first, as every query does, to avoid deadlocks.
        parents = ", ".join(f"ONLY excerpt.{name}" for name in AREA_TABLES)
        connection.rows(f"LOCK TABLE {parents} IN ACCESS EXCLUSIVE MODE")
        connection.rows(f"DROP TABLE {', '.join(table_name(name, area) for name in AREA_TABLES)}")
        connection.rows("DELETE FROM excerpt.areas WHERE id = %s", area)


_HNSW_OPTIONS = "m = 12, ef_construction = 40"
"""Parameters of the index by meaning.

With 111,118 fragments, the index is built in 8 s and has a recall of .915 of the best 250 and .962 of the best 40.
pgvector's defaults (16, 64) take 14 s and have .944 and .976; the hits of searches are the same.
"""

TERMS_TSVECTOR = "to_tsvector('simple'::regconfig, words)"
"""SQL expression of the terms of a fragment, the same as in the index by terms."""
_INDEX_DEFINITIONS = {
    "terms": f"gin ({TERMS_TSVECTOR})",
    "meaning": f"hnsw (vector halfvec_ip_ops) WITH ({_HNSW_OPTIONS})",
}


def find_damaged_indexes(connection: StoreConnection, areas: Sequence[int]) -> tuple[str, ...]:
    """Return which indexes ("terms", "meaning") are missing or damaged in any of the areas."""
    return tuple(name for name in _INDEX_DEFINITIONS if any(name in _find_damaged(connection, area) for area in areas))


def _find_damaged(connection: StoreConnection, area: int) -> list[str]:
    """Return which indexes of an area are missing or damaged, as `find_damaged_indexes` names them."""
    fragments = table_name("fragments", area)
    whole = connection.rows(
        "SELECT 'excerpt.' || relname FROM pg_class JOIN pg_index ON indexrelid = oid"
        " WHERE indrelid = %s::regclass AND indisvalid",
        fragments,
    )
    damaged = [name for name in _INDEX_DEFINITIONS if (index_name(name, area),) not in whole]
    return [name for name in damaged if name != "meaning" or has_halfvecs(connection)]


_INDEX_MEMORY_KB = 262_144
"""The least memory of the server for building an index, in KB; PostgreSQL's default is a quarter of it."""


def repair_indexes(connection: StoreConnection, areas: Sequence[int]) -> None:
    """Create missing indexes of the fragments of some areas, and rebuild damaged ones."""
    for area in areas:
        for name in _find_damaged(connection, area):
            connection.rows(
                "SELECT set_config(name, %s, false) FROM pg_settings"
                " WHERE name = 'maintenance_work_mem' AND setting::integer < %s",
                *(f"{_INDEX_MEMORY_KB}kB", _INDEX_MEMORY_KB),
            )
            connection.rows(f"DROP INDEX IF EXISTS {index_name(name, area)}")
            bare = index_name(name, area).partition(".")[2]
            connection.rows(f"CREATE INDEX {bare} ON {table_name('fragments', area)} USING {_INDEX_DEFINITIONS[name]}")
