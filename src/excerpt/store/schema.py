"""The tables of a store, by version: made, brought up step by step, refused where they are newer than this program.

The rows are the truth. Fragments of a vault are a partition of their own, with indexes by words (BM25), by terms (GIN,
for filters, and where the first is damaged) and by meaning (HNSW). What is read of one vault is read from the views of
the schema `excerpt_vault`, which have the tables and columns of an index's catalog.

Each row is of an area: a folder of the vault with rights of its own, or what is in none. Whoever does not own the
tables reads rows of the areas that a role of theirs has the right to, and nothing that is counted over others.
"""

from __future__ import annotations

from excerpt.errors import StoreUnusableError
from excerpt.store.connection import Connection, IndexDamagedError

DIMENSIONS = 256
"""Of the vectors, in the columns of this version."""
ORDINALS = 20
"""Bits of a fragment's key that its ordinal takes; those above are its note's number."""

_OWN = "area = ANY ((SELECT excerpt_vault.areas())::integer[])"
_READ = {
    **dict.fromkeys(("notes", "sections", "fragments", "terms", "links", "labels", "names", "remarks"), _OWN),
    "statistics": _OWN,
    "moves": f"{_OWN} AND {_OWN.replace('area', 'now_in', 1)}",
    "areas": _OWN.replace("area", "id", 1),
    "vaults": "id IN (SELECT vault FROM excerpt.areas)",
    "rights": "false",
}
"""Of each table, which rows those read who do not own it. An area is compared before anything else of a row is seen."""


def _policy(table: str, readable: str) -> str:
    return (
        f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;\n"
        f"CREATE POLICY excerpt_readers ON {table} FOR SELECT USING ({readable});"
    )


_POLICIES = "\n".join(_policy(f"excerpt.{table}", readable) for table, readable in _READ.items())

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
    tokenizer text NOT NULL DEFAULT '');
CREATE TABLE excerpt.areas (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, vault integer NOT NULL REFERENCES excerpt.vaults,
    folder text COLLATE "C" NOT NULL, UNIQUE (vault, folder));
CREATE TABLE excerpt.rights (
    area integer NOT NULL REFERENCES excerpt.areas ON DELETE CASCADE, role name NOT NULL, PRIMARY KEY (area, role));
CREATE TABLE excerpt.statistics (
    area integer NOT NULL REFERENCES excerpt.areas ON DELETE CASCADE, attached boolean NOT NULL,
    fragments bigint NOT NULL, lengths double precision[] NOT NULL, filled bigint[] NOT NULL,
    vectors double precision[] NOT NULL, PRIMARY KEY (area, attached));
CREATE TABLE excerpt.notes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, vault integer NOT NULL REFERENCES excerpt.vaults,
    area integer NOT NULL REFERENCES excerpt.areas, path text COLLATE "C" NOT NULL, state text NOT NULL,
    size bigint NOT NULL, mtime_ns bigint NOT NULL, digest text NOT NULL, title text NOT NULL, language text NOT NULL,
    tokens integer NOT NULL, kind text NOT NULL, text bytea NOT NULL, own integer NOT NULL, lengths bytea NOT NULL,
    terms bytea NOT NULL, files bytea NOT NULL, targets text NOT NULL, UNIQUE (vault, path));
CREATE TABLE excerpt.sections (
    vault integer NOT NULL, area integer NOT NULL, ordinal integer NOT NULL,
    note bigint NOT NULL REFERENCES excerpt.notes ON DELETE CASCADE,
    level integer NOT NULL, heading text NOT NULL, heading_path text NOT NULL, line_start integer NOT NULL,
    line_end integer NOT NULL, place text NOT NULL, PRIMARY KEY (note, ordinal));
CREATE TABLE excerpt.fragments (
    vault integer NOT NULL, key bigint NOT NULL, area integer NOT NULL, attached boolean NOT NULL,
    note bigint NOT NULL REFERENCES excerpt.notes ON DELETE CASCADE,
    id text NOT NULL, ordinal integer NOT NULL, section integer NOT NULL, line_start integer NOT NULL,
    line_end integer NOT NULL, tokens integer NOT NULL, digest text NOT NULL, text text NOT NULL, words text NOT NULL,
    lengths smallint[] NOT NULL, places bytea NOT NULL, vector halfvec({DIMENSIONS}) NOT NULL,
    PRIMARY KEY (vault, key)) PARTITION BY LIST (vault);
