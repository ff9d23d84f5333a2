"""The analyzer of notes and queries, which splits text into terms with positions.

The module also detects languages.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import repeat
from typing import NamedTuple

import Stemmer
from msgspec import Struct

# --- folding ----------------------------------------------------------------------------------------------------------
# A word of any script -> the form it is indexed under: folded, and stemmed by the language of its script.
#
# Stemming precedes the removal of marks, since stemmers of French, Russian or Swedish use them; then the stem is
# stripped, so that "Café", "café" and "cafe" are one term. ä becomes a (not ae), as in a query typed without umlauts
# and as the German stemmer does; that stemmer reads "ae" as "ä", so "Haeuser" finds "Häuser" in a German note.
#
# Where a stemmer reads accents, a word has another stem without them: "klientów" is klient, "klientow" klientow. Such a
# word has a second term at its position, the stem of the word without accents, ended by UNACCENTED_MARK. A query word
# without accents asks for both terms, one with accents for its stem and for that of the unaccented spelling. So every
# occurrence counts once, and the mark tells counts and lengths what is no word of its own.

MAX_TERM_CHARACTERS = 64
"""Maximum number of characters of a term; of longer words (encoded data) the beginning is indexed."""

_ALGORITHMS = {
    "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish",
    "et": "estonian", "eu": "basque", "fa": "persian", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi",
    "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian", "ne": "nepali",
    "nl": "dutch", "no": "norwegian", "pl": "polish", "pt": "portuguese", "ro": "romanian", "ru": "russian",
    "sr": "serbian", "sv": "swedish", "ta": "tamil", "tr": "turkish",
}  # fmt: skip
_SCRIPT_RANGES = (
    ("el", "\u0370", "\u03ff"), ("ru", "\u0400", "\u052f"), ("hy", "\u0530", "\u058f"),
    ("ar", "\u0600", "\u06ff"), ("hi", "\u0900", "\u097f"), ("ta", "\u0b80", "\u0bff"),
)  # fmt: skip
_SCRIPT_BY_LANGUAGE = {
    "el": "el", "ru": "ru", "uk": "ru", "bg": "ru", "sr": "ru", "hy": "hy", "ar": "ar", "fa": "ar", "hi": "hi",
    "ne": "hi", "ta": "ta", "zh": "", "ja": "", "ko": "", "th": "", "lo": "", "my": "", "km": "", "he": "",
}  # fmt: skip

# Joiners, soft hyphens and direction marks are not part of a word.
_IGNORED = re.compile("[\u00ad\u034f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff\u0640]")
# Marks that a reader may leave out: Latin, Greek and Cyrillic accents, Hebrew points, Arabic vowel signs. Marks of
# Indic scripts are kept, as they spell vowels.
_MARKS = re.compile(
    "[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0]"
)
# Letters with a stroke or ligature that Unicode does not decompose; dotless i; similar Arabic and Persian letters.
_LETTER_VARIANTS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "æ": "ae", "œ": "oe", "þ": "th", "ı": "i", "ĸ": "k"}
    | {"ى": "ي", "ی": "ي", "ة": "ه", "ک": "ك", "ٱ": "ا"}
)


def fold(text: str) -> str:
    """Return `text` in lower case, without accents, with "o" for "ø" and the like. It is not stemmed."""
    return text.lower() if text.isascii() else _strip_marks(_normalise(text))


UNACCENTED_MARK = "\u0301"
"""Last character of the second term of a word with accents; no other term ends with it, as accents are removed."""


def stem(word: str, language: str) -> str:
    """Return the index term of `word` (without separators) in a note in `language`: folded and stemmed.

    The word is stemmed as one of the note's language if it is in that language's script, else as one of the most common
    language in its own script. A note of unknown language ("") counts as English: it is mostly names, code and
    headings.
    """
    return _stem_lowered(_lower(word), language)


def indexed_terms(word: str, language: str) -> tuple[str, ...]:
    """Return the terms under which `word` is indexed in a note in `language`: its stem, and the term without accents.

    The second is left out where the word has the same stem without its accents.
    """
    if word.isascii():
        return (_stem_lowered(word.lower()[:MAX_TERM_CHARACTERS], language),)
    lowered = _lower(word)
    own = _stem_lowered(lowered, language)
    if lowered.isascii() or (plain := remove_accents(lowered)) == lowered:
        return (own,)
    unaccented = _stem_lowered(plain, language)
    return (own,) if unaccented == own else (own, unaccented + UNACCENTED_MARK)


def _searched_terms(word: str, language: str) -> tuple[str, ...]:
    """Return the terms for which a query word is searched in notes in `language`, its stem first."""
    lowered = _lower(word)
    own = _stem_lowered(lowered, language)
    if lowered.isascii() or (plain := remove_accents(lowered)) == lowered:
        return (own, own + UNACCENTED_MARK) if lowered.isalpha() else (own,)
    return own, _stem_lowered(plain, language)


def remove_accents(lowered: str) -> str:
    """Return a word in lower case as it is typed without accents.

    Of Cyrillic letters only stress and ё count: й and ї are letters that nobody leaves out.
    """
    if any("\u0400" <= character <= "\u052f" for character in lowered):
        return _STRESS.sub("", unicodedata.normalize("NFC", lowered)).replace("ё", "е")
    return _strip_marks(lowered)


_STRESS = re.compile("[\u0300\u0301]")


def _lower(word: str) -> str:
    return (word.lower() if word.isascii() else _normalise(word))[:MAX_TERM_CHARACTERS]


def _stem_lowered(lowered: str, language: str) -> str:
    if lowered.isalpha():
        script = _script_of_letter(lowered[0])
        if script == "ar" and language != "fa":
            return _stem_arabic(_strip_marks(lowered))
        own = (
            language if language and _SCRIPT_BY_LANGUAGE.get(language, "latin") == script else _default_language(script)
        )
        # Bulgarian and Ukrainian have no stemmer of their own; the Russian one knows many of their endings.
        algorithm = _ALGORITHMS.get("ru" if script == "ru" and own not in _ALGORITHMS else own)
        if algorithm:
            lowered = _stemmer(algorithm).stemWord(lowered) or lowered
    return lowered if lowered.isascii() else _strip_marks(lowered)


def _normalise(text: str) -> str:
    return _IGNORED.sub("", unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()))


def _strip_marks(lowered: str) -> str:
    bare = _MARKS.sub("", unicodedata.normalize("NFD", lowered))
    return unicodedata.normalize("NFC", bare).translate(_LETTER_VARIANTS)


def _script_of_letter(letter: str) -> str:
    """Return the script of a letter: "latin", the code of its main language ("ru"), or "" (no stemmer)."""
    if letter < "\u0250" or "\u1e00" <= letter <= "\u1eff":
        return "latin"
    for script, first, last in _SCRIPT_RANGES:
        if first <= letter <= last:
            return script
    return ""


def _default_language(script: str) -> str:
    return "en" if script == "latin" else script


@cache
def _stemmer(algorithm: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(algorithm, 0)  # 0: without its own cache, because terms are cached here


# Light10 (Larkey, Ballesteros and Connell, 2007), still the best stemmer for Arabic retrieval: it removes "and", the
# article with its prepositions, and endings, and keeps broken plurals.
_ARTICLES = ("وال", "بال", "كال", "فال", "ال", "لل")
_ENDINGS = ("ها", "ان", "ات", "ون", "ين", "يه", "ه", "ي")


def _stem_arabic(word: str) -> str:
    if len(word) > 3 and word[0] == "و":
        word = word[1:]
    for article in _ARTICLES:
        if word.startswith(article) and len(word) >= len(article) + 2:
            word = word[len(article) :]
            break
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) >= len(ending) + 2:
            word = word[: -len(ending)]
    return word


# --- languages --------------------------------------------------------------------------------------------------------
# Which language a text is written in, from its script and its most common words.
#
# It must be cheap (only the first thousands of characters are examined) and right often enough to choose a stemmer. A
# text that is too short or too mixed has no language, "".

SAMPLE_CHARACTERS = 4000
"""Number of characters that are examined of a text.

