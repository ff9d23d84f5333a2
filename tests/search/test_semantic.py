from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from excerpt.search.engine import Engine
from excerpt.search.evidence import compute_meaning_factor, scale_above_mean
from excerpt.settings import Settings
from tests.search.library import open_vault

COSINES = np.array([0.9, 0.5, 0.3, 0.7], np.float32)


def test_the_nearest_is_one_and_the_ordinary_is_none() -> None:
    found = scale_above_mean(COSINES, mean=0.5, highest=0.9)
    assert found.tolist() == pytest.approx([1.0, 0.0, 0.0, 0.5])


def test_where_nothing_stands_out_nothing_counts() -> None:
    assert scale_above_mean(np.zeros(2, np.float32), mean=0.0, highest=0.0).tolist() == [0.0, 0.0]


def test_english_is_trusted_wholly() -> None:
    assert compute_meaning_factor("how do I keep notes", ("en", "de"), ()) == 1.0


def test_a_vault_of_no_known_language_counts_as_english() -> None:
    assert compute_meaning_factor("notes", (), ()) == 1.0


def test_other_languages_are_trusted_less_and_other_scripts_not() -> None:
    assert 0 < compute_meaning_factor("Wie behalte ich Notizen", ("de", "en"), ()) < 1
    assert compute_meaning_factor("新しい保管庫", ("ja",), ()) == 0.0


def test_a_mixed_query_is_trusted_in_part() -> None:
    assert 0 < compute_meaning_factor("Obsidian 同期", ("en",), ()) < 1


def test_the_letters_of_the_languages_that_a_model_knows_count() -> None:
    assert compute_meaning_factor("新しい保管庫", ("ja",), ("en", "ja")) == 1.0
    assert compute_meaning_factor("как вести заметки", ("ru",), ("en", "ru")) == 1.0
    assert compute_meaning_factor("Wie behalte ich Notizen", ("de",), ("de", "en")) == 1.0
    assert compute_meaning_factor("как вести заметки", ("ru",), ("en", "ja")) == 0.0


def test_a_query_without_letters_is_no_other_language() -> None:
    assert compute_meaning_factor("1.0.21", ("en",), ()) == 1.0


def test_a_fragment_alone_in_its_vault_does_not_stand_out(tmp_path: Path) -> None:
    snapshot = open_vault(tmp_path, {"Kitchen.md": "# Kitchen\n\nSimmer red lentils with cumin.\n"})
    assert not Engine(snapshot, Settings()).search("walrus").hits
    snapshot.close()
