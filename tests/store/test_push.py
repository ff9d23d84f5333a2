"""Tests of a push: the store then holds exactly what the index holds, whatever was there before."""

from __future__ import annotations

import hashlib
from contextlib import closing
from pathlib import Path

import numpy as np
import psycopg
import pytest

import excerpt
from excerpt.base.errors import StoreUnusableError
from excerpt.base.model import PushReport
from excerpt.base.settings import Comments, Settings, TextSettings, user_paths
from excerpt.corpus.interface import CandidateQuery
from excerpt.corpus.tables import FIELDS, TermTier
from excerpt.service.diagnosis.vault_checks import check_store
from excerpt.service.findings import Finding, Severity
from excerpt_postgres import schema
from excerpt_postgres.address import parse_address
from excerpt_postgres.compare import PushRules
from excerpt_postgres.connection import StoreConnection
from excerpt_postgres.push import push
from excerpt_postgres.push_vault import push_vault as push_with_settings
from excerpt_postgres.snapshot import DAMAGED_INDEX_MESSAGE, StoreSnapshot
from tests.cli.json_forms import documented_fields, mismatches
from tests.store.conftest import index_of, records_of, replica_address
from tests.store.server import Servers

pytestmark = pytest.mark.store

NOTES = {
    "Bees.md": "---\ntags: [insects]\n---\n# Bees\n\n## Winter\n\nA colony winters around its honey. See [[Honey]].\n",
    "Honey.md": "# Honey\n\nHoney keeps for years when it holds less than eighteen percent of water.\n",
    "kitchen/Tea.md": "# Tea\n\n## Green\n\nGreen tea is steeped at eighty degrees for two minutes.\n",
    "Empty.md": "",
}


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EXCERPT_HOME", str(tmp_path / "home"))
    folder = tmp_path / "notes"
    for path, text in NOTES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def push_vault(vault: Path, database: str, name: str = "notes") -> PushReport:
    """Push the vault as it is now and return the report."""
    with excerpt.open(vault) as opened:
        opened.load()
        return push(index_of(opened), parse_address(f"{database}?vault={name}"), records_of(opened))


def statistics(
    database: str, name: str = "notes"
) -> tuple[list[tuple[object, ...]], list[tuple[str, int, int]], list[tuple[str, int]]]:
    """Return what a store counts of a vault: fragments, lengths, terms, and the size of the postings by token."""
    with psycopg.connect(database) as connection:
        counts = connection.execute(
            "SELECT folder, attached, fragments, lengths, filled FROM excerpt.statistics"
            " JOIN excerpt.areas ON areas.id = area JOIN excerpt.vaults ON vaults.id = vault AND name = %s"
            " ORDER BY folder, attached",
            (name,),
        ).fetchall()
        terms = connection.execute(
            "SELECT term, fragments, notes FROM excerpt.terms"
            " JOIN excerpt.vaults ON id = vault AND name = %s ORDER BY area, term",
            (name,),
        ).fetchall()
        postings = connection.execute(
            "SELECT token, sum(length(data)) FROM excerpt.postings JOIN excerpt.areas ON areas.id = area"
            " JOIN excerpt.vaults ON vaults.id = vault AND name = %s GROUP BY area, token ORDER BY area, token",
            (name,),
        ).fetchall()
    return counts, terms, postings


def make_older(database: str) -> None:
    """Give a store the tokens and the state that a push wrote before words with accents had a second term.

    Such a store had no postings; those that it gets here are made by the upgrade of its tables.
    """
    with psycopg.connect(database) as connection:
        new = {token: older_token(term) for token, term in connection.execute("SELECT token, term FROM excerpt.terms")}
        for key, words in connection.execute("SELECT key, words FROM excerpt.fragments").fetchall():
            older = "".join(f"{new[token]} " for token in words.split())
            connection.execute("UPDATE excerpt.fragments SET words = %s WHERE key = %s", (older, key))
        for token, older in new.items():
            connection.execute("UPDATE excerpt.terms SET token = %s WHERE token = %s", (older, token))
        connection.execute("UPDATE excerpt.notes SET state = regexp_replace(state, '[0-9]+(/[0-9]+ [^ ]+)$', '2\\1')")
        connection.execute("DROP TABLE excerpt.postings")
        connection.execute("UPDATE excerpt.store SET version = 4")
    upgrade_tables(database)


def upgrade_tables(database: str) -> None:
    with closing(StoreConnection(parse_address(database), writes=True)) as connection:
        schema.create_or_upgrade(connection)


