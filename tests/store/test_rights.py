"""Tests of the rights in a store: who may push, who may read, and what stays hidden.

For a user who may not read a folder, all commands must give the results of a store without that folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import date
from pathlib import Path

import psycopg
import pytest
from mcp import Client

import excerpt
from excerpt.base.errors import ExcerptError, StoreUnusableError
from excerpt.base.model import PushReport
from excerpt.base.settings import Settings
from excerpt.cli.main import run
from excerpt.insight.completions import complete
from excerpt.insight.corrections import correct
from excerpt.insight.suggest import suggest_queries
from excerpt.servers.mcp.server import build_server
from excerpt.servers.served_vaults import ServedVaults
from excerpt.service.diagnosis.vault_checks import check_store
from excerpt_postgres import schema
from excerpt_postgres.address import parse_address
from excerpt_postgres.push import push
from excerpt_postgres.read_rights import RightsChanges, parse_right
from excerpt_postgres.snapshot import StoreSnapshot
from tests.servers.mcp.conftest import failure_text, tool_caller
from tests.store.conftest import index_of, records_of
from tests.store.test_push import NOTES, push_vault, statistics, vault

__all__ = ["vault"]
pytestmark = pytest.mark.store


@pytest.fixture
def users(database: str) -> Iterator[dict[str, str]]:
    """Return addresses for an owner of the database, a writer, a reader, and a user without rights, by kind."""
    name = database.rpartition("/")[2]
    called = {kind: f"{kind}_{name}" for kind in ("owner", "writer", "reader", "nobody")}
    with psycopg.connect(database, autocommit=True) as connection:
        password = connection.pgconn.password.decode()
        add_extension(connection)
        for user in called.values():
            connection.execute(f"CREATE ROLE {user} LOGIN PASSWORD '{password}'")
        connection.execute(f"ALTER DATABASE {name} OWNER TO {called['owner']}")
        yield {kind: database.replace("//excerpt@", f"//{user}@") for kind, user in called.items()}
        for group in ("excerpt_writer", "excerpt_reader", "excerpt_memories"):
            if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (group,)).fetchall():
                connection.execute(f"DROP OWNED BY {group} CASCADE")
                connection.execute(f"DROP ROLE {group}")
        connection.execute(f"ALTER DATABASE {name} OWNER TO excerpt")
        for user in called.values():
            connection.execute(f"DROP OWNED BY {user} CASCADE")
            connection.execute(f"DROP ROLE {user}")


def add_extension(connection: psycopg.Connection) -> None:
    """Create the extension pgvector, which a user without rights may not create, if the server has it."""
    if connection.execute("SELECT FROM pg_available_extensions WHERE name = 'vector'").fetchall():
        connection.execute("CREATE EXTENSION vector")


def with_roles(vault: Path, address: str) -> None:
    with excerpt.open(vault) as opened:
        opened.load()
        push(index_of(opened), parse_address(f"{address}?vault=notes"), records_of(opened), roles=True)


def add_members(database: str, users: dict[str, str]) -> None:
    """Grant the roles to the writer and the reader, as the server's administrator does."""
    with psycopg.connect(database, autocommit=True) as connection:
        for kind in ("writer", "reader"):
            user = users[kind].partition("//")[2].partition("@")[0]
            connection.execute(f"GRANT excerpt_{kind} TO {user}")


def make_owner_a_maker_of_roles(database: str, users: dict[str, str]) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(f"ALTER ROLE {users['owner'].partition('//')[2].partition('@')[0]} CREATEROLE")


def test_a_member_of_the_writers_can_update_and_add_a_vault(vault: Path, database: str, users: dict[str, str]) -> None:
    make_owner_a_maker_of_roles(database, users)
    with_roles(vault, users["owner"])
    add_members(database, users)
    (vault / "Mead.md").write_text("# Mead\n\nHoney and water, fermented.\n", encoding="utf-8")
    assert push_vault(vault, users["writer"]).added == 1
    assert push_vault(vault, users["writer"], "second").added == len(NOTES) + 1
    assert statistics(database) == statistics(database, "second")
    (vault / "Mead.md").unlink()
    assert push_vault(vault, users["owner"], "second").removed == 1