More changed no result on seven translations of one vault.
"""

# The most common function words of each language; languages differ by the words that others do not share.
_STOP_WORDS = {
    "en": "the of and to in is that it for with as on are this be you by or not from can have an at will if when which",
    "de": "der die und das ist nicht ein eine zu den mit auf für sie von im dem des sich auch oder werden wird kann "
    "wenn einen einem wie es du dein deine ihre aus bei",
    "fr": "le la les des et est une un du dans pour que qui sur pas vous avec ce par au sont plus ou ne il aux "
    "cette votre",
    "es": "el la los las de y en que un una es por con para se del al como no su lo más este esta puede si tu o",
    "it": "il di che la e un una per è non in del della con sono i le si da come nel alla gli questo più anche lo",
    "pt": "o a os as de e que em um uma do da para com não no na por se mais dos das como ao você é seu são ou",
    "nl": "de het een en van in is dat op te voor met niet zijn aan je of die als om er ook door naar bij wordt dit "
    "kan",
    "sv": "och att det i en som är på av för med den till inte om ett har de kan från du eller när så var din",
    "no": "og det i er på som en å for med av til ikke at har den et kan om fra du eller når så var din hvis",
    "da": "og det i er på som en at for med af til ikke har den et kan om fra du eller når så var din hvis vil",
    "fi": "ja on ei että se oli hän mutta ovat kun tai myös jos voi sen joka tämä niin kuin ole sitä",
    "hu": "a az és hogy nem egy is ez van meg de ha vagy csak már mint el még azt lehet",
    "ro": "și de în a la cu pe nu este să o că un din pentru mai care se sunt sau fi prin",
    "tr": "ve bir bu için ile da de olarak çok daha olan gibi ne var en sonra kadar veya değil ya her",
    "pl": "i w na nie się z do to że jest o jak od po za ale co dla przez są lub może tak oraz być",
    "cs": "a se v na je že to s z do o i jako pro jsou ale by nebo po které když ve jsem tak pokud",
    "ca": "el la els les de i en que un una és per amb no es del al com més o si aquest aquesta pot",
    "id": "yang dan di untuk dengan ini itu dari pada tidak adalah dalam akan ke atau juga dapat anda oleh bisa",
    "vi": "và của là có không cho được trong một các người với này để những khi đã từ cũng bạn",
    "ru": "и в не на что с по как это для к из от или за но а если вы при так можно его то у все чтобы",
    "uk": "і в не на що з та до як це для від або за але у якщо ви при так можна його то все є щоб",
    "bg": "и в на не се за да от е с че по са като или ще до това при си може които",
    "ar": "في من على أن إلى هذا هذه التي الذي عن مع لا ما أو كان إذا يمكن كل بعد ذلك هو هي ثم لم قد",
    "fa": "و در به از که این را با است برای آن یک می های شود خود بر تا اگر یا هم شما",
    "hi": "के है में की और से का को पर यह हैं एक कि नहीं लिए भी तो या ने हो",
}
_LANGUAGES_BY_WORD: dict[str, tuple[str, ...]] = {}
for _language, _words in _STOP_WORDS.items():
    for _word in set(_words.split()):
        # Words of one Latin letter are as often names of variables.
        if len(_word) > 1 or not _word.isascii():
            _LANGUAGES_BY_WORD[_word] = (*_LANGUAGES_BY_WORD.get(_word, ()), _language)


def is_function_word(word: str, languages: Iterable[str]) -> bool:
    """Return whether the folded `word` is a function word ("the", "with") in one of `languages`."""
    return not set(_LANGUAGES_BY_WORD.get(word, ())).isdisjoint(languages)


_QUESTION_WORDS = frozenset(("a", "how", "what", "why", "where", "who", "do", "does", "did", "i", "my", "we", "our"))
"""English words that say nothing about a query's subject, and that `_STOP_WORDS` lacks."""


