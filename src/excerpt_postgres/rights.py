"""The rights of a store: which PostgreSQL roles may push, and which may read which parts of a vault.

The role `excerpt_writer` owns all tables, also future ones, so that each of its members can update what another member
pushed. The role `excerpt_reader` may read, and `excerpt_memories` may share memories about what its members read. None
can log in: the roles of people are made members of them. Roles belong to the server, so a member has the same rights in
every store on the server where `create_roles` was called.

Read rights are given by folder. A folder that has rights of its own is an area of the vault. A note belongs to the
area of its innermost such folder, and roles with a right to the area may read the note. The area "" has all other
notes; at first, `excerpt_reader` may read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING
from unicodedata import normalize

from excerpt.base.errors import StoreUnusableError
from excerpt.base.model import FolderRights
from excerpt_postgres import schema
from excerpt_postgres.read_rights import RightsChanges

if TYPE_CHECKING:
    from excerpt_postgres.connection import StoreConnection

WRITER = "excerpt_writer"
READER = "excerpt_reader"
MEMORIES = "excerpt_memories"
_ROLES = (WRITER, READER, MEMORIES)

_SCHEMAS = "'excerpt'::regnamespace, 'excerpt_vault'::regnamespace"
_CHANGE_OWNERS = f"""
SELECT format('ALTER %s %s OWNER TO {WRITER}', CASE relkind WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END, oid::regclass)
FROM pg_class WHERE relnamespace IN ({_SCHEMAS}) AND relkind IN ('r', 'p', 'v') AND relowner <> '{WRITER}'::regrole
UNION ALL
SELECT format('ALTER ROUTINE %s OWNER TO {WRITER}', oid::regprocedure)
FROM pg_proc WHERE pronamespace IN ({_SCHEMAS}) AND proowner <> '{WRITER}'::regrole
"""
"""A query that returns statements: each makes `excerpt_writer` the owner of a table, view or function."""


def find_obstacles(connection: StoreConnection) -> Iterator[schema.Obstacle]:
    """Yield what keeps the user of a connection from creating roles for others or, if others push, sharing memories."""
    ((role, can_create, existing, may_push, may_share),) = connection.rows(
        "SELECT quote_ident(current_user),"
        " (SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user),"
        " ARRAY(SELECT rolname::text FROM pg_roles WHERE rolname = ANY (%s)),"
        f" (SELECT bool_and(pg_has_role(relowner, {schema.SET_ROLE_PRIVILEGE})) FROM pg_class c JOIN pg_namespace n"
        " ON n.oid = relnamespace WHERE relname = 'store' AND nspname = 'excerpt'),"
        " (SELECT bool_and(has_function_privilege(p.oid, 'EXECUTE')) FROM pg_proc p JOIN pg_namespace n"
        " ON n.oid = pronamespace WHERE proname = ANY (%s) AND nspname = 'excerpt_vault')",
        *([*_ROLES], [*schema.MEMORY_WRITERS]),
    )
    if may_push is False and not may_share:
        yield schema.Obstacle(
            f"The role {role} may not share memories in this store.",
            f"Push to it with --roles. Then grant {MEMORIES} to {role}.",
            f"GRANT {MEMORIES} TO {role}" if MEMORIES in existing else "",
            recommended=True,
        )
    elif may_push is not False and len(existing) < len(_ROLES) and not can_create:
        yield schema.Obstacle(
            f"The role {role} may not create the roles by which others push, read and share memories"
            f" ({', '.join(_ROLES)}).",
            "",
            f"ALTER ROLE {role} CREATEROLE",
            recommended=True,
        )


def assume_owner_role(connection: StoreConnection) -> None:
    """Switch to the role that owns the tables if the user is a member of it, so that it also owns new tables."""
    ((owner,),) = connection.rows(
        "SELECT quote_ident(min(pg_get_userbyid(relowner))) FROM pg_class WHERE oid = to_regclass('excerpt.store')"
        " AND relowner <> (SELECT oid FROM pg_roles WHERE rolname = current_user)"
        f" AND pg_has_role(relowner, {schema.SET_ROLE_PRIVILEGE})"
        " AND NOT (SELECT rolsuper FROM pg_roles WHERE oid = relowner)"
    )
    if owner is not None:
        connection.rows(f"SET ROLE {owner}")


def create_roles(connection: StoreConnection) -> None:
    """Create the roles of writers, readers and savers of memories if they are missing; give them access to this store.

    The tables must exist. Raises StoreUnusableError if the user may not create roles.
    """
    rows = connection.rows
    with connection.transaction():
        rows("RESET ROLE")
        existing = {row[0] for row in rows("SELECT rolname FROM pg_roles WHERE rolname = ANY (%s)", [*_ROLES])}
        ((can_create, has_grant_options),) = rows(
            "SELECT rolsuper OR rolcreaterole, current_setting('server_version_num')::integer >= 160000"
            " FROM pg_roles WHERE rolname = current_user"
        )
        missing = [role for role in _ROLES if role not in existing]
        if missing and not can_create:
            raise StoreUnusableError(
                f"The user of this address may not create the role {missing[0]}.",
                "Ask the server's administrator to run `ALTER ROLE user CREATEROLE`.",
            )
        for role in missing:
            rows(f"CREATE ROLE {role} NOLOGIN")
        may_set = f"pg_has_role('{WRITER}', {schema.SET_ROLE_PRIVILEGE})"
        if not rows(f"SELECT {may_set} AND pg_has_role('{WRITER}', 'USAGE')")[0][0]:
            rows(f"GRANT {WRITER} TO CURRENT_USER" + (" WITH INHERIT TRUE, SET TRUE" if has_grant_options else ""))
        ((schemas_owner,),) = rows("SELECT pg_has_role(nspowner, 'USAGE') FROM pg_namespace WHERE nspname = 'excerpt'")
        if schemas_owner:
            rows(f"GRANT USAGE ON SCHEMA excerpt, excerpt_vault TO {WRITER} WITH GRANT OPTION")
            rows(f"GRANT CREATE ON SCHEMA excerpt, excerpt_vault TO {WRITER}")
        for (statement,) in rows(_CHANGE_OWNERS):
            rows(statement)
        rows(f"SET LOCAL ROLE {WRITER}")
        _grant_connect(connection, READER)
        functions = ", ".join(f"excerpt_vault.{name}" for name in schema.MEMORY_WRITERS)
        rows(f"GRANT EXECUTE ON FUNCTION {functions} TO {MEMORIES}")
        for (area,) in rows("SELECT area FROM excerpt.rights WHERE role = %s", READER):
            _grant_read(connection, READER, area)


def _grant_connect(connection: StoreConnection, role: str) -> None:
    """Grant a role the use of the store's schemas and the right to read the store's version."""
    ((quoted,),) = connection.rows("SELECT quote_ident(%s)", role)
    connection.rows(f"GRANT USAGE ON SCHEMA excerpt, excerpt_vault TO {quoted}")
    connection.rows(f"GRANT SELECT ON excerpt.store TO {quoted}")


def _grant_read(connection: StoreConnection, role: str, area: int) -> None:
    """Grant a role the right to read the tables of an area (a folder with its own rights)."""
    ((quoted,),) = connection.rows("SELECT quote_ident(%s)", role)
    connection.rows(f"GRANT SELECT ON {_area_tables(area)} TO {quoted}")


def _revoke_read(connection: StoreConnection, role: str, area: int) -> None:
    """Revoke the right of a role to read the tables of an area (a folder with its own rights)."""
    if _is_role(connection, role):
        ((quoted,),) = connection.rows("SELECT quote_ident(%s)", role)
        connection.rows(f"REVOKE SELECT ON {_area_tables(area)} FROM {quoted}")


def _area_tables(area: int) -> str:
    return ", ".join(schema.table_name(name, area) for name in schema.AREA_TABLES)


def _is_role(connection: StoreConnection, role: str) -> bool:
    return bool(connection.rows("SELECT 1 FROM pg_roles WHERE rolname = %s", role))


# --- folders ----------------------------------------------------------------------------------------------------------


class AreaNumbers:
    """The numbers of a vault's areas (folders with rights), by folder."""

    def __init__(self, connection: StoreConnection, vault: int) -> None:
        self._numbers: dict[str, int] = dict(
            connection.rows(
                "SELECT folder, id FROM excerpt.areas WHERE vault = %s"
                " AND (folder = '' OR EXISTS (SELECT FROM excerpt.rights WHERE area = id))",
                vault,
            )
        )

    def number_of(self, path: str) -> int:
        """Return the number of the area of a note's path: the innermost folder of the path that has rights."""
        folder = normalize("NFC", path)
        while folder:
            folder = folder[: folder.rstrip("/").rfind("/") + 1]
            if folder in self._numbers:
                return self._numbers[folder]
        return self._numbers[""]


