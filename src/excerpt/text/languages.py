"""The language of a text by its script and its commonest words; negations, restrictions and stop words by language.

Detection must be cheap (only the first thousands of characters are examined) and right often enough to choose a
stemmer. A text that is too short or too mixed has no language, "".
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from excerpt.base.patterns import lazy_pattern

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


_COURTESIES = {
    "en": "please thanks thank cheers hello hi hey greetings regards",
    "de": "bitte danke dank hallo moin",
    "fr": "merci bonjour salut svp",
    "es": "gracias hola favor",
    "it": "grazie ciao",
    "pt": "obrigado obrigada",
}
_COURTEOUS_WORDS = frozenset(" ".join(_COURTESIES.values()).split())


def is_courtesy(word: str) -> bool:
    """Return whether the folded `word` is one of greetings, requests and thanks ("hello"), in any language."""
    return word in _COURTEOUS_WORDS


def select_stop_words(words: Collection[str], languages: Iterable[str]) -> frozenset[str]:
    """Return the stop words among the folded `words`, or an empty set if all of them are stop words."""
    languages = tuple(languages)
    stop_words = {word for word in words if word in _QUESTION_WORDS or is_function_word(word, languages)}
    return frozenset(stop_words) if len(stop_words) < len(set(words)) else frozenset()


_FRAME_WORDS = {
    "en": "about again all am any because been before being between both but came come could doing done during each "
    "even ever every get gets getting give go goes going gone got had has having he her here him his into its it's "
    "just let me more most much must nor now off once one only onto other out over per please put puts putting she "
    "should so some such tell than their them then there these they those through too under until up us very want "
    "was way were while who whom whose will would your yours i'm i've don't can't",
    "de": "aber als also am an bin bis bitte da damit dann denn dir dich doch durch er etwas gibt habe haben hast hat "
    "hier hin ich ihm ihn ihr ins ist ja jetzt man mein meine meinem meinen meiner mich mir muss müssen nach noch nur "
    "ob ohne sehr sein seine sind so soll über um uns unter vom von vor war warum was weil welche welcher wer wir wo "
    "woher wohin würde zum zur zwischen",
    "fr": "ai ait alors aussi avais avoir c'est ces cet comment dois donc elle elles entre es faire fait faut font ils "
    "je j'ai leur leurs lui ma mais me mes mon même nos notre nous on où peut peux pourquoi quand quel quelle quels "
    "quelles quoi sa sans se ses si son sous suis ta te tes toi ton tout tous très un vers vos",
    "es": "al así aunque cada cómo cual cuál cuando cuándo de desde donde dónde ella ellas ello ellos entre era eres "
    "es esa ese eso estar estoy fue ha hace hacer han hasta hay he le les me mi mis mucho muy nos nosotros o porque "
    "puede puedo pues qué quién quiero sea ser si sin sobre son soy su sus también te tengo tiene todo tus un ya yo",
}
"""Words of questions and other function words that `_STOP_WORDS` lacks: it has only what tells languages apart."""


def select_unmarked_words(words: Collection[str], languages: Iterable[str]) -> frozenset[str]:
    """Return those of the `words` that no text is marked by, or an empty set if that would be all of them.

    These are the stop words, and the words of a question's frame ("ich", "between", "doing").
    """
    languages = tuple(languages)
    framing = {word for language in languages for word in _FRAME_WORDS.get(language, "").split()}
    unmarked = select_stop_words(words, languages) | framing.intersection(words)
    return unmarked if len(unmarked) < len(set(words)) else frozenset()


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
_WIDE_NEGATIONS = lazy_pattern(
    r"[不没沒勿毋]|未(?![来來])|[无無]|非(?!常)|(?<![特类類级級区區性分个個识識差告辨])[别別]"
    r"|ない|なかっ|なけれ|なく|ません|せず|ずに|なし|않|없|아니|못|(?<!\w)안(?!\w)|지\s?(?:마|말)|ไม่|อย่า|ห้าม|ปราศจาก"
    r"|ບໍ່|ຢ່າ|ຫ້າມ|မဟုတ်|မရှိ|ဘူး|មិន|កុំ|ពុំ|គ្មាន|இல்லை|அல்ல|இல்லாமல்|கூடாது"
)
_WIDE_RESTRICTIONS = lazy_pattern(
    r"除非|除了|除外|[只仅僅]|很少|几乎|幾乎|禁止|だけ|のみ|しか|以外|ほとんど|めったに|제외|오직|거의|외에|금지|ยกเว้น|เว้นแต่|เท่านั้น"
)
# Letters with the vowel signs and points that follow them, which \w leaves out.
_LETTERS = r"(?:[^\W\d_]|[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0903\u093a-\u094f])+"
_LISTED_WORD = lazy_pattern(rf"{_LETTERS}(?:['’]{_LETTERS})*")
_CONTRACTED = lazy_pattern(r"n['’]t$")


def negating_words(text: str, languages: Collection[str]) -> list[str]:
    """Return the words of `text` that negate ("not", "without"), as written.

    Only negating words of `languages` (ISO 639-1 codes) count; if `languages` is empty, those of every language.
    """
    return _find_listed_words(text, languages, _NEGATIONS, _WIDE_NEGATIONS)


def restricting_words(text: str, languages: Collection[str]) -> list[str]:
    """Return the words of `text` that restrict or reverse a meaning ("unless", "hardly"), as written.

    Only words of `languages` (ISO 639-1 codes) count; if `languages` is empty, those of every language.
    """
    return _find_listed_words(text, languages, _RESTRICTIONS, _WIDE_RESTRICTIONS)


def _find_listed_words(
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


_WORD = lazy_pattern(r"[^\W\d_]+")


_ASCII_WORD = lazy_pattern("[a-z]+")  # the same for folded ASCII, twice as fast
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
_WIDE_RUNS = {name: lazy_pattern(f"[{characters}]+") for name, characters in _WIDE.items()}
WIDE_CHARACTERS = "".join(_WIDE.values())
"""The characters of scripts without spaces (Chinese, Thai, …) and of Korean, for a regex set."""
WIDE_RUN = lazy_pattern(f"[{WIDE_CHARACTERS}]+")
# Scripts of one language, as far as stemmers go.
_NARROW_RUNS = {
    "el": lazy_pattern("[\u0370-\u03ff]+"),
    "hy": lazy_pattern("[\u0531-\u058f]+"),
    "he": lazy_pattern("[\u0590-\u05ff]+"),
    "ta": lazy_pattern("[\u0b80-\u0bff]+"),
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
    wide = sum(map(len, WIDE_RUN.findall(sample))) / _CHARACTERS_PER_WORD
    narrow = sum(count for word, count in words.items() if not WIDE_RUN.match(word))
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