def is_question_word(word: str) -> bool:
    """Return whether the folded `word` is an English word that says nothing about a question's subject ("how")."""
    return word in _QUESTION_WORDS


def select_stop_words(words: Collection[str], languages: Iterable[str]) -> frozenset[str]:
    """Return the stop words among the folded `words`, or an empty set if all of them are stop words."""
    languages = tuple(languages)
    stop_words = {word for word in words if word in _QUESTION_WORDS or is_function_word(word, languages)}
    return frozenset(stop_words) if len(stop_words) < len(set(words)) else frozenset()


# Negating words; * is any ending. The same word may mean something else in another language (Portuguese "no" is "in
# the"), so the lists are by language.
_NEGATIONS = {
    "en": "not no never nor none neither nobody nothing nowhere without cannot cant dont",
    "de": "nicht kein* nie niemals niemand* nichts nirgend* ohne weder",
    "fr": "ne pas jamais sans rien aucun* ni guère non nul nulle",
    "es": "no nunca jamás sin ni nada nadie ningun* ningún tampoco",
    "it": "non mai senza né nessun* niente nulla neanche nemmeno",
    "pt": "não nunca jamais sem nem nada ninguém nenhum* tampouco",
    "nl": "niet geen nooit zonder niemand niets nergens noch",
    "sv": "inte icke ej aldrig utan ingen inget inga ingenting varken",
    "no": "ikke ikkje aldri uten ingen intet ingenting verken",
    "da": "ikke aldrig uden ingen intet ingenting hverken",
    "fi": "ei emme ette eivät älä älkää ilman koskaan",
    "hu": "nem ne sem se soha nélkül nincs* sincs*",
    "ro": "nu niciodată fără nici nimic nimeni niciun nicio",
    "tr": "değil* hiç asla yok yoktur olmadan",
    "pl": "nie nigdy bez ani nikt nic żaden żadn*",
    "cs": "ne není nejsou nikdy bez ani nic nikdo žádn* nesmí* nelze nemus* nemůže* nemá nebude* nebyl*",
    "ca": "no mai sense ni res ningú cap",
    "id": "tidak bukan jangan tanpa belum",
    "vi": "không chẳng đừng chưa chớ",
    "ru": "не ни нет никогда без нельзя никто ничего ничто",
    "uk": "не ні ані ніколи без немає ніхто нічого",
    "bg": "не нито няма никога без никой нищо",
    "ar": "لا لم لن ليس ليست ولا ولم ولن وليس غير بدون دون",
    "fa": "نه نیست نیستند نباید نمی* هرگز بدون هیچ",
    "hi": "नहीं न मत ना बिना",
    "el": "δεν δε μην μη όχι ποτέ χωρίς ούτε",
    "hy": "ոչ չի չէ չեն երբեք առանց",
    "he": "לא אין בלי ללא",
}
# Words that restrict or reverse a sentence without negating it.
_RESTRICTIONS = {
    "en": "unless except excepting only hardly scarcely barely rarely seldom merely instead forbidden prohibited",
    "de": "außer nur kaum selten sofern ausgenommen lediglich verboten statt",
    "fr": "sauf seulement rarement uniquement interdit* excepté plutôt",
    "es": "salvo excepto solo sólo solamente apenas raramente únicamente prohibid*",
    "it": "salvo eccetto tranne solo soltanto raramente appena vietat*",
    "pt": "salvo exceto só somente apenas raramente proibid*",
    "nl": "tenzij behalve alleen slechts nauwelijks zelden verboden",
    "sv": "förutom utom bara endast knappast sällan förbjud*",
    "no": "unntatt bare kun knapt sjelden forbudt",
    "da": "undtagen bare kun næppe sjældent forbudt",
    "fi": "paitsi vain tuskin harvoin ellei",
    "hu": "kivéve csak alig ritkán hacsak tilos",
    "ro": "decât doar numai abia rareori exceptând interzis*",
    "tr": "hariç sadece yalnızca ancak nadiren yasak*",
    "pl": "chyba oprócz tylko ledwo rzadko wyjątkiem zabron*",
    "cs": "kromě pouze jen sotva zřídka leda zakáz*",
    "ca": "llevat excepte només rarament prohibi*",
    "id": "kecuali hanya jarang dilarang",
    "vi": "trừ chỉ hiếm cấm",
    "ru": "кроме только лишь едва редко исключением запрещ*",
    "uk": "крім лише тільки ледве рідко заборон*",
    "bg": "освен само едва рядко забран*",
    "ar": "إلا سوى عدا فقط نادرا ممنوع",
    "fa": "مگر جز فقط تنها ممنوع",
    "hi": "केवल सिर्फ सिवाय",
    "el": "εκτός μόνο σπάνια μόλις",
    "hy": "միայն բացի հազիվ",
    "he": "רק אלא למעט",
}
# The same in scripts without spaces, and in Korean, whose words end with them. 未来 is the future, 特别 special.
_WIDE_NEGATIONS = re.compile(
    r"[不没沒勿毋]|未(?![来來])|[无無]|非(?!常)|(?<![特类類级級区區性分个個识識差告辨])[别別]"
    r"|ない|なかっ|なけれ|なく|ません|せず|ずに|なし|않|없|아니|못|(?<!\w)안(?!\w)|지\s?(?:마|말)|ไม่|อย่า|ห้าม|ปราศจาก"
    r"|ບໍ່|ຢ່າ|ຫ້າມ|မဟုတ်|မရှိ|ဘူး|មិន|កុំ|ពុំ|គ្មាន|இல்லை|அல்ல|இல்லாமல்|கூடாது"
)
_WIDE_RESTRICTIONS = re.compile(
    r"除非|除了|除外|[只仅僅]|很少|几乎|幾乎|禁止|だけ|のみ|しか|以外|ほとんど|めったに|제외|오직|거의|외에|금지|ยกเว้น|เว้นแต่|เท่านั้น"
)
# Letters with the vowel signs and points that follow them, which \w leaves out.
_LETTERS = r"(?:[^\W\d_]|[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0903\u093a-\u094f])+"
_LISTED_WORD = re.compile(rf"{_LETTERS}(?:['’]{_LETTERS})*")
_CONTRACTED = re.compile(r"n['’]t$")


