"""The roles of a store: who may push, and who may read.

`excerpt_writer` owns the tables and what is made later, so that what one member pushed another brings up to date.
`excerpt_reader` reads all vaults. Neither can log in: roles of people are made members of them. They are roles of the
server, so a member has the same right in every store there that was given these roles.
"""

from __future__ import annotations

from excerpt.errors import StoreUnusableError
from excerpt.store.connection import Connection

WRITER = "excerpt_writer"
READER = "excerpt_reader"

_SCHEMAS = "'excerpt'::regnamespace, 'excerpt_vault'::regnamespace"
_OWNED = f"""
SELECT format('ALTER %s %s OWNER TO {WRITER}', CASE relkind WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END, oid::regclass)
FROM pg_class WHERE relnamespace IN ({_SCHEMAS}) AND relkind IN ('r', 'p', 'v') AND relowner <> '{WRITER}'::regrole
UNION ALL
SELECT format('ALTER ROUTINE %s OWNER TO {WRITER}', oid::regprocedure)
FROM pg_proc WHERE pronamespace IN ({_SCHEMAS}) AND proowner <> '{WRITER}'::regrole
"""
"""What gives the writers each table, view and function that is not theirs yet."""


def act_as_owner(connection: Connection) -> None:
    """Act as the role that the tables belong to, where the user is a member of it: what is made then is its too."""
    ((owner,),) = connection.rows(
        "SELECT quote_ident(min(pg_get_userbyid(relowner))) FROM pg_class WHERE oid = to_regclass('excerpt.store')"
        " AND relowner <> current_user::regrole AND pg_has_role(relowner, 'SET')"
        " AND NOT (SELECT rolsuper FROM pg_roles WHERE oid = relowner)"
    )
    if owner is not None:
        connection.rows(f"SET ROLE {owner}")


def make_roles(connection: Connection) -> None:
    """Make both roles, as far as they are missing, and give them this store, whose tables are there. Raises
    StoreUnusableError where the user may not."""
    rows = connection.rows
    with connection.transaction():
        rows("RESET ROLE")
        there = {row[0] for row in rows("SELECT rolname FROM pg_roles WHERE rolname IN (%s, %s)", WRITER, READER)}
        ((may_make,),) = rows("SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user")
        missing = [role for role in (WRITER, READER) if role not in there]
        if missing and not may_make:
            raise StoreUnusableError(
                f"The user of this address may not make the role {missing[0]}.",
                "Let who keeps the server do it: `ALTER ROLE user CREATEROLE`.",
            )
        for role in missing:
            rows(f"CREATE ROLE {role} NOLOGIN")
        if not rows("SELECT pg_has_role(%s, 'SET') AND pg_has_role(%s, 'USAGE')", WRITER, WRITER)[0][0]:
            rows(f"GRANT {WRITER} TO CURRENT_USER WITH INHERIT TRUE, SET TRUE")
        ((schemas_owner,),) = rows("SELECT pg_has_role(nspowner, 'USAGE') FROM pg_namespace WHERE nspname = 'excerpt'")
        if schemas_owner:
            rows(f"GRANT USAGE, CREATE ON SCHEMA excerpt, excerpt_vault TO {WRITER}")
            rows(f"GRANT USAGE ON SCHEMA excerpt, excerpt_vault TO {READER}")
        for (statement,) in rows(_OWNED):
            rows(statement)
        rows(f"SET LOCAL ROLE {WRITER}")
        rows(f"GRANT SELECT ON ALL TABLES IN SCHEMA excerpt, excerpt_vault TO {READER}")
        # Of vaults that are pushed later, and of what a newer version makes.
        for schema in ("excerpt", "excerpt_vault"):
            rows(f"ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT SELECT ON TABLES TO {READER}")
