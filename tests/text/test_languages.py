import pytest

from excerpt.text.words import detect_language

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
def test_a_sentence_is_enough(language: str, text: str) -> None:
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