def negating_words(text: str, languages: Collection[str]) -> list[str]:
    """Return the words of `text` that negate ("not", "without"), as written.

    `languages` are the languages (ISO 639-1 codes) whose negating words are searched for; if empty, those of all.
    """
    return _words_in_list(text, languages, _NEGATIONS, _WIDE_NEGATIONS)


def restricting_words(text: str, languages: Collection[str]) -> list[str]:
    """Return the words of `text` that restrict or reverse a meaning ("unless", "hardly"), as written.

    `languages` are the languages (ISO 639-1 codes) whose words are searched for; if empty, all languages.
    """
    return _words_in_list(text, languages, _RESTRICTIONS, _WIDE_RESTRICTIONS)


def _words_in_list(
    text: str, languages: Collection[str], word_lists: Mapping[str, str], wide: re.Pattern[str]
) -> list[str]:
    entries = [
        entry
        for language, words in word_lists.items()
        if language in languages or not languages
        for entry in words.split()
    ]
    whole = frozenset(entry for entry in entries if entry[-1] != "*")
    prefixes = tuple(entry[:-1] for entry in entries if entry[-1] == "*")
    patterns = [
        word[0]
        for word in _LISTED_WORD.finditer(unicodedata.normalize("NFC", text))
        if (plain := word[0].casefold()) in whole
        or (prefixes and plain.startswith(prefixes))
        or (word_lists is _NEGATIONS and _CONTRACTED.search(plain))
    ]
    return [*patterns, *wide.findall(text)]


_WORD = re.compile(r"[^\W\d_]+")
_ASCII_WORD = re.compile("[a-z]+")  # the same for folded ASCII, twice as fast
# Scripts written without spaces, or (Korean) with endings that hide the word.
_WIDE = {
    "kana": "\u3041-\u3096\u30a1-\u30fa\u30fc\uff66-\uff9f",
    "han": "\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff",
    "ko": "\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3",
    "th": "\u0e01-\u0e4e",
    "lo": "\u0e81-\u0ede",
    "my": "\u1000-\u109f",
    "km": "\u1780-\u17d3",
}
_WIDE_RUNS = {name: re.compile(f"[{characters}]+") for name, characters in _WIDE.items()}
WIDE_CHARACTERS = "".join(_WIDE.values())
"""The characters of scripts without spaces (Chinese, Thai, …) and of Korean, for a regex set."""
_ANY_WIDE = re.compile(f"[{WIDE_CHARACTERS}]+")
# Scripts of one language, as far as stemmers go.
_NARROW_RUNS = {
    "el": re.compile("[\u0370-\u03ff]+"),
    "hy": re.compile("[\u0531-\u058f]+"),
    "he": re.compile("[\u0590-\u05ff]+"),
    "ta": re.compile("[\u0b80-\u0bff]+"),
}

_CYRILLIC, _ARABIC, _DEVANAGARI = "\u0400-\u052f", "\u0600-\u06ff\u0750-\u077f\ufb50-\ufeff", "\u0900-\u097f"
_LATIN = "\u0000-\u024f"
_CHARACTERS_OF_LANGUAGE = {
    **dict.fromkeys(("bg", "ru", "uk"), _CYRILLIC),
    **dict.fromkeys(("ar", "fa"), _ARABIC),
    **dict.fromkeys(("hi", "ne"), _DEVANAGARI),
    "sr": _CYRILLIC + _LATIN,
    "vi": _LATIN + "\u1e00-\u1eff",
    "el": "\u0370-\u03ff\u1f00-\u1fff",
    "hy": "\u0531-\u058f",
    "he": "\u0590-\u05ff",
    "ta": "\u0b80-\u0bff",
    "zh": _WIDE["han"],
    "ja": _WIDE["han"] + _WIDE["kana"],
    **{language: _WIDE[language] for language in ("ko", "th", "lo", "my", "km")},
}


def script_characters(language: str) -> str:
    """Return the characters in which a language is written, for a regex set; Latin letters if it is not known."""
    return _CHARACTERS_OF_LANGUAGE.get(language, _LATIN)


