"""Tests of words: how text is split, folded and stemmed, and which language it is in."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.text import words
from excerpt.text.folding import MAX_TERM_CHARACTERS, fold, stem
from excerpt.text.languages import detect_language
from excerpt.text.words import analyze, query_terms, terms_of
from tests.text.notes import NOTES


def found(text: str, query: str, language: str = "en", languages: tuple[str, ...] = ("en",)) -> bool:
    """Return whether a text contains every word of a query, with compounds as wholes."""
    terms = set(terms_of(text, language)[0])
    words = query_terms(query, languages)
    wholes = {(word.start, word.end) for word in words if word.is_compound}
    asked = [w for w in words if w.is_compound or not any(a <= w.start and w.end <= b for a, b in wholes)]
    return bool(asked) and all(terms & set(word.terms) for word in asked)


@pytest.mark.parametrize(
    "word",
    [
        "AI",
        "Go",
        "C",
        "C++",
        "C++20",
        "C#",
        "F#",
        "g++",
        "R&D",
        "AT&T",
        "1.0.21",
        "v1.0.21",
        "2024-01-15",
        "3.14",
        "don't",
        "state-of-the-art",
        "snake_case",
        "__init__",
        "camelCase",
        "HTTPServer",
        "PowerShell",
        "URLs",
        "foo/bar/baz.md",
        "src\\main.c",
        "jane.doe@example.com",
        "UTF-8",
        "U.S.A.",
        "O'Reilly",
        "l'école",
        "Café",
        "naïve",
        "Straße",
        "数据同步",
        "水",
        "データベース",
        "동기화",
        "ภาษาไทย",
        "ប្រទេស",
        "हिन्दी",
        "Python编程",
        ".NET",
        ".gitignore",
        "4K",
        "x²",
    ],
)
def test_a_text_is_found_by_its_own_words(word: str) -> None:
    assert found(f"some text, then ({word}) and more", word)
    assert found(word, word)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("the state-of-the-art method", "state art"),
        ("see docs/guide/setup.md", "setup.md"),
        ("see docs/guide/setup.md", "guide"),
        ("call read_config_file()", "config"),
        ("an HTTPServer here", "http server"),
        ("an HTTPServer here", "httpserver"),
        ("the wiki-link syntax", "wikilink"),
        ("the WikiLink syntax", "wiki-link"),
        ("WIKI_LINK", "wikilinks"),
        ("written in C++20", "C++"),
        ("a .NET app", "net"),
        ("`.gitignore` files", "gitignore"),
        ("größer als .NET", ".net"),
        ("Dienste mit „.NET“ und «.NET»", ".NET"),
        ("**.NET** is bold", ".NET"),
        ("_.NET_ and more", ".NET"),
        ("__.NET__", ".net"),
        ("_.NET Core_", ".NET"),
        ("_runs on .NET_", ".NET"),
        ("mit _.NET-Anwendung_", ".NET"),
        ("läuft auf _.NET_", ".NET"),
        ("a .NET app", "_.NET_"),
        ("_.NET_入門", ".NET"),
        ("_.map(list)", "map"),
        ("| a |.NET| b |", ".NET"),
        ("日本語.NET入門", ".NET"),
        ("「.NET」", ".net"),
        ("eine .NET-Anwendung", ".NET"),
        ("a .NET app", "«.NET»"),
        ("version v1.0.21", "1.0.21"),
        ("we'll see John’s notes", "john"),
        ("made in the U.S.A.", "USA"),
        ("dont panic", "don't"),
        ("jane.doe@example.com", "doe"),
        ("l’école", "école"),
        ("many notifications", "notification"),
        ("使用Python编程", "编程"),
        ("ｶﾞｲﾄﾞ", "ガイド"),
        ("動く\u30c6\u3099\u30fc\u30bf", "データ"),
        ("\u1103\u1169\u11bc\u1100\u1175", "동기"),
        ("동기화를", "동기화"),
        ("책을 읽다", "책"),
        ("水果", "果"),
        ("ไปมา", "มา"),
    ],
)
def test_a_part_or_another_spelling_is_found(text: str, query: str) -> None:
    assert found(text, query)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("C is old", "C++"),
        ("mend the net", ".NET"),
        ("ASP.NET", ".NET"),
        ("It ends (so).Net weight", ".NET"),
        ("the end_.Net weight", ".NET"),
        ("_the net_", ".NET"),
        ("Größe.Net", ".NET"),
        ("1.0.2", "1.0.21"),
        ("数学和据点", "数据"),
        ("r d", "R&D"),
    ],
)
def test_other_words_are_not_found(text: str, query: str) -> None:
    assert not found(text, query)


def test_a_compound_is_one_term_at_its_first_position_and_its_parts_follow() -> None:
    terms, positions = terms_of("a state-of-the-art idea", "en")
    assert list(zip(terms, positions, strict=True)) == [
        *(("a", 0), ("stateoftheart", 1), ("state", 1), ("of", 2), ("the", 3), ("art", 4), ("idea", 5)),
    ]


def test_a_camel_case_word_takes_one_position_like_its_plain_spelling() -> None:
    camel = dict(zip(*terms_of("PowerShell module", "en"), strict=True))
    plain = dict(zip(*terms_of("powershell module", "en"), strict=True))
    assert {term: camel[term] for term in plain} == plain


def test_chinese_text_has_terms_of_two_characters_and_of_one_at_each_position() -> None:
    terms, positions = terms_of("数据库, 水 x", "zh")
    assert list(zip(terms, positions, strict=True)) == [
        *(("数", 0), ("数据", 0), ("据", 1), ("据库", 1), ("库", 2), ("水", 3), ("x", 4)),
    ]


def test_a_chinese_query_is_searched_by_pairs_and_a_single_character_only_if_alone() -> None:
    assert [word.terms for word in query_terms("数据库 水", ["zh"])] == [("数据",), ("据库",), ("水",)]


def test_offsets_point_at_the_original_text() -> None:
    text = "See **docs/Read-Me.md** – Café 数据库!"
    analysis = analyze(text, "en")
    written = {term: text[a:b] for term, a, b in zip(analysis.terms, analysis.starts, analysis.ends, strict=True)}
    assert written["docs/read-me.md"] == "docs/Read-Me.md"
    assert written["readm"] == "Read-Me"
    assert written["cafe"] == "Café"
    assert written["据库"] == "据库"


def test_a_query_has_the_stems_of_every_language_of_the_vault() -> None:
    (word,) = query_terms("Häuser", ["de", "en"])
    assert word.terms == ("haus", "hauser")


def test_a_query_finds_notes_of_unknown_language() -> None:
    (word,) = query_terms("notifications", ["de"])
    assert set(terms_of("notification", "")[0]) <= set(word.terms)


def test_parts_of_a_version_number_are_not_searched() -> None:
    assert [word.surface for word in query_terms("1.0.21", ["en"])] == ["1.0.21"]
    assert [word.surface for word in query_terms("C++", ["en"])] == ["C++"]


def test_a_query_word_states_whether_it_is_a_whole_compound() -> None:
    words = query_terms("snake_case names", ["en"])
    assert [(w.surface, w.is_compound, w.position) for w in words] == [
        ("snake_case", True, 0), ("snake", False, 0), ("case", False, 1), ("names", False, 2),
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", " ", "_", "__", "-_-", "...", "++", "#", "'", "\u0301", "🎉", "\u200d"])
def test_punctuation_alone_is_not_a_word(text: str) -> None:
    assert terms_of(text) == ([], [])
    assert query_terms(text, ["en"]) == []


ANY_TEXT = NOTES | st.text(st.characters(codec=None), max_size=100)


@given(ANY_TEXT, st.sampled_from(["", "en", "de", "ru", "ar", "zh", "xx"]))
def test_the_fast_analysis_equals_the_full_one(text: str, language: str) -> None:
    analysis = analyze(text, language)
    assert terms_of(text, language) == (analysis.terms, analysis.positions)


@given(ANY_TEXT)
def test_terms_are_ordered_and_inside_the_text(text: str) -> None:
    analysis = analyze(text, "en")
    assert all(analysis.terms)
    assert analysis.positions == sorted(analysis.positions)
    assert all(0 <= a < b <= len(text) for a, b in zip(analysis.starts, analysis.ends, strict=True))


@given(ANY_TEXT, st.sampled_from(["", "en", "fr", "ar"]))
def test_a_text_typed_as_a_query_has_terms_of_the_indexed_text(text: str, language: str) -> None:
    terms = set(terms_of(text, language)[0])
    for word in query_terms(text, [language]):
        assert terms & set(word.terms)
        assert text[word.start : word.end] == word.surface


ACCENTED_WORDS = st.text(
    st.sampled_from("aáàâäãåąăạảấcčçćdďđðeéèêëęěệgğhiíìîïıjklłmnñňńoóòôöõőøơpqrřsśšşßtťţuúùûüůűưvwxyýzžźż"),
    min_size=1,
    max_size=12,
)


@given(ACCENTED_WORDS, st.sampled_from(["", "en", "fr", "pl", "cs", "es", "tr", "hu", "pt", "sv", "de", "vi", "ro"]))
def test_a_word_with_accents_and_the_word_without_them_find_each_other(word: str, language: str) -> None:
    for written, typed in ((word, fold(word)), (fold(word), word)):
        terms = [term for asked in query_terms(typed, [language]) for term in asked.terms]
        assert not set(terms).isdisjoint(terms_of(written, language)[0])


@given(ACCENTED_WORDS)
def test_a_word_with_two_terms_is_matched_once_per_occurrence(word: str) -> None:
    for written in (word, fold(word)):
        for typed in (word, fold(word)):
            (asked,) = query_terms(typed, [])
            assert len(set(asked.terms).intersection(terms_of(written)[0])) == 1


_LATIN_AND_SIGNS = st.characters(max_codepoint=0x2BFF).filter(lambda sign: not words._MARKED_OR_WIDE.search(sign))


@given(
    st.lists(
        st.one_of(st.text(_LATIN_AND_SIGNS, max_size=4), st.sampled_from("-_.'’&/+#‐‑\u00ad\u200d a1é")), max_size=8
    )
)
def test_the_fast_pattern_finds_the_same_words_in_text_of_plain_latin_letters(parts: list[str]) -> None:
    text = "".join(parts)
    quick, any_text = words._narrow_chunk(), words._wide_chunk()
    assert [one.span() for one in quick.finditer(text)] == [one.span() for one in any_text.finditer(text)]


def test_every_combining_mark_and_letter_of_unspaced_scripts_is_recognised() -> None:
    letters = map(chr, range(0x80, 0x110000))
    rest = [one for one in letters if one.isprintable() and not words._MARKED_OR_WIDE.search(one)]
    odd = [one for one in rest if (found := words._wide_chunk().search(one)) and (found.lastgroup or found[0] != one)]
    assert not odd
    assert not [one for one in rest if unicodedata.category(one)[0] == "M" and one < "\U0001f000"]


@pytest.mark.parametrize(
    ("one", "other", "language"),
    [
        ("Café", "cafe", "fr"),
        ("naïve", "NAIVE", "en"),
        ("Häuser", "haus", "de"),
        ("Haeuser", "Häuser", "de"),
        ("Straße", "STRASSE", "de"),
        ("İstanbul", "istanbul", "tr"),
        ("ılık", "ilik", "tr"),
        ("Ærø", "aero", "da"),
        ("Łódź", "lodz", "pl"),
        ("ﬁle", "file", "en"),
        ("ＡＢＣ", "abc", ""),
        ("ещё", "еще", "ru"),
        ("синхронизация", "синхронизации", "ru"),
        ("σύγχρονος", "ΣΥΓΧΡΟΝΟΣ", "el"),
        ("أحمد", "احمد", "ar"),
        ("يُمْكِنُ", "يمكن", "ar"),
        ("كتـــاب", "كتاب", "ar"),
        ("المزامنة", "مزامنه", "ar"),
        ("والكتاب", "كتاب", "ar"),
        ("notifications", "notification", ""),
        ("co\u00adoperate", "cooperate", "en"),
        ("e\u0301te\u0301", "été", "fr"),
    ],
)
def test_different_spellings_fold_to_one_word(one: str, other: str, language: str) -> None:
    assert stem(one, language) == stem(other, language)


@pytest.mark.parametrize(
    ("one", "other", "language"),
    [("кот", "код", "ru"), ("schon", "schein", "de"), ("की", "का", "hi"), ("が", "か", "ja")],
)
def test_words_that_differ_in_more_than_spelling_fold_to_different_words(one: str, other: str, language: str) -> None:
    assert stem(one, language) != stem(other, language)


def test_a_word_in_another_script_is_stemmed_by_the_rules_of_that_script() -> None:
    assert stem("notifications", "ja") == stem("notification", "ja")
    assert stem("синхронизации", "en") == stem("синхронизация", "en")


def test_words_of_one_and_two_letters_are_kept() -> None:
    assert [stem(word, "en") for word in ("AI", "Go", "R", "as", "is")] == ["ai", "go", "r", "as", "is"]


def test_a_very_long_word_is_truncated() -> None:
    assert stem("x1" * 1000, "") == "x1" * (MAX_TERM_CHARACTERS // 2)


def test_folding_removes_no_letter_of_a_word() -> None:
    assert fold("Crème Brûlée, Straße 5") == "creme brulee, strasse 5"


SENTENCES = {
    "en": "The search finds every passage of a note, even if you do not remember the exact words that are in it.",
    "de": "Die Suche findet jede Stelle einer Notiz, auch wenn man sich nicht an die Wörter erinnert.",
    "fr": "La recherche trouve chaque passage des notes, même si vous ne vous rappelez pas les mots.",
    "es": "La búsqueda encuentra cada pasaje de una nota, aunque no recuerde las palabras que contiene.",
    "it": "La ricerca trova ogni passaggio di una nota, anche se non si ricordano le parole della frase.",
    "pt": "A pesquisa encontra cada trecho de uma nota, mesmo que você não se lembre das palavras com que foi escrita.",
    "nl": "De zoekfunctie vindt elke passage van een notitie, ook als je de woorden niet meer weet.",
    "sv": "Sökningen hittar varje stycke i en anteckning, även om du inte minns de ord som står där.",
    "fi": "Haku löytää jokaisen kohdan, vaikka et muistaisi sanoja, sillä se ei ole niin tarkka, ja se on nopea.",
    "ru": "Поиск находит любой отрывок заметки, даже если вы не помните слов, и это можно сделать быстро.",
    "uk": "Пошук знаходить будь-який уривок нотатки, навіть якщо ви не пам'ятаєте слів, і це можна зробити швидко.",
    "ar": "يجد البحث كل مقطع من الملاحظات حتى لو لم تتذكر الكلمات التي كتبت في هذا النص.",
    "el": "Η αναζήτηση βρίσκει κάθε απόσπασμα, ακόμη και αν δεν θυμάστε τις λέξεις.",
    "zh": "搜索可以找到笔记中的任何片段，即使你不记得确切的词语。",
    "ja": "検索は正確な言葉を覚えていなくても、ノートのどの部分でも見つけます。",
    "ko": "검색은 정확한 단어를 기억하지 못해도 노트의 모든 부분을 찾습니다.",
    "th": "การค้นหาพบทุกข้อความในบันทึก แม้จำคำไม่ได้",
}


@pytest.mark.parametrize(("language", "text"), SENTENCES.items())
def test_a_sentence_is_enough_to_detect_the_language(language: str, text: str) -> None:
    assert detect_language(text) == language


def test_code_and_names_have_no_language() -> None:
    assert detect_language("int x = f(a, b); i++; x = y + z;") == ""
    assert detect_language("Smith, Jones, Brown, Taylor, Wilson, Davies") == ""
    assert detect_language("") == ""


def test_a_note_full_of_foreign_names_keeps_its_language() -> None:
    assert detect_language("用 GitHub Actions 和 Docker Compose 部署 PostgreSQL 数据库的笔记，很简单。") == "zh"


def test_a_quotation_does_not_change_the_language() -> None:
    quoting = "这篇笔记引用了日文的一句话：「こんにちは」。"
    rest = "除此之外都是中文，讲的是如何整理笔记和搜索笔记，还有怎样把笔记同步到别的设备，怎样备份，怎样导出。"
    assert detect_language(quoting + rest) == "zh"


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("quite un**believ**able", "unbelievable"),
        ("quite unbelievable", "un**believ**able"),
        ("quite un**believ**able", "un**believ**able"),
        ("die Haus**tür**en", "haustüren"),
        ("это не**вероят**но", "невероятно"),
        ("これは**日本**語です", "日本語"),
        ("これは日本語です", "**日本**語"),
        ("ไป**มา**แล้ว", "มาแล้ว"),
        ("H<sub>2</sub>O boils", "H2O"),
        ("`a**b**c` is code", "b"),
    ],
)
def test_a_word_with_markdown_marks_inside_is_found_without_the_marks(text: str, query: str) -> None:
    assert found(text, query)


def test_a_word_with_markdown_marks_inside_takes_one_position_and_its_span_includes_the_marks() -> None:
    text = "an un**believ**able story"
    analysis = analyze(text, "en")
    assert analysis.positions == [0, 1, 2]
    assert [text[a:b] for a, b in zip(analysis.starts, analysis.ends, strict=True)] == [
        *("an", "un**believ**able", "story"),
    ]
    assert [word.surface for word in query_terms(text, ["en"])] == ["an", "un**believ**able", "story"]
