"""Which language a text is written in, from its script and its most common words.

It has to be cheap (one look at the first thousands of characters) and right often enough to choose a stemmer;
a text too short or too mixed to tell has no language, "".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

SAMPLE_CHARACTERS = 4000
"""How much of a text is looked at: more changed no answer on seven translations of one vault."""

# The commonest function words of each language, told apart by what the others do not share.
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
_BY_WORD: dict[str, tuple[str, ...]] = {}
for _language, _words in _STOP_WORDS.items():
    for _word in set(_words.split()):
        # Words of one Latin letter are names of variables as often as words.
        if len(_word) > 1 or not _word.isascii():
            _BY_WORD[_word] = (*_BY_WORD.get(_word, ()), _language)


def is_function_word(word: str, languages: Iterable[str]) -> bool:
    """Whether the folded `word` is one of the commonest, such as articles and prepositions, in one of `languages`."""
    return not set(_BY_WORD.get(word, ())).isdisjoint(languages)


_WORD = re.compile(r"[^\W\d_]+")
_ASCII_WORD = re.compile("[a-z]+")  # the same, of folded ASCII, in half the time
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
"""Of the scripts above, as the inside of a regex class."""
_ANY_WIDE = re.compile(f"[{WIDE_CHARACTERS}]+")
# Scripts of one language, as far as stemmers go.
_NARROW_RUNS = {
    "el": re.compile("[\u0370-\u03ff]+"),
    "hy": re.compile("[\u0531-\u058f]+"),
    "he": re.compile("[\u0590-\u05ff]+"),
    "ta": re.compile("[\u0b80-\u0bff]+"),
}

# A character of a script without spaces weighs as this share of a word; a quarter of a text is enough to name it,
# since such notes are full of foreign names, code and addresses.
_CHARACTERS_PER_WORD = 2
_WIDE_SHARE = 0.25
# Function words make up a third and more of running text; below a twentieth it is a list of names.
_STOP_SHARE = 0.05
_STOP_COUNT = 2


def detect_language(text: str) -> str:
    """The ISO 639-1 code of the language that most of `text` is written in, or "" if that cannot be told."""
    sample = text[:SAMPLE_CHARACTERS]
    words = Counter((_ASCII_WORD if sample.isascii() else _WORD).findall(sample.casefold()))
    if not sample.isascii() and (found := _by_script(sample, words)):
        return found
    votes: Counter[str] = Counter()
    for word in words.keys() & _BY_WORD.keys():
        for language in _BY_WORD[word]:
            votes[language] += words[word]
    ranked = votes.most_common(2)
    if not ranked or ranked[0][1] < max(_STOP_COUNT, _STOP_SHARE * words.total()):
        return ""
    if len(ranked) > 1 and ranked[0][1] == ranked[1][1]:
        return ""
    return ranked[0][0]


def _by_script(sample: str, words: Counter[str]) -> str:
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