CREATE INDEX ON excerpt.fragments (note);
CREATE INDEX ON excerpt.fragments (vault, id);
CREATE INDEX ON excerpt.fragments (area);
CREATE TABLE excerpt.terms (
    vault integer NOT NULL REFERENCES excerpt.vaults, area integer NOT NULL REFERENCES excerpt.areas ON DELETE CASCADE,
    token text COLLATE "C" NOT NULL, term text COLLATE "C" NOT NULL,
    fragments integer NOT NULL, attached integer NOT NULL, notes integer NOT NULL, fields smallint NOT NULL,
    PRIMARY KEY (area, token));
CREATE INDEX ON excerpt.terms (vault, term);
CREATE TABLE excerpt.links (
    rowid bigint GENERATED ALWAYS AS IDENTITY, vault integer NOT NULL, area integer NOT NULL,
    note bigint NOT NULL REFERENCES excerpt.notes ON DELETE CASCADE, line integer NOT NULL, kind text NOT NULL,
    target text NOT NULL, heading text, block_id text, text text);
CREATE INDEX ON excerpt.links (note);
CREATE TABLE excerpt.labels (
    rowid bigint GENERATED ALWAYS AS IDENTITY, vault integer NOT NULL, area integer NOT NULL,
    note bigint NOT NULL REFERENCES excerpt.notes ON DELETE CASCADE, kind text NOT NULL, name text NOT NULL,
    value text NOT NULL);
CREATE INDEX ON excerpt.labels (note);
CREATE TABLE excerpt.names (
    vault integer NOT NULL, area integer NOT NULL, name text COLLATE "C" NOT NULL,
    note bigint NOT NULL REFERENCES excerpt.notes ON DELETE CASCADE);
CREATE INDEX ON excerpt.names (vault, name);
CREATE INDEX ON excerpt.names (note);
CREATE TABLE excerpt.remarks (
    vault integer NOT NULL REFERENCES excerpt.vaults, area integer NOT NULL REFERENCES excerpt.areas ON DELETE CASCADE,
    path text NOT NULL, skipped boolean NOT NULL, reason text NOT NULL);
CREATE TABLE excerpt.moves (
    vault integer NOT NULL REFERENCES excerpt.vaults, area integer NOT NULL REFERENCES excerpt.areas ON DELETE CASCADE,
    now_in integer NOT NULL REFERENCES excerpt.areas ON DELETE CASCADE, path text NOT NULL, became text NOT NULL,
    PRIMARY KEY (vault, path));

CREATE FUNCTION excerpt_vault.number() RETURNS integer STABLE PARALLEL SAFE LANGUAGE sql
    AS $$ SELECT current_setting('excerpt.vault')::integer $$;
CREATE FUNCTION excerpt_vault.last() RETURNS bigint STABLE PARALLEL SAFE LANGUAGE sql
    AS $$ SELECT current_setting('excerpt.last')::bigint $$;
CREATE FUNCTION excerpt_vault.instr(text, text) RETURNS integer IMMUTABLE PARALLEL SAFE LANGUAGE sql
    AS $$ SELECT strpos($1, $2) $$;
CREATE FUNCTION excerpt_vault.areas() RETURNS integer[] STABLE PARALLEL SAFE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp LANGUAGE sql AS $$
    SELECT coalesce(array_agg(a.id), '{{}}') FROM excerpt.areas a,
        (SELECT CASE current_setting('role') WHEN 'none' THEN session_user
            ELSE current_setting('role')::name END) AS u (who)
    WHERE pg_has_role(who, current_user, 'USAGE') OR EXISTS (
        SELECT FROM excerpt.rights r JOIN pg_roles m ON m.rolname = r.role
        WHERE r.area = a.id AND pg_has_role(who, m.oid, 'USAGE')) $$;
