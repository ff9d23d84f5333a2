"""Tests on the oldest PostgreSQL, without pgvector: some tests of other modules, and what is different there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import excerpt as api
from excerpt import Vault
from excerpt.vault.known_vaults import DEMO
from excerpt_postgres.address import parse_address
from excerpt_postgres.push import push
from tests.cli.conftest import Excerpt
from tests.store import test_memories, test_push, test_push_copies, test_rights, test_snapshot, test_store_command
from tests.store.conftest import index_of, records_of, temporary_database
from tests.store.server import PLAIN_VERSION, NoServerError, Servers, single_server
from tests.store.test_push import NOTES, push_vault

pytestmark = pytest.mark.store

vault, users, guarded_addresses = test_push.vault, test_rights.users, test_rights.guarded_addresses
memories_of = test_memories.memories_of
copy_of, copies = test_push_copies.copy_of, test_push_copies.copies
excerpt, home = test_store_command.excerpt, test_store_command.home


@pytest.fixture(scope="module")
def running() -> Iterator[Servers]:
    """Start a server of the oldest version, without pgvector."""
    try:
        with single_server(PLAIN_VERSION) as found:
            yield found
    except NoServerError as error:
        pytest.skip(f"no PostgreSQL without pgvector: {error}")


@pytest.fixture(scope="module")
def folder_and_store(running: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Vault, Vault]]:
    """Return the demo vault opened from its folder and from the store."""
    with pytest.MonkeyPatch.context() as patch, temporary_database(running, "excerpt_plain_demo") as database:
        patch.setenv("EXCERPT_HOME", str(tmp_path_factory.mktemp("home")))
        with api.open(DEMO) as folder:
            folder.load()
            push(index_of(folder), parse_address(f"{database}?vault=demo"), records_of(folder))
            with api.open(f"{database}?vault=demo") as stored:
                yield folder, stored


test_writes_every_note = test_push.test_a_first_push_writes_every_note
test_writes_nothing_again = test_push.test_a_second_push_writes_nothing
test_counts_as_the_index = test_push.test_the_counts_in_a_store_equal_the_counts_of_the_index
test_counts_after_changes = test_push.test_after_pushed_changes_the_counts_equal_the_ones_of_a_first_push
test_keeps_a_search_apart_from_a_push = test_push.test_a_push_during_a_search_does_not_change_its_answer
test_keeps_notes_of_others = test_push_copies.test_notes_changed_by_another_copy_are_kept
test_moves_notes_to_a_folder_with_rights = test_push_copies.test_rights_to_a_folder_apply_to_notes_that_the_copy_lacks
test_lets_writers_write = test_rights.test_a_member_of_the_writers_can_update_and_add_a_vault
test_lets_readers_read = test_rights.test_a_member_of_the_readers_can_read_earlier_and_later_pushes_and_write_nothing
test_opens_an_inner_folder = test_rights.test_the_innermost_folder_with_rights_decides
test_hides_while_revoking = test_rights.test_a_search_during_a_revocation_answers_without_the_hidden_notes
test_revokes_a_right = test_rights.test_revoking_a_right_leaves_the_counts_of_a_clean_push
test_logs_pushes = test_store_command.test_the_log_says_who_pushed_which_notes_from_where
test_drops_a_vault = test_store_command.test_a_vault_is_dropped_only_by_its_name
test_names_a_missing_grant = test_store_command.test_setup_names_who_may_not_push_to_a_store_and_prints_the_grant
test_hides_a_memory = test_memories.test_a_memory_is_hidden_from_who_may_not_read_its_source
test_changes_a_memory = test_memories.test_a_memory_is_changed_and_forgotten_by_its_author_and_by_who_may_push
test_recalls_as_a_reader = test_memories.test_a_role_that_only_reads_recalls_and_is_told_what_it_needs_to_save
test_loses_no_memory = test_memories.test_writers_at_the_same_time_lose_no_memory_and_no_version
test_packs_the_same_bytes = test_snapshot.test_a_pack_from_a_store_has_the_same_bytes_as_from_the_index
test_draws_the_same_map = test_snapshot.test_a_map_from_a_store_equals_the_one_from_the_index


@pytest.mark.parametrize("query", test_snapshot.QUERIES)
def test_finds_what_the_folder_finds(folder_and_store: tuple[Vault, Vault], query: str) -> None:
    folder, stored = folder_and_store
    expected = [(*place, pytest.approx(score, abs=0.001)) for *place, score in first_hits(folder, query)]
    assert first_hits(stored, query) == expected


def first_hits(vault: Vault, query: str) -> list[tuple[str, int, float]]:
    """Return the note, the line and the score of the hits whose places no other note's links decide."""
    hits = vault.search(query, limit=20).hits[:8]
    return [(hit.fragment.path, hit.fragment.line_start, hit.score) for hit in hits]


def test_setup_recommends_pgvector(excerpt: Excerpt, database: str) -> None:
    answer = excerpt("store", "setup", database)
    assert (answer.code, answer.out) == (0, "")
    assert "no pgvector, so each reader loads the vectors of the whole vault" in answer.err
    assert "postgresql-15-pgvector" in answer.err


def test_an_open_session_finds_by_meaning_what_was_pushed_meanwhile(vault: Path, database: str) -> None:
    push_vault(vault, database)
    with api.open(f"{database}?vault=notes") as stored:
        assert stored.search("strategy:semantic bees hibernate").hits[0].fragment.path == "Bees.md"
        (vault / "Bears.md").write_text("# Bears\n\nBears hibernate in dens.\n", encoding="utf-8")
        (vault / "Bees.md").unlink()
        assert push_vault(vault, database).unchanged == len(NOTES) - 1
        paths = [hit.fragment.path for hit in stored.search("strategy:semantic bees hibernate").hits]
        assert (paths[0], "Bees.md" in paths) == ("Bears.md", False)