def test_a_member_of_the_readers_can_read_earlier_and_later_pushes_and_write_nothing(
    vault: Path, database: str, users: dict[str, str]
) -> None:
    make_owner_a_maker_of_roles(database, users)
    with_roles(vault, users["owner"])
    add_members(database, users)
    push_vault(vault, users["writer"], "second")
    for name in ("notes", "second"):
        with excerpt.open(f"{users['reader']}?vault={name}") as stored:
            assert stored.search("how does a colony winter").hits[0].fragment.path == "Bees.md"
            assert stored.search('"green tea"', strategy="proximity").hits[0].fragment.path == "kitchen/Tea.md"
    with pytest.raises(StoreUnusableError, match="does not allow"):
        push_vault(vault, users["reader"])
    for table in ("excerpt.notes", "excerpt.notes_1", "excerpt.rights"):
        with psycopg.connect(users["reader"]) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(f"DELETE FROM {table}")


def test_a_user_in_neither_role_reads_nothing(vault: Path, database: str, users: dict[str, str]) -> None:
    make_owner_a_maker_of_roles(database, users)
    with_roles(vault, users["owner"])
    with pytest.raises(StoreUnusableError, match="does not allow"):
        excerpt.open(f"{users['nobody']}?vault=notes").search("honey")


def test_roles_can_be_added_to_an_existing_store_repeatedly(vault: Path, database: str, users: dict[str, str]) -> None:
    make_owner_a_maker_of_roles(database, users)
    push_vault(vault, users["owner"])
    with_roles(vault, users["owner"])
    with_roles(vault, users["owner"])
    add_members(database, users)
    assert push_vault(vault, users["writer"]).unchanged == len(NOTES)


def test_without_the_right_to_create_roles_the_message_names_who_can(vault: Path, users: dict[str, str]) -> None:
    with pytest.raises(StoreUnusableError, match="may not create the role excerpt_writer"):
        with_roles(vault, users["owner"])


# --- folders ----------------------------------------------------------------------------------------------------------

STAFF = {
    "staff/Salaries.md": "---\ntags: [zanzibar, insects]\naliases: [Zanzibar list]\nzanzibar: yes\n---\n# Zanzibar\n\n"
    "## Zanzibar colony\n\nA colony of zanzibar bees winters around its honey. See [[Bees]], [[Honey#Zanzibar]].\n",
    "staff/Empty.md": "",
    "staff/lists/Bees.md": "# Bees\n\nZanzibar again: a colony winters around its honey, at eighty degrees.\n",
}
SECRETS = ("zanzibar", "secretary", "staff/s", "staff/e", "staff/l")
"""Strings that a user without the right may never see, in any letter case.

A note that all may read has a link to Salaries.
"""
CLOSED = ("vaults", "areas", "rights", "statistics", "remarks", "moves", "pushes", "pushed", "memories")
QUERIES = (
    "how does a colony winter",
    "zanzibar",
    "zanz",
    "zanzibra",
    '"colony winters around its honey"',
    "colony -tea",
    "-zanzibar colony",
    "tag:zanzibar",
    "#insects",
    "path:staff",
    "title:bees",
    "heading:zanzibar honey",
    "Bees",
    "zanzibar:yes",
    "modified:>1980-01-01",
    "strategy:semantic insects in the cold",
    "",
)


@pytest.fixture
def guarded_addresses(vault: Path, database: str, users: dict[str, str]) -> dict[str, str]:
    """Return addresses by user of a store with a folder that only the role of `staff` may read.

    The vault `bare` in it was pushed without that folder.
    """
    make_owner_a_maker_of_roles(database, users)
    (vault / "Tar.md").write_text("# Tar\n\nWhat [[Salaries]] and [[staff/Gone|gone]] said of tar.\n", encoding="utf-8")
    with_roles(vault, users["owner"])
    addresses = {user: f"{address}?vault=notes" for user, address in users.items()}
    push_vault(vault, users["owner"], "bare")
    add_members(database, users)
    for path, text in STAFF.items():
        (vault / path).parent.mkdir(parents=True, exist_ok=True)
        (vault / path).write_text(text, encoding="utf-8")
    (vault / "staff" / "Secretary.md").write_text("\0\1\2" * 50, encoding="utf-8")
    change_rights(vault, users["owner"], allowed=[f"{name_of(users['nobody'])}=staff"])
    return addresses | {"bare": f"{users['reader']}?vault=bare"}


def name_of(address: str) -> str:
    """Return the user in an address."""
    return address.partition("//")[2].partition("@")[0]