def create_default_rights(connection: StoreConnection, vault: int) -> None:
    """Create the area "" of a new vault, and let all readers read it; does nothing if the area exists."""
    area_rows = connection.rows(
        "INSERT INTO excerpt.areas (vault, folder) VALUES (%s, '') ON CONFLICT DO NOTHING RETURNING id", vault
    )
    for (area,) in area_rows:
        schema.create_area(connection, area)
        connection.rows("INSERT INTO excerpt.rights VALUES (%s, %s)", area, READER)
        if _has_store_access(connection, READER):
            _grant_read(connection, READER, area)


def _has_store_access(connection: StoreConnection, role: str) -> bool:
    """Return whether a role may use this store's schemas; it may exist only for other databases of the server."""
    return _is_role(connection, role) and bool(
        connection.rows("SELECT has_schema_privilege(%s, 'excerpt_vault', 'USAGE')", role)[0][0]
    )


def change_rights(connection: StoreConnection, vault: int, changes: RightsChanges, paths: Sequence[str]) -> None:
    """Grant and revoke rights to folders of a vault; `paths` are the paths of its notes.

    Raises StoreUnusableError for an unknown role or folder, because a misspelt folder would stay readable.
    """
    rows = connection.rows
    with connection.transaction():
        for right in changes.allowed:
            if not _is_role(connection, right.role):
                raise StoreUnusableError(
                    f"There is no role {right.role} on the server.", f"Create it: `CREATE ROLE {right.role}`."
                )
            if not any(normalize("NFC", path).startswith(right.folder) for path in paths):
                raise StoreUnusableError(
                    f"There is no note in a folder {right.folder} of the vault.",
                    "Give the path of a folder that contains a note, from the top of the vault.",
                )
            rows(
                "INSERT INTO excerpt.areas (vault, folder) VALUES (%s, %s) ON CONFLICT DO NOTHING", vault, right.folder
            )
            ((area,),) = rows("SELECT id FROM excerpt.areas WHERE vault = %s AND folder = %s", vault, right.folder)
            schema.create_area(connection, area)
            rows("INSERT INTO excerpt.rights VALUES (%s, %s) ON CONFLICT DO NOTHING", area, right.role)
            _grant_connect(connection, right.role)
            _grant_read(connection, right.role, area)
        for right in changes.forbidden:
            right_rows = rows(
                "DELETE FROM excerpt.rights USING excerpt.areas WHERE area = id AND vault = %s AND folder = %s"
                " AND role = %s RETURNING area",
                *(vault, right.folder, right.role),
            )
            if not right_rows:
                raise StoreUnusableError(
                    f"The role {right.role} has no right of its own to {right.folder or 'the vault'}.",
                    "Run the push with --json to list all rights.",
                )
            _revoke_read(connection, right.role, right_rows[0][0])