# Characters of a script without spaces that count as a word. A quarter of a text in such a script determines the
# language, since such notes are full of foreign names, code and addresses.
_CHARACTERS_PER_WORD = 2
_WIDE_SHARE = 0.25
# Function words make up a third or more of running text; a text with less than a twentieth is a list of names.
_MIN_STOP_WORD_SHARE = 0.05
_MIN_STOP_WORDS = 2


def detect_language(text: str) -> str:
    """Return the ISO 639-1 code of the language in which most of `text` is written, or "" if unknown."""
    sample = text[:SAMPLE_CHARACTERS]
    words = Counter((_ASCII_WORD if sample.isascii() else _WORD).findall(sample.casefold()))
    if not sample.isascii() and (by_script := _language_by_script(sample, words)):
        return by_script
    votes: Counter[str] = Counter()
    for word in words.keys() & _LANGUAGES_BY_WORD.keys():
        for language in _LANGUAGES_BY_WORD[word]:
            votes[language] += words[word]
    ranked = votes.most_common(2)
    if not ranked or ranked[0][1] < max(_MIN_STOP_WORDS, _MIN_STOP_WORD_SHARE * words.total()):
        return ""
    if len(ranked) > 1 and ranked[0][1] == ranked[1][1]:
        return ""
    return ranked[0][0]


def _language_by_script(sample: str, words: Counter[str]) -> str:
    wide = sum(map(len, _ANY_WIDE.findall(sample))) / _CHARACTERS_PER_WORD
    narrow = sum(count for word, count in words.items() if not _ANY_WIDE.match(word))
    if wide > _WIDE_SHARE * (wide + narrow):
        counts = {name: sum(map(len, runs.findall(sample))) for name, runs in _WIDE_RUNS.items()}
        # Japanese is Han and kana mixed; a few kana in a Chinese note are a quotation.
        kana, han = counts.pop("kana"), counts.pop("han")
        counts["ja" if kana * 10 > han else "zh"] = kana + han
        return max(counts, key=lambda name: counts[name])
    for language, runs in _NARROW_RUNS.items():
        if sum(count for word, count in words.items() if runs.match(word)) * 2 > words.total():
            return language
    return ""


# --- words ------------------------------------------------------------------------------------------------------------
# - A plain word is one term at one position, folded and stemmed (above). Nothing is dropped: no stop words, no
#   shortest length.
# - A compound (`state-of-the-art`, `R&D`, `1.0.21`, `snake_case`, `docs/readme.md`) is found whole, at the position of
#   its first part, and by its parts, one position each. Hyphens and underscores are left out of the whole, so that
#   `wiki-link`, `wiki_link`, `WikiLink` and `wikilink` meet. The parts of a `camelCase` word share its one position, so
#   that a phrase around it matches however it is spelled.
# - Chinese, Japanese and Korean are indexed by overlapping pairs of characters and by single ones, a position a
#   character: no dictionary to ship, and new words are found. A query asks for the pairs; for a character by itself
#   only if it was typed alone (in Korean that is a noun before its particle). Thai, Lao, Burmese and Khmer likewise, by
#   triples and pairs. nDCG@10 on xquad, words alone: zh .963 by pairs, .952 by single characters, .879 by triples; th
#   .969 by triples, .943 by pairs.

__all__ = ["ANALYZER_VERSION", "Analysis", "QueryWord", "analyze", "detect_language", "fold", "query_terms", "terms_of"]

ANALYZER_VERSION = 3
"""Version of the analyzer, raised when a text gives other terms: an older index is then rebuilt."""


class Analysis(Struct, frozen=True):
    """The terms of a text with their positions and character offsets, as parallel lists.

    A position counts words from 0. Positions never decrease, and several terms may share one. Term i was made of the
    characters `starts[i]` to `ends[i]` (exclusive) of the text.
    """

    terms: list[str]
    positions: list[int]
    starts: list[int]
    ends: list[int]


class QueryWord(Struct, frozen=True):
    """A word of a query.

    `surface` is the word as written, at characters `start` to `end` (exclusive) of the query. `terms` are the word's
    terms in the languages of the vault; a note matches if it has any of them. `is_compound` marks a compound
    ("wiki-link"), whose parts follow as words of their own. Words at `position` n and n + 1 are adjacent.
    """

    surface: str
    terms: tuple[str, ...]
    start: int
    end: int
    position: int
    is_compound: bool = False


class _Piece(NamedTuple):
    """A part of a chunk that becomes one term.

    `start` and `end` are character offsets in the chunk, `position` counts from the chunk's first position. `is_word`
    pieces are stemmed, other pieces only folded. `is_compound` marks a piece that is followed by its own parts.
    """

    text: str
    position: int
    start: int
    end: int
    is_word: bool
    is_compound: bool = False


# --- cutting a text into chunks ---------------------------------------------------------------------------------------

_BIGRAM_CHARACTERS = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303b\u3041-\u3096\u3099-\u309f"
    "\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
_TRIGRAM_CHARACTERS = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e80-\u0ede\u1000-\u104f\u1780-\u17d3"
_GRAM_SIZES = {"paired": 2, "tripled": 3}
_JOINERS = r"\-_.'’&/\\@+‐‑"
# A dot before a name belongs to it (`.NET`, `.gitignore`), unless it ends a sentence or a row of dots.
# The sign before it is looked at last: that takes a third of the time.
_DOT = r"\.(?=[A-Za-z])(?<![\w.!?…)\]]\.)"
_DOT_IN_ANY_TEXT = rf"\.(?=[A-Za-z])(?<!(?:[^\W{_BIGRAM_CHARACTERS}{_TRIGRAM_CHARACTERS}]|[.!?…)\]])\.)"
_CHUNK = r"{w}(?:[{j}]{w})*(?:\+\+(?:\d+)?|\#(?!\w))?"
_ASCII_CHUNK = re.compile(_CHUNK.format(w=r"[A-Za-z0-9_]+", j=_JOINERS), re.ASCII)
_DOTTED_ASCII_CHUNK = re.compile(f"{_ASCII_CHUNK.pattern}|{_DOT}{_ASCII_CHUNK.pattern}", re.ASCII)
_DOT_BEFORE_NAME = re.compile(_DOT)


