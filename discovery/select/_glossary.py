"""English words for common requests in other languages.

The default model knows English best. A message in German, French, Spanish, Portuguese, Italian,
Dutch or Polish gets the English of its plainest words appended, which does little harm to models
that know these languages. An English one gets what tools call everyday things: a ticket that is
opened is an issue.
"""

import csv
import re
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import Stemmer

from catalog.words.foreign_letters import has_foreign_letters, is_other_script

LANGUAGES = ("german", "french", "spanish", "portuguese", "italian", "dutch", "polish")
# A message needs this many function words of a language, and more than of any other language.
MIN_FUNCTION_WORDS = 2
_PARTS_OF_IDENTIFIERS = frozenset("0123456789@/\\=_[]()<>{}")
# Fewer words without an accent say too little about their language.
FEWEST_WORDS = 4
# Small words elsewhere that English messages have, too.
_COMMON_IN_ENGLISH = frozenset(
    ("no", "come", "die", "was", "den", "man", "per", "plus", "pour", "non", "son", "e", "i", "do")
)
_threads = threading.local()
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_QUOTED = re.compile('["\u201c\u201e\u00ab].*?["\u201c\u201d\u00bb]')
# Sums as people write them. A hyphen or a slash alone is in dates, ranges and "24/7", too.
_NUMBER = r"[$€£]?\d[\d.,]*+"
_SUM = re.compile(
    rf"""(?<![\w.,/:-]){_NUMBER}(?:(?:\ ?%|\ per\ ?cent)\ (?:off|of)\ |%?\)?\ ?
        (?:[+*×÷^]|\*\*|(?:plus|minus|times|divided\ by|multiplied\ by)\ ))\ ?\(?{_NUMBER}
        (?!\ (?:day|week|month|year|hour|minute)s?\b)
    |\b(?:what(?:\ i|'?)s|calculate|compute|how\ much\ is|work\ out)
        \ \(?{_NUMBER}\ ?[-/]\ ?\(?{_NUMBER}\b(?!-)
    |\b(?:square|cube)\ root\ of\ {_NUMBER}
    |(?<![\w.,/:-]){_NUMBER}\ (?:squared|cubed|factorial|to\ the\ power\ of\ \d)
    |\b(?:sqrt|log|ln|sin|cos|tan|exp)\(\ ?\d|\b\d*[xy]\ ?[+*-]\ ?\d[\d.]*\ ?=""",  # noqa: RUF001
    re.IGNORECASE | re.VERBOSE,
)
# What people say for what tools call otherwise. "Open a ticket" buys none.
_EVERYDAY = (
    (
        re.compile(
            r"\b(?:open|raise|file|submit|log|create|make|write) (?:an? |another |the )?(?:new )?"
            r"(?:support |service |help ?desk |it )?tickets?\b",
            re.IGNORECASE,
        ),
        "create an issue",
    ),
    (re.compile(r"\b(?:slides|slide ?decks?|slideshows?)\b", re.IGNORECASE), "presentation"),
    (re.compile(r"\bto-?dos?\b", re.IGNORECASE), "tasks"),
    (_SUM, "calculate an arithmetic expression"),
    (
        re.compile(
            r"^\W*(?:please )?(?:(?:take|make|write|jot)(?: down)? (?:an? )?note\b"
            r"|note(?: to self| down)? ?:|(?:memo|remember|don['\u2019]?t forget)(?: this)? ?:)",
            re.IGNORECASE,
        ),
        "create a note to remember",
    ),
)
_WITHOUT_DIGITS = tuple(entry for entry in _EVERYDAY if entry[0] is not _SUM)
_DIGIT = re.compile(r"\d")
_FUNCTION_WORDS = """
english: the a an is are was of to in on for and or i you it my me can what how with this that
  please do have at be from your
german: der die das den dem des ein eine einen einem einer ist sind ich du er sie es wir mir mich
  mein meine meinen bitte und oder nicht auf für mit von zu im am in wie was wo wann kannst auch
  nach welche welcher wirf hab habe
french: le la les l un une des du de d est sont je j tu il elle nous vous moi mon ma mes s'il
  plaît et ou pas sur pour avec dans en à au aux quel quelle que qu comment où peux ce cette
spanish: el la los las un una unos es son yo tú me mi mis por favor y o no en para con de del al
  que qué cómo dónde cuál puedes lo su este esta
portuguese: o a os as um uma é são eu você me meu minha por favor e ou não em no na para com de do
  da que qual como onde pode este esta ao
italian: il lo la i gli le un uno una è sono io tu mi mio mia per favore e o non in nel nella con
  di del della che come dove quale puoi questo questa al alla a da ho hai mi ti si
  cosa sono stato due
dutch: de het een is zijn ik jij je we mij me mijn alstublieft alsjeblieft en of niet op voor met
  van in hoe wat waar kun kan dit deze naar aan
polish: w we na z ze dla po od jest są się nie mi mnie mój moja moje mojej moim proszę czy jak jaki
  jaka jakie co ten ta tej tego tę oraz że już możesz ma mam mamy jeszcze kiedy ale gdzie go mnie
  tylko wszystkie został zostało
"""


@dataclass(frozen=True, slots=True)
class Glossary:
    """The glossary of one language: English by stem, and the verbs that begin requests."""

    english: dict[str, str]
    verbs: frozenset[str]