def older_token(term: str) -> str:
    """Return the token that a term had before words with accents had a second term: nine letters, of 26 each."""
    number = int.from_bytes(hashlib.blake2b(term.encode(), digest_size=8).digest(), "little")
    return "".join(chr(97 + number // 26**place % 26) for place in range(9))


# Enough terms that the token of some ended with z.
_MANY_WORDS = " ".join(f"word{number}" for number in range(200))


@pytest.mark.parametrize("query", ["honey", '"holds less"', "winter -tea", "honey OR tea", "title:honey", "word7"])
def test_a_store_pushed_before_second_terms_answers_by_words(vault: Path, database: str, query: str) -> None:
    (vault / "Many.md").write_text(f"# Many\n\n{_MANY_WORDS}\n", encoding="utf-8")
    push_vault(vault, database)
    with excerpt.open(f"{database}?vault=notes") as stored:
        expected = stored.search(query)
    make_older(database)
    with excerpt.open(f"{database}?vault=notes") as stored:
        result = stored.search(query)
    assert [hit.fragment.id for hit in result.hits] == [hit.fragment.id for hit in expected.hits]
    assert result.confidence == expected.confidence


def test_a_push_to_a_store_of_an_older_version_writes_every_note(vault: Path, database: str) -> None:
    (vault / "Many.md").write_text(f"# Many\n\n{_MANY_WORDS}\n", encoding="utf-8")
    push_vault(vault, database)
    expected = statistics(database)
    make_older(database)
    assert push_vault(vault, database).changed == len(NOTES) + 1
    assert statistics(database) == expected


def test_a_store_of_an_older_version_is_read_after_the_next_push_upgraded_it(vault: Path, database: str) -> None:
    push_vault(vault, database)
    expected = statistics(database)
    with psycopg.connect(database) as connection:
        connection.execute("DROP TABLE excerpt.postings")
        connection.execute("UPDATE excerpt.store SET version = 4")
    with pytest.raises(StoreUnusableError, match="older"), excerpt.open(f"{database}?vault=notes") as stored:
        stored.search("honey")
    assert push_vault(vault, database).changed == 0
    assert statistics(database) == expected
    with excerpt.open(f"{database}?vault=notes") as stored:
        assert stored.search("how does a colony winter").hits[0].fragment.path == "Bees.md"


def test_the_push_after_pgvector_came_to_a_server_lets_the_server_compare_vectors(
    vault: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "strategy:semantic how do bees survive the cold"
    with monkeypatch.context() as without:
        without.setattr(schema, "_VECTOR_EXTENSION", "not_packaged")
        push_vault(vault, database)
    with excerpt.open(f"{database}?vault=notes") as stored:
        before = stored.search(query).hits[0]
        assert push_vault(vault, database).unchanged == len(NOTES)
        with psycopg.connect(database) as connection:
            assert connection.execute("SELECT DISTINCT pg_typeof(vector)::text FROM excerpt.fragments").fetchall() == [
                ("halfvec",)
            ]
        after = stored.search(query).hits[0]
    assert after.fragment.path == before.fragment.path
    assert after.score == pytest.approx(before.score, abs=0.001)
    assert not [one for one in doctor_findings(f"{database}?vault=notes") if one.level != "ok"]


def test_an_owner_of_a_database_can_push_and_search(vault: Path, database: str) -> None:
    """Push as an owner without superuser rights; the extensions are installed."""
    name = database.rpartition("/")[2]
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
        password = connection.pgconn.password.decode()
        connection.execute(f"CREATE ROLE plain_{name} LOGIN PASSWORD '{password}'")
        connection.execute(f"ALTER DATABASE {name} OWNER TO plain_{name}")
    address = database.replace("//excerpt@", f"//plain_{name}@")
    assert push_vault(vault, address).added == len(NOTES)
    with excerpt.open(f"{address}?vault=notes") as stored:
        assert stored.search("how does a colony winter").hits[0].fragment.path == "Bees.md"


def test_a_first_push_writes_every_note(vault: Path, database: str) -> None:
    report = push_vault(vault, database)
    assert (report.added, report.changed, report.removed) == (len(NOTES), 0, 0)
    with psycopg.connect(database) as connection:
        paths = connection.execute("SELECT path FROM excerpt.notes ORDER BY path").fetchall()
    assert [path for (path,) in paths] == sorted(NOTES)


def test_a_second_push_writes_nothing(vault: Path, database: str) -> None:
    push_vault(vault, database)
    report = push_vault(vault, database)
    assert (report.added, report.changed, report.removed, report.unchanged) == (0, 0, 0, len(NOTES))


def test_a_store_has_no_comments_whoever_reads_them_in_the_folder(vault: Path, database: str) -> None:
    (vault / "Barn.md").write_text("The barn %% giraffe inside %% is red.\n", encoding="utf-8")
    paths, settings = user_paths(), Settings(text=TextSettings(Comments.EVERYBODY))
    with excerpt.open(vault) as opened:
        opened.load()
    address = parse_address(f"{database}?vault=notes")
    push_with_settings(vault, settings, paths, address, lambda _: None, rules=PushRules())
    with excerpt.open(address.text) as stored:
        assert not any(hit.spans for hit in stored.search("giraffe").hits)
        assert "giraffe" not in stored.read("Barn.md").text


def test_the_counts_in_a_store_equal_the_counts_of_the_index(vault: Path, database: str) -> None:
    push_vault(vault, database)
    _, terms, _ = statistics(database)
    with excerpt.open(vault) as opened:
        opened.load()
        lexical = index_of(opened).lexical
        for term, count, notes in terms:
            rows = np.unique(lexical.entries(term).rows)
            assert (len(rows), len(np.unique(lexical.notes[rows]))) == (count, notes), term
        assert len(terms) == len({term for field in FIELDS for term in lexical.lexicon(field)})


def test_after_pushed_changes_the_counts_equal_the_ones_of_a_first_push(vault: Path, database: str) -> None:
    push_vault(vault, database)
    (vault / "Honey.md").write_text("# Honey\n\nNectar, thickened by bees.\n\n## Water\n\nLittle.\n", encoding="utf-8")
    (vault / "kitchen" / "Tea.md").unlink()
    (vault / "Mead.md").write_text("# Mead\n\nHoney and water, fermented.\n", encoding="utf-8")
    report = push_vault(vault, database)
    assert (report.added, report.changed, report.removed) == (1, 1, 1)
    push_vault(vault, database, "clean")
    assert statistics(database) == statistics(database, "clean")


def test_an_interrupted_push_is_completed_by_the_next(
    vault: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("excerpt_postgres.push._BATCH_FRAGMENTS", 1)

    def die(written: int, of: int) -> None:
        raise KeyboardInterrupt

    with excerpt.open(vault) as opened:
        opened.load()
        with pytest.raises(KeyboardInterrupt):
            push(index_of(opened), parse_address(f"{database}?vault=notes"), records_of(opened), die)
    report = push_vault(vault, database)
    assert report.unchanged == 1
    push_vault(vault, database, "clean")
    assert statistics(database) == statistics(database, "clean")


def test_a_newer_store_is_not_changed(vault: Path, database: str) -> None:
    push_vault(vault, database)
    with psycopg.connect(database) as connection:
        connection.execute("UPDATE excerpt.store SET version = %s", (schema.VERSION + 1,))
    with pytest.raises(StoreUnusableError, match="newer excerpt"):
        push_vault(vault, database)


def test_a_push_to_an_address_without_a_vault_is_refused(vault: Path, database: str) -> None:
    with excerpt.open(vault) as opened:
        opened.load()
        with pytest.raises(StoreUnusableError, match="does not name a vault"):
            push(index_of(opened), parse_address(database), records_of(opened))


@pytest.mark.parametrize("index", ["terms", "meaning"])
def test_a_store_without_an_index_is_searched_by_its_rows_with_a_warning(
    vault: Path, database: str, index: str
) -> None:
    push_vault(vault, database)
    address = f"{database}?vault=notes"
    with psycopg.connect(database, autocommit=True) as connection:
        ((name,),) = connection.execute(
            "SELECT indexname FROM pg_indexes WHERE indexname ~ %s", (f"_{index}$",)
        ).fetchall()
        connection.execute(f"DROP INDEX excerpt.{name}")
    with excerpt.open(address) as stored:
        for query in ("colony winters", '"colony winters"', "strategy:semantic colony in winter"):
            assert stored.search(query).hits[0].fragment.path == "Bees.md"
        assert [one.path for one in stored.status().warnings] == [f"index by {index}"]
    assert [one.what for one in doctor_findings(address) if one.level == "problem"] == [
        f"The index by {index}: {DAMAGED_INDEX_MESSAGE}"
    ]
    push_vault(vault, database)
    with excerpt.open(address) as stored:
        assert not stored.status().warnings
    assert not [one for one in doctor_findings(address) if one.level != "ok"]


def doctor_findings(address: str) -> list[Finding]:
    """Return the doctor's findings about a store."""
    return list(check_store(address, Settings()))


def test_the_doctor_reports_why_a_store_cannot_be_read(vault: Path, database: str) -> None:
    (empty,) = doctor_findings(f"{database}?vault=notes")
    assert "no vault" in empty.what
    push_vault(vault, database)
    (other,) = doctor_findings(f"{database}?vault=others")
    assert "no vault called others" in other.what


def test_the_doctor_counts_the_stored_rows(vault: Path, database: str) -> None:
    push_vault(vault, database)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("DELETE FROM excerpt.fragments WHERE ordinal = 0")
    assert [one.level for one in doctor_findings(f"{database}?vault=notes")].count(Severity.PROBLEM) == 1


def test_a_reader_of_a_replica_waits_until_the_replica_has_the_push(
    vault: Path, database: str, running: Servers
) -> None:
    report = push_vault(vault, database)
    replica = replica_address(database, running)
    with excerpt.open(f"{replica}?vault=notes&after={report.position}") as stored:
        assert stored.status().notes == len(NOTES)


def test_a_replica_that_lags_behind_is_reported(
    vault: Path, database: str, running: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("excerpt_postgres.snapshot._TIMEOUT_SECONDS", 0.1)
    push_vault(vault, database)
    replica = replica_address(database, running)
    with pytest.raises(StoreUnusableError, match="does not have the changes"):
        excerpt.open(f"{replica}?vault=notes&after=FFFFFFF/0").search("honey")


@pytest.mark.parametrize(
    "text",
    [
        "# Odd\n\nA zero\0byte in the text.\n",
        '---\ntags: ["a\\0b"]\naliases: ["x\\0y"]\n---\n\nA zero in a tag.\n',
        "# A&#0;b\n\nA zero in [a link](y%00z) and [[a%00b]].\n",
    ],
)
def test_a_note_with_a_character_that_postgresql_cannot_store_is_pushed(vault: Path, database: str, text: str) -> None:
    (vault / "Odd.md").write_text(text, encoding="utf-8")
    assert push_vault(vault, database).added == len(NOTES) + 1
    with excerpt.open(f"{database}?vault=notes") as store:
        assert "zero" in store.read("Odd").text


def test_the_json_of_a_push_has_the_documented_fields(vault: Path, database: str) -> None:
    assert list(mismatches(push_vault(vault, database).to_dict(), documented_fields("push"))) == []


def test_a_statement_that_times_out_is_sent_once(database: str) -> None:
    connection = StoreConnection(parse_address(database), timeout=2)
    backend = connection.rows("SELECT pg_backend_pid()")
    with pytest.raises(StoreUnusableError, match="took more than"):
        connection.rows("SELECT pg_sleep(60)")
    assert connection.rows("SELECT pg_backend_pid()") == backend  # the connection was not replaced
    connection.close()


def test_a_push_during_a_search_does_not_change_its_answer(vault: Path, database: str) -> None:
    push_vault(vault, database)
    with closing(StoreSnapshot.open(parse_address(f"{database}?vault=notes"), Settings())) as snapshot:

        def asks(base: StoreSnapshot) -> list[CandidateQuery]:
            assert base.note_text("Honey.md")
            (vault / "Honey.md").write_text("# Honey\n\nHoney, told anew.\n", encoding="utf-8")
            push_vault(vault, database)
            return [CandidateQuery(((TermTier(("honey",), 1.0),),), limit=10)]

        def texts() -> set[str]:
            view = snapshot.prefetch(asks)
            return {fragment.text for fragment in view.fragments(view.table.keys.tolist())}

        assert NOTES["Honey.md"].rpartition("\n\n")[2].strip() in snapshot.read_transaction(texts)
        assert snapshot.reopen().generation > snapshot.generation


def test_an_answer_that_began_before_a_push_and_had_read_nothing_is_read_again(vault: Path, database: str) -> None:
    push_vault(vault, database)
    with closing(StoreSnapshot.open(parse_address(f"{database}?vault=notes"), Settings())) as snapshot:
        asked: list[int] = []

        def answer() -> tuple[int, str]:
            asked.append(snapshot.reopen().generation)
            (vault / "Honey.md").write_text("# Honey\n\nHoney, told anew.\n", encoding="utf-8")
            push_vault(vault, database)
            return asked[-1], snapshot.note_text("Honey.md")

        assert snapshot.read_transaction(answer) == (asked[-1], "# Honey\n\nHoney, told anew.\n")
        assert len(asked) == 2


def test_after_a_lost_connection_the_whole_answer_is_read_again(vault: Path, database: str) -> None:
    push_vault(vault, database)
    with closing(StoreSnapshot.open(parse_address(f"{database}?vault=notes"), Settings())) as snapshot:
        asked: list[str] = []

        def answer() -> str:
            asked.append(snapshot.note_text("Bees.md"))
            if len(asked) == 1:
                with psycopg.connect(database, autocommit=True) as other:
                    other.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'excerpt'"
                    )
            return snapshot.note_text("Honey.md")

        assert snapshot.read_transaction(answer) == NOTES["Honey.md"]
        assert asked == [NOTES["Bees.md"]] * 2