_INVISIBLE = "\u00ad\u200c\u200d\u2060"
# Combining marks and all scripts with n-grams; other text consists of Latin letters, signs and pictures.
_MARKED_OR_WIDE = re.compile("[\u0300-\u1fff\u20d0-\u20ff\u2c00-\U0001efff\U00020000-\U0003ffff]")


def _chunk_pattern(text: str) -> re.Pattern[str]:
    """Return the regular expression that finds the chunks (words and compounds) of `text`.

    The general expression takes 0.03 s to compile. So a text of Latin letters and signs, as most are, uses a smaller
    one.
    """
    if text.isascii():
        return _ascii_chunk_pattern(text)
    return _wide_chunk() if _MARKED_OR_WIDE.search(text) else _narrow_chunk()


def _ascii_chunk_pattern(text: str) -> re.Pattern[str]:
    """Return the regular expression for chunks of an ASCII text; that for names with a dot takes half as long again."""
    return _DOTTED_ASCII_CHUNK if _DOT_BEFORE_NAME.search(text) else _ASCII_CHUNK


@cache
def _narrow_chunk() -> re.Pattern[str]:
    """Return the regular expression for chunks of text without combining marks and unspaced scripts."""
    chunk = _CHUNK.format(w=rf"\w+(?:[{_INVISIBLE}]+\w+)*", j=_JOINERS)
    return re.compile(f"{chunk}|{_DOT}{chunk}")


@cache
def _wide_chunk() -> re.Pattern[str]:
    r"""Return the regular expression for chunks of any text.

    Besides Python's word characters (\w), it accepts the combining marks that many scripts need.
    """
    marks = _regex_ranges(c for c in range(0x300, 0x1F000) if unicodedata.category(chr(c))[0] == "M")
    letter = rf"[^\W{_BIGRAM_CHARACTERS}{_TRIGRAM_CHARACTERS}]"
    word = rf"{letter}(?:[{marks}{_INVISIBLE}]*{letter})*[{marks}]*"
    chunk = _CHUNK.format(w=word, j=_JOINERS)
    return re.compile(
        rf"(?P<paired>[{_BIGRAM_CHARACTERS}]+)|(?P<tripled>[{_TRIGRAM_CHARACTERS}]+)|{chunk}|{_DOT_IN_ANY_TEXT}{chunk}"
    )


def _regex_ranges(codes: Iterator[int]) -> str:
    """Return ascending character codes as ranges for a regex set."""
    spans: list[list[int]] = []
    for code in codes:
        if spans and spans[-1][1] == code - 1:
            spans[-1][1] = code
        else:
            spans.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in spans)


# --- a chunk's pieces -------------------------------------------------------------------------------------------------

# From the loosest bond to the tightest: `a/b.c` is `a` and `b.c` before it is `a`, `b`, `c`.
_SEPARATORS_BY_LEVEL = tuple(re.compile(pattern) for pattern in (r"[/\\]", r"@", r"[.&+]", r"[-_'’‐‑]+"))
_REMOVABLE_HYPHENS = re.compile(r"(?<!\d)[-_'’‐‑]+|[-_'’‐‑]+(?!\d)")
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+\d*|[A-Z]+\d*")
_PLURAL_ACRONYM = re.compile(r"[A-Z]{2,}s")
_ACRONYM = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")
_CONTRACTION = re.compile(r"(.*?)(n['’]t|['’](?:s|re|ve|ll|d|m))", re.IGNORECASE)
_VERSION = re.compile(r"[vV]\d+(?:\.\d+)+")
_NO_LETTER = re.compile(r"\W")
_SUFFIX = re.compile(r"(\+\+)(\d*)$|#$")
_MAX_CAMEL_CHARACTERS = 40  # longer ones are encoded data
_MAX_PARTS = 64  # longer chunks are data too: only their parts are indexed, not the whole


def _split_chunk_into_pieces(chunk: str) -> tuple[list[_Piece], int]:
    """Return the pieces of a chunk, ordered by position, and the number of positions that the chunk takes."""
    if chunk.isascii() and chunk.isalnum():
        return _split_camel(chunk, 0, 0), 1
    if chunk[0] == ".":
        pieces, width = _split_at_level(chunk[1:], 1, 0, 0)
        first_name = _NO_LETTER.split(chunk[1:], maxsplit=1)[0]  # `.NET` of `.NET-Anwendung`
        names = dict.fromkeys((chunk, f".{first_name}"))
        return [*(_Piece(name, 0, 0, len(name), False, True) for name in names), *pieces], width
    suffix = _SUFFIX.search(chunk)
    if suffix:
        body = chunk[: suffix.start()]
        pieces, width = _split_at_level(body, 0, 0, 0)
        if suffix[2]:
            pieces.insert(0, _Piece(chunk[: suffix.end(1)], 0, 0, suffix.end(1), False, True))
        return [_Piece(chunk, 0, 0, len(chunk), False, True), *pieces], width
    return _split_at_level(chunk, 0, 0, 0)