def add_english(texts: Sequence[str]) -> tuple[str, ...]:
    """Append English to the message and its clauses, to an English one for everyday words only."""
    language = language_of(texts[0]) if texts else ""
    if not language:
        return tuple(_append(text, _words_of_tools(text)) for text in texts)
    return tuple(_append(text, _english_of(text, language)) for text in texts)


def _append(text: str, words: Iterable[str]) -> str:
    added = " ".join(words)
    return f"{text} ({added})" if added else text


@lru_cache(maxsize=8)  # a message is looked at twice
def _words_of_tools(text: str) -> tuple[str, ...]:
    # Without a digit there is no sum, and looking for one takes longer than for all others.
    phrases = _EVERYDAY if _DIGIT.search(text) else _WITHOUT_DIGITS
    return tuple(words for phrase, words in phrases if phrase.search(text))


def tasks_in_words_of_tools(message: str) -> tuple[str, ...]:
    """Return the tasks of an English message that tools call otherwise, as clauses of their own.

    What the message is about would hide them: a ticket for a printer is nearer to repairing one.
    """
    if language_of(message):
        return ()
    return tuple(words for words in _words_of_tools(message) if " " in words)


def _english_of(text: str, language: str) -> Iterable[str]:
    english, small = _glossary(language).english, _function_words()[language]
    words = [word for word in _WORD.findall(text.lower()) if word not in small]
    translations = (english.get(stem) for stem in _stems(language, words))
    return dict.fromkeys(word for word in translations if word)


def is_foreign(message: str) -> bool:
    """Return True if the message is not English: by its script, words, accents or letters."""
    unquoted = _QUOTED.sub(" ", message)
    if is_other_script(unquoted):
        return True
    words = plain_words(unquoted)
    if language_of(" ".join(words)):
        return True
    begins_in_english = not words or words[0] in english_verbs()
    return not begins_in_english and (_lacks_english(words) or has_foreign_letters(words))


def plain_words(message: str) -> list[str]:
    """Return the words that are neither quoted nor parts of identifiers."""
    # Addresses, paths and identifiers contain "da", "de" or "no" by chance.
    return _words(
        " ".join(
            word
            for word in _QUOTED.sub(" ", message).split()
            if _PARTS_OF_IDENTIFIERS.isdisjoint(word)
        )
    )


def _lacks_english(words: Sequence[str]) -> bool:
    """Return True if no word is small in English or begins requests there, but one is foreign."""
    small = _function_words()
    if any(word in small["english"] for word in words):
        return False
    foreign = function_words().keys() - _COMMON_IN_ENGLISH
    accented = sum(not word.isascii() for word in words)
    return accented > 0 or (len(words) >= FEWEST_WORDS and any(word in foreign for word in words))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower().replace("'", " ").replace("\u2019", " "))


@lru_cache(maxsize=8)  # the same one
def language_of(message: str) -> str:
    """Detect the message's language by its function words and first word; "" for English."""
    # Quoted text may be in another language.
    words = _words(_QUOTED.sub(" ", message))
    counts = dict.fromkeys(_function_words(), 0)
    languages = function_words()
    for word in words:
        for language in languages.get(word, ()):
            counts[language] += 1
    if words and words[0] not in english_verbs():
        for language in LANGUAGES:
            if words[0] in _glossary(language).verbs:
                counts[language] += MIN_FUNCTION_WORDS
    best = max(counts, key=lambda language: counts[language])
    enough = counts[best] >= MIN_FUNCTION_WORDS and counts[best] > counts["english"]
    return best if enough else ""


@lru_cache(maxsize=1)
def function_words() -> dict[str, list[str]]:
    """Return the function words of all languages, each with its languages."""
    languages: dict[str, list[str]] = {}
    for language, small in _function_words().items():
        for word in small:
            languages.setdefault(word, []).append(language)
    return languages


def is_verb(word: str) -> bool:
    """Return True if the word begins requests in one of the languages."""
    lower = word.lower()
    return any(lower in _glossary(language).verbs for language in LANGUAGES)


@lru_cache(maxsize=1)
def _function_words() -> dict[str, frozenset[str]]:
    paragraphs = re.findall(r"(?m)^(\w+): ((?:.+\n)(?:  .+\n)*)", _FUNCTION_WORDS)
    return {language: frozenset(words.split()) for language, words in paragraphs}


@lru_cache(maxsize=1)
def english_verbs() -> frozenset[str]:
    """Return the English verbs of the table that begin requests."""
    return frozenset(
        word for row in _read_glosses() if row["verb"] for word in row["english"].split()
    )


def _stems(language: str, words: list[str]) -> list[str]:
    """Stem words. Stemmers are stateful, so each thread has its own."""
    if not hasattr(_threads, "stemmers"):
        _threads.stemmers = {name: Stemmer.Stemmer(name) for name in LANGUAGES}
    return list(_threads.stemmers[language].stemWords(words))


@lru_cache(maxsize=len(LANGUAGES))
def _glossary(language: str) -> Glossary:
    english: dict[str, str] = {}
    verbs: set[str] = set()
    for row in _read_glosses():
        words = row[language].split()
        for stem in _stems(language, words):
            english.setdefault(stem, row["english"])
        if row["verb"]:
            # Unstemmed: some English words have the same stem as a foreign verb.
            verbs.update(words)
    return Glossary(english, frozenset(verbs))


@lru_cache(maxsize=1)
def _read_glosses() -> list[dict[str, str]]:
    with (files("discovery.select") / "glossary.csv").open(encoding="utf-8") as table:
        return list(csv.DictReader(table))
