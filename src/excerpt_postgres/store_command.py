"""`excerpt store`: what a server lacks for a store, what happened to its vaults, which there are, and their removal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from textwrap import dedent
from typing import TYPE_CHECKING

import click
from msgspec import Struct

from excerpt.base.errors import StoreUnusableError
from excerpt.base.json_forms import to_json_value
from excerpt.cli.printing import print_json, print_line, print_message
from excerpt.text.display import format_count, format_names, local_time, visible_line

if TYPE_CHECKING:
    from excerpt_postgres.address import PostgresAddress
    from excerpt_postgres.connection import StoreConnection

_SHOWN_NOTES = 5
"""Number of names of one kind that a line of the log shows; JSON has all."""


class PushEntry(Struct):
    """A push in the log: when, by which role, from which copy on which machine; the notes that the caller may see."""

    time: str
    role: str
    machine: str
    copy: str
    added: list[str]
    changed: list[str]
    removed: list[str]


class StoredVaultEntry(Struct):
    """A vault of a store; `fragments` counts those that the caller may read."""

    name: str
    updated: str
    fragments: int


_address_argument = click.argument("address")
_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def store_command() -> None:
    """Set up a PostgreSQL store, show what happened in it, list its vaults, or drop one."""


@store_command.command("setup")
@_address_argument
def setup_command(address: str) -> int:
    """Say what the database at ADDRESS lacks to be a store, and print the SQL that adds it; run nothing.

    The SQL is for the one who keeps the server, to be read and then run there by `psql`.
    """
    from excerpt_postgres import rights, schema
    from excerpt_postgres.address import parse_address
    from excerpt_postgres.connection import StoreConnection

    parsed = parse_address(address)
    try:
        with closing(StoreConnection(parsed, timeout=0)) as connection:
            obstacles = *rights.find_obstacles(connection), *schema.find_obstacles(connection)
    except StoreUnusableError as error:
        if error.__cause__ is None:  # the driver is not installed
            raise
        print_line(_creation_sql(parsed))
        print_message("If the server is running, the SQL creates what is missing. Then set the role's password there.")
        raise
    for obstacle in obstacles:
        print_message(obstacle.reason if obstacle.sql else f"{obstacle.reason} {obstacle.hint}")
    statements = [f"{obstacle.sql};" for obstacle in obstacles if obstacle.sql]
    if statements:
        print_line("\n".join((f"\\connect {_quoted(parsed.database)}", *statements)))
    if not all(obstacle.recommended for obstacle in obstacles):
        return StoreUnusableError.exit_code
    print_message(f"A vault can be pushed to {visible_line(parsed.display_text)}.")
    return 0


def _creation_sql(address: PostgresAddress) -> str:
    """Return SQL for `psql` that creates the role, the database and the extension of an address where they are not."""
    role, database = _literal(address.role), _literal(address.database)
    return dedent(f"""\
        SELECT format('CREATE ROLE %I LOGIN', {role})
            WHERE {role} NOT IN (SELECT rolname FROM pg_roles) \\gexec
        SELECT format('CREATE DATABASE %I OWNER %I', {database}, {role})
            WHERE {database} NOT IN (SELECT datname FROM pg_database) \\gexec
        \\connect {_quoted(address.database)}
        CREATE EXTENSION IF NOT EXISTS vector;""")


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@store_command.command("log")
@_address_argument
@click.option("--limit", type=click.IntRange(1, 1_000), default=10, show_default=True, help="The number of pushes.")
@_json_option
def log_command(address: str, *, limit: int, as_json: bool) -> int:
    """Show the last pushes to the vault at ADDRESS: who, when, from which machine and copy, and which notes.

    Notes that you may not read are not named, and a push of such notes alone is not shown. The last 1,000 pushes are
    kept. With --json, prints pushes, each with time, role, machine, copy, added, changed and removed.
    """
    with _open_store(address) as (connection, vault):
        entries = read_log(connection, _find_vault(connection, vault)[0], limit)
    if as_json:
        print_json({"pushes": to_json_value(entries)})
        return 0
    for entry in entries:
        print_line(visible_line(f"{local_time(entry.time)}  {entry.role} from {entry.machine}:{entry.copy}"))
        for change, paths in (("added", entry.added), ("changed", entry.changed), ("removed", entry.removed)):
            if paths:
                print_line(f"  {change} {len(paths):,}: {format_names(paths, _SHOWN_NOTES)}")
    if not entries:
        print_message("No push is logged yet.")
    return 0


@store_command.command("list")
@_address_argument
@_json_option
def list_command(address: str, *, as_json: bool) -> int:
    """List the vaults that you may read in the store at ADDRESS.

    With --json, prints vaults, each with name, updated and fragments, the number of those that you may read.
    """
    with _open_store(address) as (connection, _):
        vaults = [
            StoredVaultEntry(*row)
            for row in connection.rows(
                "SELECT name, updated, (SELECT coalesce(sum(fragments), 0)::bigint"
                " FROM excerpt_vault.statistics(v.id)) FROM excerpt_vault.vaults() v ORDER BY name"
            )
        ]
    if as_json:
        print_json({"vaults": to_json_value(vaults)})
        return 0
    for each in vaults:
        time = f"pushed {local_time(each.updated)}" if each.updated else "its first push has not ended"
        print_line(visible_line(f"{each.name}  {format_count(each.fragments, 'fragment')}, {time}"))
    return 0


@store_command.command("drop")
@_address_argument
@click.option("--yes", "confirmed", metavar="NAME", help="The name of the vault, instead of a question.")
def drop_command(address: str, *, confirmed: str | None) -> int:
    """Remove the vault at ADDRESS and its shared memories from the store, for everybody. The notes of the copies stay.

    Asks for the name of the vault.
    """
    with _open_store(address, writes=True) as (connection, vault):
        number, name = _find_vault(connection, vault)
        typed = confirmed
        if typed is None:
            typed = click.prompt(f"Type {visible_line(name)} to remove it with its notes and shared memories", err=True)
        if typed != name:
            print_message(f"Nothing was removed: the vault is called {visible_line(name)}.")
            return 2
        drop_vault(connection, number)
    print_message(f"Removed {visible_line(name)}.")
    return 0


def read_log(connection: StoreConnection, vault: int, limit: int) -> list[PushEntry]:
    """Return the newest `limit` pushes of a vault that have notes which the user may read, newest first."""
    rows = connection.rows(
        "WITH visible AS MATERIALIZED (SELECT * FROM excerpt_vault.pushed(%s))"
        " SELECT push, to_char(time AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS+00:00'), role::text, machine, copy,"
        " change, path FROM visible WHERE push IN (SELECT DISTINCT push FROM visible ORDER BY push DESC LIMIT %s)"
        ' ORDER BY push DESC, path COLLATE "C"',
        *(vault, limit),
    )
    entries: dict[int, PushEntry] = {}
    for push, time, role, machine, copy, change, path in rows:
        entry = entries.setdefault(push, PushEntry(time, role, machine, copy, [], [], []))
        {"added": entry.added, "changed": entry.changed, "removed": entry.removed}[change].append(path)
    return list(entries.values())


def drop_vault(connection: StoreConnection, vault: int) -> None:
    """Remove a vault with its notes, memories, rights and log, when no push to it runs. Raises StoreUnusableError."""
    from excerpt_postgres import schema
    from excerpt_postgres.push import PUSH_LOCK

    with connection.transaction():
        connection.rows("SELECT pg_advisory_xact_lock(%s, %s)", PUSH_LOCK, vault)
        connection.rows("DELETE FROM excerpt.pushes WHERE vault = %s", vault)
        for (area,) in connection.rows("SELECT id FROM excerpt.areas WHERE vault = %s ORDER BY id", vault):
            schema.drop_area(connection, area)
        connection.rows("DELETE FROM excerpt.vaults WHERE id = %s", vault)


@contextmanager
def _open_store(address: str, *, writes: bool = False) -> Iterator[tuple[StoreConnection, str]]:
    """Connect to a store, and yield the connection and the name of the vault in `address`, "" without one."""
    from excerpt_postgres import schema
    from excerpt_postgres.address import parse_address
    from excerpt_postgres.connection import StoreConnection
    from excerpt_postgres.rights import assume_owner_role

    parsed = parse_address(address)
    with closing(StoreConnection(parsed, writes=writes, timeout=0)) as connection:
        schema.check(connection)
        if writes:
            assume_owner_role(connection)
        yield connection, parsed.vault


def _find_vault(connection: StoreConnection, name: str) -> tuple[int, str]:
    """Return the number and the name of the vault `name`, or of the only one. Raises StoreUnusableError."""
    vaults = connection.rows("SELECT id, name FROM excerpt_vault.vaults() ORDER BY name")
    matching = [(int(number), str(each)) for number, each in vaults if each == name or (not name and len(vaults) == 1)]
    if not matching:
        names = ", ".join(visible_line(each) for _, each in vaults) or "none"
        raise StoreUnusableError(
            f"There is no vault {visible_line(name)} in the store." if name else "The address does not name a vault.",
            f"Add ?vault=NAME to the address. Vaults in the store: {names}.",
        )
    return matching[0]