def change_rights(
    vault: Path, address: str, *, allowed: Sequence[str] = (), forbidden: Sequence[str] = ()
) -> PushReport:
    """Push with changed rights and return the report."""
    rights = RightsChanges(tuple(map(parse_right, allowed)), tuple(map(parse_right, forbidden)))
    with excerpt.open(vault) as opened:
        opened.load()
        return push(index_of(opened), parse_address(f"{address}?vault=notes"), records_of(opened), rights=rights)


def paths(address: str, query: str = "colony honey") -> set[str]:
    with excerpt.open(address) as stored:
        return {hit.fragment.path for hit in stored.search(query).hits}


def asked(capsys: pytest.CaptureFixture[str], *command: str) -> str:
    """Return a command's output without what differs between vaults and runs."""
    run([*command])
    told = "".join(capsys.readouterr())
    for name in ("notes", "bare"):
        for before in ("vault=", '"vault": "', "vault      "):
            told = told.replace(f"{before}{name}", before)
    told = re.sub(r"pushed [^)]*", "pushed", told)
    return re.sub(r'("generation": |"elapsed_ms": |revision |"updated": |· )["0-9.:T+-]+( ms)?', r"\1", told)


@pytest.mark.parametrize("json", [False, True])
def test_without_the_right_every_command_answers_as_if_the_folder_did_not_exist(
    guarded_addresses: dict[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path, json: bool
) -> None:
    answer = tmp_path / "answer.md"
    answer.write_text('They say "a colony of zanzibar bees winters around its honey" [1].\n', encoding="utf-8")
    pack = tmp_path / "pack.md"
    with excerpt.open(guarded_addresses["owner"]) as owner:
        pack.write_text(owner.pack("zanzibar colony", budget=500).text, encoding="utf-8")
    commands = [
        *(["search", query, "--explain"] for query in QUERIES),
        *(["pack", query] for query in QUERIES if query),
        *(["overview", topic] for topic in ("zanzibar", "colony", "staff")),
        *(["related", note] for note in ("Bees", "Honey", "Tar", "Salaries", "staff/lists/Bees", "Zanzibar list")),
        *(["read", note] for note in ("Salaries", "Bees", "staff/Salaries.md", "Zanzibar list", "Salaries:1-2")),
        *(["peek", note] for note in ("Salaries", "Bees", "Honey", "Tar", "lists/Bees")),
        *(["map", query] for query in ("", "colony", "zanzibar")),
        ["check", str(answer), "--pack", str(pack)],
        ["remember", "--source", "staff/Salaries.md:1-2"],
        ["recall", "zanzibar", "--sources"],
        ["status"],
    ]
    for command in commands:
        whole = [*command, *(["--json"] if json else [])]
        found, expected = (asked(capsys, *whole, "--vault", guarded_addresses[who]) for who in ("reader", "bare"))
        assert found == expected, command


def test_only_a_user_with_the_right_sees_the_folder(guarded_addresses: dict[str, str]) -> None:
    assert paths(guarded_addresses["nobody"]) == {"staff/Salaries.md", "staff/lists/Bees.md"}
    assert "staff/Salaries.md" in paths(guarded_addresses["owner"])
    assert "staff/Salaries.md" in paths(guarded_addresses["writer"])
    with excerpt.open(guarded_addresses["nobody"]) as stored:
        assert stored.status().notes == len(STAFF)


def test_without_the_right_no_table_or_function_reveals_the_folder(
    guarded_addresses: dict[str, str], users: dict[str, str]
) -> None:
    with psycopg.connect(users["reader"], autocommit=True) as connection:
        asked = "".join(
            row[0]
            for row in connection.execute(
                "SELECT 'SELECT t::text FROM ' || oid::regclass || ' t;' FROM pg_class WHERE relkind IN ('r', 'p', 'v')"
                " AND relnamespace IN ('excerpt'::regnamespace, 'excerpt_vault'::regnamespace) UNION ALL"
                " SELECT format('SELECT t::text FROM excerpt_vault.%I(%s) t;', proname,"
                " CASE pronargs WHEN 1 THEN vaults.id::text END) FROM pg_proc, excerpt_vault.vaults()"
                " WHERE pronamespace = 'excerpt_vault'::regnamespace AND proretset AND pronargs < 2"
            )
        )
        refused = read = 0
        for statement in asked.split(";")[:-1]:
            try:
                rows = connection.execute(statement).fetchall()
            except psycopg.errors.InsufficientPrivilege:
                refused += 1
                continue
            read += 1
            for (row,) in rows:
                assert not [secret for secret in SECRETS if secret in row.lower()], (statement, row)
        # Refused are the tables shared by all areas, the names of vaults and areas, and the tables of the other area.
        assert refused == len(schema.AREA_TABLES) + len(CLOSED) + len(schema.AREA_TABLES)
        assert read > 2 * len(schema.AREA_TABLES)


def test_a_table_is_readable_only_with_the_right_to_its_area(
    guarded_addresses: dict[str, str], database: str, users: dict[str, str]
) -> None:
    with psycopg.connect(database) as connection:
        tables = connection.execute(
            "SELECT relname, ARRAY(SELECT grantee::regrole::text FROM aclexplode(relacl)"
            " WHERE grantee <> relowner AND privilege_type = 'SELECT') FROM pg_class"
            " WHERE relnamespace = 'excerpt'::regnamespace AND relkind IN ('r', 'p')"
        ).fetchall()
    of_areas: dict[str, list[list[str]]] = {}
    for table, roles in sorted(tables):
        name, _, area = table.rpartition("_")
        if area.isdecimal():
            of_areas.setdefault(name, []).append(roles)
        else:
            allowed = ["excerpt_reader", name_of(users["nobody"])] if table == "store" else []
            assert sorted(roles) == sorted(allowed), table
    expected = [["excerpt_reader"], ["excerpt_reader"], [name_of(users["nobody"])]]
    assert of_areas == dict.fromkeys(schema.AREA_TABLES, expected)


def test_completions_and_corrections_reveal_nothing_of_a_hidden_folder(guarded_addresses: dict[str, str]) -> None:
    with excerpt.open(guarded_addresses["reader"]) as found, excerpt.open(guarded_addresses["bare"]) as expected:
        for operator, begun in (("", "zan"), ("", "col"), ("#", ""), ("path", ""), ("title", "s"), ("zanzibar", "")):
            of_both = [
                complete(one._load_engine().snapshot, operator, begun, date(2026, 1, 1)) for one in (found, expected)
            ]
            assert of_both[0] == of_both[1]
        for query in ("zanzibra", "tag:zanzibra colony", "colnoy"):
            assert correct(found._load_engine(), query) == correct(expected._load_engine(), query)
        for query in ("colony", ""):
            assert suggest_queries(found._load_engine(), query) == suggest_queries(expected._load_engine(), query)
        assert found.why_not("colony", "Salaries") == expected.why_not("colony", "Salaries")


async def test_a_readers_agents_see_nothing_of_a_folder_without_a_right_to_it(
    guarded_addresses: dict[str, str],
) -> None:
    told = []
    for who in ("reader", "bare"):
        served = ServedVaults([Path(guarded_addresses[who])])
        try:
            async with Client(build_server(served, failure_text)) as client:
                ask = tool_caller(client)
                told += [
                    (await ask("search", query="zanzibar colony")).text,
                    (await ask("overview", topic="zanzibar")).text,
                ]
        finally:
            served.end()
    assert not [text for text in told if "staff/" in text or "Salaries" in text.replace("[[Salaries]]", "")]


def test_the_doctor_counts_only_notes_that_the_reader_may_read(guarded_addresses: dict[str, str]) -> None:
    found, expected = (
        [
            re.sub("vault [a-z]+ has generation [0-9]+", "", one.what)
            for one in check_store(guarded_addresses[who], Settings())
        ]
        for who in ("reader", "bare")
    )
    assert found == expected


def test_a_vault_without_readable_notes_does_not_exist(
    guarded_addresses: dict[str, str], vault: Path, users: dict[str, str]
) -> None:
    with pytest.raises(StoreUnusableError) as expected:
        excerpt.open(f"{users['nobody']}?vault=wiki").search("honey")
    with pytest.raises(StoreUnusableError) as found:
        excerpt.open(f"{users['nobody']}?vault=bare").search("honey")
    assert found.value.message == expected.value.message.replace("wiki", "bare")
    assert found.value.hint == expected.value.hint


def test_the_innermost_folder_with_rights_decides(
    guarded_addresses: dict[str, str], vault: Path, users: dict[str, str]
) -> None:
    report = change_rights(vault, users["owner"], allowed=["excerpt_reader=/staff/lists/"])
    assert [(one.folder, one.notes) for one in report.rights] == [
        ("", len(NOTES) + 1),
        ("staff/", 2),
        ("staff/lists/", 1),
    ]
    assert report.changed == 1
    assert "staff/lists/Bees.md" in paths(guarded_addresses["reader"])
    assert "staff/Salaries.md" not in paths(guarded_addresses["reader"])
    assert paths(guarded_addresses["nobody"]) == {"staff/Salaries.md"}


def test_a_note_moved_to_another_folder_gets_the_rights_of_that_folder(
    guarded_addresses: dict[str, str], vault: Path, users: dict[str, str]
) -> None:
    (vault / "staff" / "Salaries.md").rename(vault / "Salaries.md")
    push_vault(vault, users["writer"])
    assert "Salaries.md" in paths(guarded_addresses["reader"])
    assert paths(guarded_addresses["nobody"]) == {"staff/lists/Bees.md"}
    with excerpt.open(guarded_addresses["reader"]) as stored, pytest.raises(ExcerptError):
        stored.read("staff/Salaries.md")


def test_revoking_a_right_leaves_the_counts_of_a_clean_push(
    guarded_addresses: dict[str, str], vault: Path, database: str, users: dict[str, str]
) -> None:
    change_rights(vault, users["writer"], forbidden=[f"{name_of(users['nobody'])}=staff"])
    with pytest.raises(StoreUnusableError):
        paths(guarded_addresses["nobody"])
    push_vault(vault, users["writer"], "clean")
    assert statistics(database) == statistics(database, "clean")
    assert "staff/Salaries.md" in paths(guarded_addresses["reader"])


def test_a_search_during_a_revocation_answers_without_the_hidden_notes(
    guarded_addresses: dict[str, str], vault: Path, users: dict[str, str]
) -> None:
    staff = name_of(users["nobody"])
    change_rights(vault, users["owner"], allowed=[f"{staff}="])
    begun: list[bool] = []
    with closing(StoreSnapshot.open(parse_address(guarded_addresses["nobody"]), Settings())) as snapshot:
        assert len(snapshot.table.paths) > len(STAFF)

        def answer() -> set[str]:
            now = snapshot.reopen()
            if not begun:
                begun.append(True)
                change_rights(vault, users["writer"], forbidden=[f"{staff}="])
            return {path for (path,) in now._note_queries.rows("SELECT path FROM notes")}

        assert snapshot.read_transaction(answer) == {"staff/Salaries.md", "staff/Empty.md", "staff/lists/Bees.md"}


def test_notes_outside_the_folders_with_rights_can_be_hidden(
    guarded_addresses: dict[str, str], vault: Path, users: dict[str, str]
) -> None:
    change_rights(vault, users["owner"], forbidden=["excerpt_reader="])
    with pytest.raises(StoreUnusableError, match="no vault called notes"):
        paths(guarded_addresses["reader"])
    assert paths(guarded_addresses["writer"])


@pytest.mark.parametrize(
    ("right", "said"),
    [("excerpt_reader=Staf", "no note in a folder Staf/"), ("stuff=staff", "no role stuff"), ("staff", "ROLE=FOLDER")],
)
def test_an_invalid_right_changes_nothing(
    guarded_addresses: dict[str, str], vault: Path, users: dict[str, str], right: str, said: str
) -> None:
    with pytest.raises((StoreUnusableError, ValueError), match=said):
        change_rights(vault, users["owner"], allowed=[f"{name_of(users['nobody'])}=", right])
    assert paths(guarded_addresses["nobody"]) == {"staff/Salaries.md", "staff/lists/Bees.md"}


def test_a_reader_cannot_change_rights(guarded_addresses: dict[str, str], vault: Path, users: dict[str, str]) -> None:
    with pytest.raises(StoreUnusableError, match="does not allow"):
        change_rights(vault, users["reader"], allowed=[f"{name_of(users['reader'])}=staff"])


def test_a_user_who_assumes_another_role_has_only_its_rights(
    guarded_addresses: dict[str, str], database: str, users: dict[str, str]
) -> None:
    writer, staff = name_of(users["writer"]), name_of(users["nobody"])
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(f"GRANT {staff} TO {writer}")
    with psycopg.connect(guarded_addresses["writer"].partition("?")[0]) as connection:
        connection.execute(f"SET ROLE {staff}")
        ((areas,),) = connection.execute("SELECT areas FROM excerpt_vault.vaults()").fetchall()
        (area,) = areas
        found = connection.execute(f"SELECT path FROM excerpt.notes_{area}").fetchall()
    assert {path for (path,) in found} == set(STAFF)