def drop_empty_areas(connection: StoreConnection, vault: int) -> None:
    """Delete the areas (folders with rights) of a vault that have no more rights and no notes."""
    empty = connection.rows(
        "SELECT id FROM excerpt.areas WHERE vault = %s AND folder <> ''"
        " AND NOT EXISTS (SELECT FROM excerpt.rights WHERE area = areas.id)"
        " AND NOT EXISTS (SELECT FROM excerpt.notes WHERE area = areas.id)",
        vault,
    )
    for (area,) in empty:
        schema.drop_area(connection, area)


def area_numbers(connection: StoreConnection, vault: int) -> list[int]:
    """Return the numbers of all areas (folders) of a vault, including areas that no longer have rights."""
    return [row[0] for row in connection.rows("SELECT id FROM excerpt.areas WHERE vault = %s ORDER BY id", vault)]


def folder_rights(connection: StoreConnection, vault: int) -> tuple[FolderRights, ...]:
    """Return the folders with rights, the roles that may read each, and the number of its notes.

    A note counts only for its innermost folder that has rights of its own.
    """
    rows: Iterable[tuple[str, list[str], int]] = connection.rows(
        "SELECT folder, ARRAY(SELECT role::text FROM excerpt.rights WHERE area = id ORDER BY role),"
        " (SELECT count(*) FROM excerpt.notes WHERE area = areas.id) FROM excerpt.areas WHERE vault = %s"
        " ORDER BY folder",
        vault,
    )
    return tuple(FolderRights(folder, tuple(roles), notes) for folder, roles, notes in rows)