CREATE FUNCTION excerpt_vault.matching(vault integer, query text, notes bigint[], keys bigint[], most bigint)
    RETURNS SETOF bigint STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp LANGUAGE plpgsql AS $$
    BEGIN RETURN QUERY EXECUTE format('SELECT key FROM excerpt.fragments_%s
        WHERE to_tsvector(''simple''::regconfig, words) @@ $1::tsquery AND area = ANY($2)
        AND ($3 IS NULL OR note = ANY($3)) AND ($4 IS NULL OR key = ANY($4)) LIMIT $5', vault)
    USING query, excerpt_vault.areas(), notes, keys, most; END $$;
CREATE VIEW excerpt_vault.notes WITH (security_invoker = true) AS
    SELECT id, path, size, mtime_ns, digest, title, language, tokens, kind FROM excerpt.notes
    WHERE vault = excerpt_vault.number() AND id <= excerpt_vault.last();
CREATE VIEW excerpt_vault.note_texts WITH (security_invoker = true) AS
    SELECT id AS note, text FROM excerpt.notes
    WHERE vault = excerpt_vault.number() AND id <= excerpt_vault.last();
CREATE VIEW excerpt_vault.name_terms WITH (security_invoker = true) AS
    SELECT id AS note, own, lengths, terms, files, targets FROM excerpt.notes
    WHERE vault = excerpt_vault.number() AND id <= excerpt_vault.last();
CREATE VIEW excerpt_vault.sections WITH (security_invoker = true) AS
    SELECT * FROM excerpt.sections WHERE vault = excerpt_vault.number() AND note <= excerpt_vault.last();
CREATE VIEW excerpt_vault.links WITH (security_invoker = true) AS
    SELECT * FROM excerpt.links WHERE vault = excerpt_vault.number() AND note <= excerpt_vault.last();
CREATE VIEW excerpt_vault.labels WITH (security_invoker = true) AS
    SELECT * FROM excerpt.labels WHERE vault = excerpt_vault.number() AND note <= excerpt_vault.last();
CREATE VIEW excerpt_vault.names WITH (security_invoker = true) AS
    SELECT name, note FROM excerpt.names WHERE vault = excerpt_vault.number() AND note <= excerpt_vault.last();
CREATE VIEW excerpt_vault.fragments WITH (security_invoker = true) AS
    SELECT key, note, id, ordinal, section, line_start, line_end, tokens, digest, text FROM excerpt.fragments
    WHERE vault = excerpt_vault.number() AND note <= excerpt_vault.last();
CREATE VIEW excerpt_vault.remarks WITH (security_invoker = true) AS
    SELECT path, skipped, reason FROM excerpt.remarks WHERE vault = excerpt_vault.number();
CREATE VIEW excerpt_vault.terms WITH (security_invoker = true) AS
    SELECT term, sum(fragments) AS fragments, sum(attached) AS attached, sum(notes) AS notes, bit_or(fields) AS fields
    FROM excerpt.terms WHERE vault = excerpt_vault.number() GROUP BY term HAVING sum(fragments) > 0;
CREATE VIEW excerpt_vault.moves WITH (security_invoker = true) AS
    SELECT path, became FROM excerpt.moves WHERE vault = excerpt_vault.number();

{_POLICIES}
"""

_VAULT_IDENTITY = """
ALTER TABLE excerpt.vaults ADD COLUMN identity uuid NOT NULL DEFAULT gen_random_uuid();
"""
"""What a copy keeps its record of the last push under: a vault of the same name in a new database is another one."""

STEPS = (_FIRST, _VAULT_IDENTITY)
"""From each version to the next, the first from an empty database."""
VERSION = len(STEPS)

_ALONE = 0x657863657270  # of the advisory lock under which one program at a time changes tables


def prepare(connection: Connection) -> None:
    """Make the tables, or bring them up to this version. Raises StoreUnusableError where they are newer."""
    with connection.transaction():
        connection.rows("SELECT pg_advisory_xact_lock(%s)", _ALONE)
        version = _version(connection)
        for step in STEPS[version:]:
            for statement in filter(str.strip, step.split(";\n")):
                connection.rows(statement)
        if version < VERSION:
            connection.rows("UPDATE excerpt.store SET version = %s", VERSION)


def check(connection: Connection) -> None:
    """Raises StoreUnusableError where there are no tables of this version."""
    version = _version(connection)
    if version == 0:
        raise StoreUnusableError(
            "There is no vault in this database.", "Put one there: `excerpt push VAULT --to ADDRESS`."
        )
    if version < VERSION:
        raise StoreUnusableError(
            "This store was made by an older excerpt.", "`excerpt push` to it once: it brings its tables up."
        )


def _version(connection: Connection) -> int:
    if connection.rows("SELECT to_regclass('excerpt.store') IS NULL")[0][0]:
        return 0
    version = int(connection.rows("SELECT version FROM excerpt.store")[0][0])
    if version > VERSION:
        raise StoreUnusableError(
            f"This store was made by a newer excerpt (its tables are of version {version}, known here are {VERSION}).",
            "Update excerpt.",
        )
    return version


# --- the partition of a vault -----------------------------------------------------------------------------------------


def partition(vault: int) -> str:
    """The table of a vault's fragments."""
    return f"excerpt.fragments_{vault}"


def words_index(vault: int) -> str:
    """The index by words of a vault's fragments."""
    return f"excerpt.words_{vault}"


def make_partition(connection: Connection, vault: int) -> None:
    """Make the table of a vault's fragments, without its indexes: a first push fills it faster so."""
    table = partition(vault)
    if connection.rows("SELECT to_regclass(%s) IS NULL", table)[0][0]:
        connection.rows(f"CREATE TABLE {table} PARTITION OF excerpt.fragments FOR VALUES IN ({vault})")
        # The parent's policy is not asked where a partition is read by its own name.
        for statement in _policy(table, _READ["fragments"]).split(";\n"):
            connection.rows(statement)


_NEIGHBOURS = "m = 12, ef_construction = 40"
"""Of the index by meaning. Of 111,118 fragments it has .915 of the best 250 and .962 of the best 40 after 8 s of
building; pgvector's own (16, 64) .944 and .976 after 14 s, with the same answers in the end."""

_INDEXES = {
    "words": "bm25 (words) WITH (text_config = 'simple')",
    "terms": "gin (to_tsvector('simple'::regconfig, words))",
    "meaning": f"hnsw (vector halfvec_ip_ops) WITH ({_NEIGHBOURS})",
}


def damaged_indexes(connection: Connection, vault: int) -> tuple[str, ...]:
    """Which of the indexes "words", "terms" and "meaning" of a vault's fragments are missing, not whole, or do not
    answer: that by words must find a fragment by its first term."""
    table = partition(vault)
    whole = connection.rows(
        "SELECT relname FROM pg_class JOIN pg_index ON indexrelid = pg_class.oid"
        " WHERE relnamespace = 'excerpt'::regnamespace AND indisvalid AND relname = ANY(%s)",
        [f"{name}_{vault}" for name in _INDEXES],
    )
    damaged = [name for name in _INDEXES if (f"{name}_{vault}",) not in whole]
    first = connection.rows(f"SELECT split_part(words, ' ', 1) FROM {table} WHERE words <> '' LIMIT 1")
    if "words" not in damaged and first:
        try:
            by_words = f"SELECT key FROM {table} ORDER BY words <@> to_bm25query(%s, %s) LIMIT 1"
            (found,) = connection.attempt([(by_words, (first[0][0], words_index(vault)))])
        except IndexDamagedError:
            found = []
        if not found:
            damaged.append("words")
    return tuple(damaged)


def make_indexes(connection: Connection, vault: int) -> None:
    """Make what indexes of a vault's fragments are missing, and anew those that are damaged."""
    for name in damaged_indexes(connection, vault):
        connection.rows(f"DROP INDEX IF EXISTS excerpt.{name}_{vault}")
        connection.rows(f"CREATE INDEX {name}_{vault} ON {partition(vault)} USING {_INDEXES[name]}")