def _split_at_level(text: str, start: int, position: int, level: int) -> tuple[list[_Piece], int]:
    """Split a part of a chunk at separators; return its pieces and the number of positions that it takes.

    `text` is the part; it begins at offset `start` and at `position` of the chunk. It is split at the separators of
    `_SEPARATORS_BY_LEVEL[level]`, and the resulting parts at those of the following levels.
    """
    while level < len(_SEPARATORS_BY_LEVEL) and not _SEPARATORS_BY_LEVEL[level].search(text):
        level += 1
    if level == len(_SEPARATORS_BY_LEVEL):
        return _split_camel(text, start, position), 1
    if level == 3 and (contraction := _CONTRACTION.fullmatch(text)):
        base = text.replace("'", "").replace("’", "") if contraction[2][0] in "nN" else contraction[1]
        return [_Piece(base, position, start, start + len(text), True)], 1
    if level == 2 and _ACRONYM.fullmatch(text):
        return [_Piece(text.replace(".", ""), position, start, start + len(text), False)], 1
    pieces: list[_Piece] = []
    at = position
    cut = 0
    for separator in [*_SEPARATORS_BY_LEVEL[level].finditer(text), None]:
        end = separator.start() if separator else len(text)
        if end > cut:
            inner, width = _split_at_level(text[cut:end], start + cut, at, level + 1)
            pieces += inner
            at += width
        cut = separator.end() if separator else end
    if len(pieces) < 2 or len(pieces) > _MAX_PARTS or len(text) > MAX_TERM_CHARACTERS:
        return pieces, at - position
    tight = level == 3
    whole = _Piece(_REMOVABLE_HYPHENS.sub("", text) if tight else text, position, start, start + len(text), tight, True)
    if _VERSION.fullmatch(text):
        pieces.insert(0, _Piece(text[1:], position, start + 1, start + len(text), False, True))
    return [whole, *pieces], at - position


def _split_camel(word: str, start: int, position: int) -> list[_Piece]:
    whole_word = _Piece(word, position, start, start + len(word), True)
    if (
        word.islower()
        or word[1:].islower()
        or word.isupper()
        or not word.isascii()
        or len(word) > _MAX_CAMEL_CHARACTERS
    ):
        return [whole_word]
    if _PLURAL_ACRONYM.fullmatch(word):
        return [whole_word]
    parts = [
        _Piece(part[0], position, start + part.start(), start + part.end(), True)
        for part in _CAMEL.finditer(word)
        if part.end() - part.start() > 1
    ]
    whole = _Piece(word, position, start, start + len(word), True, True)
    return [whole, *parts] if parts and parts[0].text != word else [whole_word]


def _terms_of_piece(
    piece: _Piece, language: str, terms_of_word: Callable[[str, str], tuple[str, ...]]
) -> tuple[str, ...]:
    return terms_of_word(piece.text, language) if piece.is_word else (fold(piece.text)[:MAX_TERM_CHARACTERS],)


# --- characters in pairs and triples ----------------------------------------------------------------------------------


def _composed_characters(run: str) -> list[tuple[str, int, int]]:
    """Return the NFKC-composed characters of a run, each as (character, start, end).

    A run is a chunk in a script without spaces.
    """
    if unicodedata.is_normalized("NFKC", run):
        return [(character, i, i + 1) for i, character in enumerate(run)]
    pieces: list[tuple[str, int, int]] = []
    for i, character in enumerate(run):
        if pieces:
            composed = unicodedata.normalize("NFKC", run[pieces[-1][1] : i + 1])
            if len(composed) == 1:
                pieces[-1] = (composed, pieces[-1][1], i + 1)
                continue
        pieces.append((unicodedata.normalize("NFKC", character), i, i + 1))
    return pieces


def _ngrams(run: str, size: int) -> tuple[list[_Piece], int]:
    """Return the n-grams of `size` characters of a run, and the number of positions that it takes.

    A run shorter than `size` is returned whole. Each character takes one position.
    """
    characters = _composed_characters(run)
    width = len(characters)
    pieces = [
        _Piece("".join(c for c, _, _ in gram), i, gram[0][1], gram[-1][2], False)
        for i in range(max(width - size, 0) + 1)
        for gram in [characters[i : i + size]]
    ]
    return pieces, width


def _indexed_ngrams(run: str, size: int) -> tuple[list[_Piece], int]:
    """Return the n-grams of `size` and `size - 1` characters, and the number of positions of the run.

    The n-grams are ordered by position.
    """
    longer, width = _ngrams(run, size)
    if width < size:
        return longer, width
    shorter, _ = _ngrams(run, size - 1)
    return sorted([*shorter, *longer], key=lambda piece: piece.position), width


# --- analyzing a text -------------------------------------------------------------------------------------------------

_MAX_CACHED_CHUNKS = 100_000
MAX_CACHED_CHUNK = 128
"""Maximum number of characters of a chunk whose analysis is cached."""
# The result of analyzing a chunk: its only term, or (terms, positions, number of positions).
_ChunkTerms = str | tuple[tuple[str, ...], tuple[int, ...], int]
_chunk_caches: dict[str, dict[str, _ChunkTerms]] = {}


