"""Tests of attachments through the whole engine: search, filters, packs, checks, memories, stale sources.

No one module reads, ranks and packs them. Notebooks represent all attachments with locations inside: they are JSON, so
no library is needed to write them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import excerpt
from excerpt.base.installation import extra_command
from excerpt.base.model import Progress
from excerpt.base.settings import AttachmentSettings, Settings, VaultSettings, load_settings, user_paths
from excerpt.index.build import build
from excerpt.index.snapshot import Snapshot

pytestmark = pytest.mark.programs

TIDES = (
    "# Tides\n\nThe moon pulls the water of the sea twice a day.",
    "Spring tides come at new moon and at full moon, when sun and moon pull along one line.",
    "Neap tides are lower: sun and moon pull at right angles.",
)


def notebook(*cells: str) -> str:
    return json.dumps({"cells": [{"cell_type": "markdown", "source": cell} for cell in cells], "nbformat": 4})


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EXCERPT_HOME", str(tmp_path / "home"))
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "Harbour.md").write_text(
        "---\nkind: place\n---\n# Harbour\n\nBoats wait for the tide, see ![[tides.ipynb#cell=2]].\n", encoding="utf-8"
    )
    (vault / "Moon.md").write_text("# Moon\n\nThe moon is full every four weeks.\n", encoding="utf-8")
    (vault / "tides.ipynb").write_text(notebook(*TIDES), encoding="utf-8")
    (vault / "plan.canvas").write_text(
        json.dumps({"nodes": [{"id": "a1", "type": "text", "text": "Paint the hull in April."}], "edges": []}),
        encoding="utf-8",
    )
    (vault / "log.txt").write_text("Wind from the west, force five.\n", encoding="utf-8")
    (vault / "broken.ipynb").write_text("{", encoding="utf-8")
    (vault / "chart.png").write_bytes(b"\x89PNG")
    return vault


@pytest.fixture
def opened(vault: Path) -> Iterator[excerpt.Vault]:
    with excerpt.open(vault) as found:
        yield found


# --- search -----------------------------------------------------------------------------------------------------------


def test_a_hit_in_an_attachment_has_kind_and_location(opened: excerpt.Vault) -> None:
    hit = opened.search("spring tides at full moon").hits[0]
    assert (hit.fragment.path, hit.fragment.kind, hit.fragment.place) == ("tides.ipynb", "notebook", "cell=2")
    assert hit.to_dict()["place"] == {"kind": "cell", "from": 2, "to": 2}


def test_a_hit_in_a_note_has_neither_kind_nor_location(opened: excerpt.Vault) -> None:
    hit = opened.search("full every four weeks").hits[0]
    assert hit.fragment.path == "Moon.md"
    assert {"kind", "place"}.isdisjoint(hit.to_dict())
    assert {"kind", "place"}.isdisjoint(hit.fragment.to_dict())


def test_locations_are_headings_below_those_of_the_file(opened: excerpt.Vault) -> None:
    assert opened.search("neap tides").hits[0].fragment.heading_path == ("Tides", "Cell 3")


def test_the_filter_kind_selects_attachments_of_one_kind(opened: excerpt.Vault) -> None:
    paths = {hit.fragment.path for hit in opened.search("kind:canvas").hits}
    assert paths == set()  # without attachments, `kind` is a property
    (opened.folder / "Harbour.md").write_text("# Harbour\n\nBoats wait.\n", encoding="utf-8")
    opened.refresh()
    assert {hit.fragment.path for hit in opened.search("kind:canvas").hits} == {"plan.canvas"}
    assert {hit.fragment.path for hit in opened.search("kind:note").hits} == {"Harbour.md", "Moon.md"}
    assert "plan.canvas" not in {hit.fragment.path for hit in opened.search("-kind:canvas").hits}


def test_an_embed_in_a_note_is_a_link_to_the_attachment(opened: excerpt.Vault) -> None:
    assert {hit.fragment.path for hit in opened.search("link:tides.ipynb").hits} == {"Harbour.md"}
    assert {hit.fragment.path for hit in opened.search("from:Harbour").hits} == {"tides.ipynb"}


def test_an_attachment_scores_less_than_a_note_and_a_signal_states_the_difference(opened: excerpt.Vault) -> None:
    hit = opened.search("spring tides").hits[0]
    parts = {signal.name: signal.part for signal in hit.signals}
    assert parts["attachment"] == pytest.approx(-0.2 * (hit.score - parts["attachment"]), rel=1e-5)
    assert sum(parts.values()) == pytest.approx(hit.score, rel=1e-5)


def test_in_a_vault_without_attachments_no_hit_has_the_signal_for_attachments(
    opened: excerpt.Vault, vault: Path
) -> None:
    for file in ("tides.ipynb", "plan.canvas", "log.txt"):
        (vault / file).unlink()
    opened.refresh()
    assert "attachment" not in {signal.name for signal in opened.search("moon").hits[0].signals}


def test_attachments_do_not_change_the_scores_of_notes(opened: excerpt.Vault, vault: Path) -> None:
    def scores() -> dict[str, float]:
        return {
            hit.fragment.id: hit.score for hit in opened.search("the moon and the tide").hits if not hit.fragment.kind
        }

    (vault / "Harbour.md").write_text("# Harbour\n\nBoats wait for the tide.\n", encoding="utf-8")
    beside = scores()
    for file in ("tides.ipynb", "plan.canvas", "log.txt"):
        (vault / file).unlink()
    opened.refresh()
    assert scores() == pytest.approx(beside, abs=1e-6)
    assert len(beside) == 2


# --- status -----------------------------------------------------------------------------------------------------------


def test_the_status_counts_read_and_unread_attachments(opened: excerpt.Vault) -> None:
    status = opened.status()
    assert (status.notes, dict(status.attachments)) == (2, {"canvas": 1, "notebook": 1, "text": 1})
    assert [(one.path, one.reason[:19]) for one in status.skipped] == [("broken.ipynb", "The file is damaged")]
    assert [(one.files, one.what, one.action) for one in status.unread] == [
        (1, "images: OCR is off", "excerpt index --ocr")
    ]


def test_an_unreadable_attachment_is_tried_again_after_a_change(
    opened: excerpt.Vault, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "excerpt.index.changes._CLOCK_TICK_NS", -(10**15)
    )  # treats all files as older than the clock's tick
    opened.load()
    settings, folder = load_settings(), user_paths().index_folder(vault)
    snapshot = Snapshot.open(folder, settings)
    assert snapshot.is_up_to_date(vault)
    snapshot.close()
    (vault / "broken.ipynb").write_text(notebook("Mended at last."), encoding="utf-8")
    opened.refresh()
    assert opened.search("mended at last").hits[0].fragment.path == "broken.ipynb"


def test_notes_are_indexed_before_attachments(vault: Path, tmp_path: Path) -> None:
    seen: list[tuple[str, ...]] = []
    settings, folder = Settings(), tmp_path / "index"

    def look(progress: Progress) -> None:
        if progress.generation == 1 and not seen:
            snapshot = Snapshot.open(folder, settings)
            seen.append(snapshot.note_paths())
            snapshot.close()

    build(vault, folder, settings, look)
    assert seen == [("Harbour.md", "Moon.md")]


def test_a_changed_limit_reads_attachments_again(vault: Path, tmp_path: Path) -> None:
    build(vault, tmp_path / "index", Settings())
    tight = Settings(vault=VaultSettings(attachments=AttachmentSettings(max_bytes=40)))
    report = build(vault, tmp_path / "index", tight)
    assert {one.path for one in report.skipped if "larger than" in one.reason} == {"tides.ipynb", "plan.canvas"}
    assert report.attachments == 1


def test_attachments_can_be_switched_off(vault: Path, tmp_path: Path) -> None:
    build(vault, tmp_path / "index", Settings())
    report = build(vault, tmp_path / "index", Settings(vault=VaultSettings(attachments=AttachmentSettings(read=False))))
    assert (report.removed, report.attachments, report.skipped) == (3, 0, ())


def test_missing_libraries_are_reported_in_one_line_and_the_rest_works(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("excerpt.vault.readers.registry.find_spec", lambda _: None)
    for name in ("a.pdf", "b.pdf", "c.pptx", "d.html"):
        (vault / name).write_bytes(b"x")
    report = build(vault, tmp_path / "index", Settings())
    assert (report.attachments, [one.path for one in report.skipped]) == (3, ["broken.ipynb"])
    snapshot = Snapshot.open(tmp_path / "index", Settings())
    (libraries, _) = snapshot.status().unread
    snapshot.close()
    told = (libraries.files, libraries.what, libraries.action)
    assert told == (4, "1 html, 2 pdf, 1 slides", extra_command("attachments"))


def test_reading_attachments_does_not_run_a_users_script_without_main_guard_twice(vault: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        f"import excerpt\nprint('begun')\nwith excerpt.open({str(vault)!r}) as v:\n"
        "    print(v.search('spring tides').hits[0].fragment.path)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=360, check=False)
    assert (done.stdout.split(), done.stderr) == (["begun", "tides.ipynb"], "")


# --- reading, packs, checks -------------------------------------------------------------------------------------------


def test_a_page_of_an_attachment_is_read_by_its_address(opened: excerpt.Vault) -> None:
    found = opened.read("tides.ipynb#cell=2")
    assert (found.text, found.place, found.kind) == (TIDES[1], "cell=2", "notebook")
    with pytest.raises(excerpt.NotFoundError, match="no heading cell=9"):
        opened.read("tides.ipynb#cell=9")


def test_peek_shows_the_headings_of_a_notebook_instead_of_the_cells_below_them(opened: excerpt.Vault) -> None:
    assert [(entry.heading, entry.place) for entry in opened.peek("tides.ipynb").outline] == [("Tides", "cell=1")]


def found_ids(opened: excerpt.Vault) -> tuple[str, ...]:
    return (opened.search("spring tides full moon").hits[0].fragment_id,)


@pytest.mark.parametrize("form", ["markdown", "xml", "json", "plain"])
def test_a_pack_names_the_location_and_the_check_finds_it(opened: excerpt.Vault, form: str) -> None:
    packed = opened.pack(ids=found_ids(opened), scope="none", format=form)
    text = json.dumps(packed.to_dict()) if form == "json" else packed.text
    assert ("tides.ipynb#cell=2 (notebook, cell 2)" in text) == (form in ("markdown", "plain"))
    checked = opened.check("They come “at new moon and at full moon” [1].", text)
    assert checked.holds
    assert checked.quotations[0].place is not None
    assert checked.quotations[0].place.place == "cell=2"


def test_a_pack_over_several_locations_names_the_first_and_last(opened: excerpt.Vault) -> None:
    (pack,) = opened.pack(ids=found_ids(opened), scope="note").passages
    assert pack.place == "cell=1-3"


def test_a_citation_is_fresh_if_only_the_lines_of_its_location_moved(opened: excerpt.Vault, vault: Path) -> None:
    pack = opened.pack(ids=found_ids(opened), scope="none").text
    longer = f"{TIDES[0]}\n\nAnd the sun pulls too."
    (vault / "tides.ipynb").write_text(notebook(longer, *TIDES[1:]), encoding="utf-8")
    opened.refresh()
    assert opened.check("It is so [1].", pack).comparisons[0].state.value == "stands"
    (vault / "tides.ipynb").write_text(notebook(TIDES[0], "Something else.", TIDES[1]), encoding="utf-8")
    opened.refresh()
    (check_source,) = opened.check("It is so [1].", pack).comparisons
    assert (check_source.state.value, check_source.place) == ("moved", "cell=3")


# --- memories ---------------------------------------------------------------------------------------------------------


def test_a_memory_has_the_location_and_is_stale_when_the_file_changes(opened: excerpt.Vault, vault: Path) -> None:
    hit = opened.search("neap tides").hits[0]
    memory = opened.memories.remember(fragment=hit.fragment.id).memory
    assert memory.source is not None
    assert memory.source.place == "cell=3"
    assert opened.memories.all().memories[0].source == memory.source
    assert opened.memories.check_source(memory.id).kind.value == "fresh"
    (vault / "tides.ipynb").write_text(
        notebook(*TIDES[:2], "Neap tides are much higher: sun and moon pull at right angles."), encoding="utf-8"
    )
    opened.refresh()
    check_source = opened.memories.check_source(memory.id)
    assert check_source.is_stale
    assert check_source.source is not None
    assert check_source.source.place == "cell=3"
