from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from excerpt.corpus.interface import Corpus
from excerpt.corpus.replaced import ReplacementRow, find_numbered_note, find_successors, resolve_replacements
from excerpt.corpus.union import UnionCorpus
from tests.search.library import open_vault

NOTES = {
    "Pricing 2024.md": '---\nsuperseded_by: "[[Pricing 2026]]"\n---\nA seat costs ten euros.\n',
    "Pricing 2026.md": "A seat costs twelve euros.\n",
    "adr/0003-cron.md": "# 3. Jobs in cron\n\n## Status\n\nSuperseded by ADR-0012 on 2026-03-01\n",
    "adr/0012-queue.md": "# 12. Jobs in a queue\n\n## Status\n\nAccepted\n",
    "rfc/rfc2616.md": "Request for Comments: 2616\n\nHTTP/1.1.\n",
    "rfc/rfc7230.md": "Request for Comments: 7230\nObsoletes: 2145, 2616\n\nHTTP/1.1 again.\n",
    "Hosting.md": "Replaced by [[Hosting on metal]].\n\nWe rent.\n",
    "Old list.md": "---\nstatus: superseded\n---\nA list.\n",
    "Egg.md": "---\nreplaced_by: Hen\n---\n",
    "Hen.md": "---\nreplaced_by: Egg\n---\n",
    "Self.md": "---\nreplaced_by: Self\n---\n",
    "Plan A.md": "Replaced by [[Plan B]].\n",
    "Plan B.md": "Supersedes [[Plan A]].\n\nReplaced by [[Plan C]].\n",
    "Plan C.md": "---\naliases: [The plan]\n---\nGo.\n",
    "Draft plan.md": "---\nsuperseded_by: The plan\n---\nGo?\n",
    "Cafe prices.md": "---\nsuperseded_by: Menu du cafe\n---\nTea: two euros.\n",
    "Menu.md": "---\naliases: [Menu du café, Öl und Essig]\n---\nTea: three euros.\n",
    "Salads.md": "---\nsuperseded_by: Ol und Essig\n---\nOne salad.\n",
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    snapshot = open_vault(tmp_path_factory.mktemp("replaced"), NOTES)
    yield snapshot
    snapshot.close()


def replaced_paths(corpus: Corpus) -> Mapping[str, tuple[tuple[str, ...], str, str]]:
    paths = corpus.table.paths
    return {
        paths[note]: (tuple(paths[after] for after in found.successors), found.words, found.day)
        for note, found in corpus.facets.replaced.items()
    }


@pytest.mark.parametrize(
    ("path", "successors", "words", "day"),
    [
        ("Pricing 2024.md", ("Pricing 2026.md",), "superseded_by: [[Pricing 2026]]", ""),
        ("adr/0003-cron.md", ("adr/0012-queue.md",), "Status: Superseded by ADR-0012 on 2026-03-01", "2026-03-01"),
        ("rfc/rfc2616.md", ("rfc/rfc7230.md",), "Obsoletes: 2145, 2616", ""),
        ("Hosting.md", (), "Replaced by [[Hosting on metal]]", ""),
        ("Old list.md", (), "status: superseded", ""),
        ("Plan A.md", ("Plan B.md",), "Replaced by [[Plan B]]", ""),
        ("Plan B.md", ("Plan C.md",), "Replaced by [[Plan C]]", ""),
        ("Draft plan.md", ("Plan C.md",), "superseded_by: The plan", ""),
        ("Cafe prices.md", ("Menu.md",), "superseded_by: Menu du cafe", ""),
        ("Salads.md", ("Menu.md",), "superseded_by: Ol und Essig", ""),
    ],
)
def test_an_index_has_what_replaces_a_note(
    corpus: Corpus, path: str, successors: tuple[str, ...], words: str, day: str
) -> None:
    assert replaced_paths(corpus)[path] == (successors, words, day)


def test_notes_that_replace_each_other_or_themselves_are_not_replaced(corpus: Corpus) -> None:
    assert not {"Egg.md", "Hen.md", "Self.md"} & set(replaced_paths(corpus))


def test_several_vaults_have_the_replaced_notes_of_each(tmp_path: Path) -> None:
    other = {"Pricing 2026.md": "Another.\n", "Zebra.md": "Replaced by [[Pricing 2026]]\n"}
    for name in ("a", "b"):
        (tmp_path / name / "vault").mkdir(parents=True)
    with (
        closing(open_vault(tmp_path / "a", other)) as first,
        closing(open_vault(tmp_path / "b", NOTES)) as second,
    ):
        found = replaced_paths(UnionCorpus([("a", first), ("b", second)]))
    assert found["a/Zebra.md"][0] == ("a/Pricing 2026.md",)
    assert found["b/Pricing 2024.md"][0] == ("b/Pricing 2026.md",)


def test_the_successors_of_a_note_are_in_the_order_of_the_chain() -> None:
    rows = [ReplacementRow(note, str(note + 1), "words", "", False) for note in range(3)]
    replaced = resolve_replacements(rows, lambda target, _: int(target))
    assert find_successors(0, replaced) == (1, 2, 3)


@pytest.mark.parametrize(
    ("target", "path", "number"),
    [
        ("12", "adr/0003-a.md", 0),
        ("ADR-0012", "adr/0003-a.md", 0),
        ("RFC 2616", "rfc/rfc7230.txt", 2),
        ("2616", "rfc/rfc7230.txt", 2),
        ("12", "rfc/rfc7230.txt", -1),
        ("PEP 2616", "rfc/rfc7230.txt", -1),
        ("Queue", "adr/0003-a.md", -1),
    ],
)
def test_a_number_means_the_note_of_the_folder_that_begins_with_it(target: str, path: str, number: int) -> None:
    assert find_numbered_note(target, path, ("adr/0012-queue.md", "adr/0120-x.md", "rfc/rfc2616.txt")) == number