def terms_of(text: str, language: str = "") -> tuple[list[str], list[int]]:
    """Return the terms of `text` and their positions, as parallel lists.

    The result equals that of `analyze` without character offsets, and is faster. `language` is an ISO 639-1 code, or ""
    if unknown.
    """
    terms: list[str] = []
    positions: list[int] = []
    position = 0
    cache_of_language = _chunk_caches.setdefault(language, {})
    for chunk, size in chunks_of(text):
        if size and unicodedata.is_normalized("NFKC", chunk):
            grams, gram_positions = _fast_indexed_ngrams(chunk, size, position)
            terms += grams
            positions += gram_positions
            position += len(chunk)
            continue
        analyzed = cache_of_language.get(chunk)
        if analyzed is None:
            analyzed = _analyze_chunk(chunk, size, language)
            if len(chunk) <= MAX_CACHED_CHUNK:
                if len(cache_of_language) >= _MAX_CACHED_CHUNKS:
                    cache_of_language.clear()
                cache_of_language[chunk] = analyzed
        if isinstance(analyzed, str):
            terms.append(analyzed)
            positions.append(position)
            position += 1
        else:
            terms += analyzed[0]
            positions += [position + p for p in analyzed[1]]
            position += analyzed[2]
    return terms, positions


def ascii_chunks_of(text: str) -> list[str]:
    """Return the chunks of an ASCII text: words and compounds such as `state-of-the-art`."""
    return _ascii_chunk_pattern(text).findall(text)


def chunks_of(text: str) -> Iterable[tuple[str, int]]:
    """Return the chunks of a text, each with the number of characters of its n-grams.

    A chunk is a word or compound (0), or a run of characters in an unspaced script (2 or 3).
    """
    if text.isascii():
        return zip(ascii_chunks_of(text), repeat(0), strict=False)
    return ((match.group(), _GRAM_SIZES.get(match.lastgroup or "", 0)) for match in _chunk_pattern(text).finditer(text))


def _fast_indexed_ngrams(run: str, size: int, position: int) -> tuple[list[str], list[int]]:
    """Return the terms and positions that `_indexed_ngrams` gives, for an NFKC-normalised run at `position`."""
    count = len(run) - size + 1
    if count < 1:
        return [run], [position]
    grams = [""] * (2 * count + 1)
    grams[::2] = [run[i : i + size - 1] for i in range(count + 1)]
    grams[1::2] = [run[i : i + size] for i in range(count)]
    positions = [0] * (2 * count + 1)
    positions[::2] = range(position, position + count + 1)
    positions[1::2] = range(position, position + count)
    return grams, positions


def _analyze_chunk(chunk: str, size: int, language: str) -> _ChunkTerms:
    if chunk.isascii() and chunk.isalpha() and (chunk.islower() or chunk[1:].islower()):
        return stem(chunk, language)  # the same result as below, for a plain word
    pieces, width = _indexed_ngrams(chunk, size) if size else _split_chunk_into_pieces(chunk)
    pairs = [(term, piece.position) for piece in pieces for term in _terms_of_piece(piece, language, indexed_terms)]
    if width == 1 and len(pairs) == 1:
        return pairs[0][0]
    return tuple(term for term, _ in pairs), tuple(position for _, position in pairs), width


def split_chunk(chunk: str, size: int, language: str) -> tuple[tuple[str, ...], tuple[int, ...], int]:
    """Return the terms of a chunk, their positions in it, and the number of positions that it takes.

    `chunk` and `size` (of its n-grams) are an item of `chunks_of`.
    """
    analyzed = _analyze_chunk(chunk, size, language)
    return ((analyzed,), (0,), 1) if isinstance(analyzed, str) else analyzed


def analyze(text: str, language: str = "") -> Analysis:
    """Return the terms of `text` with their positions and character offsets.

    `language` is an ISO 639-1 code, or "" if unknown.
    """
    analysis = Analysis([], [], [], [])
    for piece, position, start in _join_pieces(text, _indexed_ngrams):
        for term in _terms_of_piece(piece, language, indexed_terms):
            analysis.terms.append(term)
            analysis.positions.append(position)
            analysis.starts.append(start + piece.start)
            analysis.ends.append(start + piece.end)
    return analysis


def words_of(text: str, language: str = "") -> list[str]:
    """Return the terms of `text` without those of words without their accents: to count words, or measure lengths."""
    return [term for term in terms_of(text, language)[0] if not term.endswith(UNACCENTED_MARK)]


def query_terms(text: str, languages: Sequence[str]) -> list[QueryWord]:
    """Return the words of a query, for a vault whose notes are in `languages` (ISO 639-1 codes).

    Each word has its term in each language, and its term in notes of unknown language. Parts that mean little without
    their compound are left out: "1.0.21" does not search for 21, nor "C++" for C.
    """
    tongues = list(dict.fromkeys((*languages, "")))
    words: list[QueryWord] = []
    indivisible = -1
    for piece, position, start in _join_pieces(text, _ngrams):
        if piece.is_compound and (piece.text[-1] in "+#" or not any(c.isalpha() for c in piece.text[1:])):
            indivisible = start
        elif start == indivisible and len(piece.text) < 3:
            continue
        by_language = [_terms_of_piece(piece, language, _searched_terms) for language in tongues]
        stems = [terms[0] for terms in by_language]
        variants = tuple(dict.fromkeys([*stems, *(term for terms in by_language for term in terms[1:])]))
        first, last = start + piece.start, start + piece.end
        words.append(QueryWord(text[first:last], variants, first, last, position, piece.is_compound))
    return words


def _join_pieces(text: str, split: Callable[[str, int], tuple[list[_Piece], int]]) -> Iterator[tuple[_Piece, int, int]]:
    """Yield each piece of `text` with its position in the text and the character offset of its chunk.

    `split` splits a run in an unspaced script into n-grams of a size; it returns pieces and the number of positions.
    """
    position = 0
    for match in _chunk_pattern(text).finditer(text):
        size = _GRAM_SIZES.get(match.lastgroup or "", 0)
        pieces, width = split(match.group(), size) if size else _split_chunk_into_pieces(match.group())
        for piece in pieces:
            yield piece, position + piece.position, match.start()
        position += width
