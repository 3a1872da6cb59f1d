"""Letters of one script that stand where a reader expects another's (UTS 39).

Scripts and look-alikes are Unicode's tables Scripts.txt and confusables.txt, as the package
confusable-homoglyphs keeps them. A sentence in any language is ordinary; what is pointed out is a
word of two scripts, and a word of which every letter is drawn as an ASCII one where nothing around
it is of its script.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import regex
from confusable_homoglyphs import categories, confusables

_NEUTRAL = frozenset({"COMMON", "INHERITED", ""})
# Written together, and with Latin, without spaces (UTS 39: Japn, Kore, Hanb).
_EAST_ASIAN = frozenset({"HAN", "HIRAGANA", "KATAKANA", "BOPOMOFO", "HANGUL"})
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]++")
_TOKEN = re.compile(r"\S+")
_ADDRESS = re.compile(r"@|://|\\|_|\w\.[A-Za-z]{2,}(?![^\W\d_])")
_LATIN_ALPHABETS_END = 0x250  # beyond are phonetic letters and forms of style


def _ascii_look_alikes() -> dict[str, str]:
    """Each character that is drawn like ASCII ones, with these."""
    return {
        character: drawn
        for character, others in confusables.confusables_data.items()
        if not character.isascii()
        for drawn in [
            next((look_alike["c"] for look_alike in others if look_alike["c"].isascii()), "")
        ]
        if drawn
    }


LOOKS_LIKE = _ascii_look_alikes()


class _Scripts(dict[str, str]):
    def __missing__(self, character: str) -> str:
        self[character] = str(categories.alias(character) or "")
        return self[character]


_SCRIPTS = _Scripts()


@dataclass(frozen=True)
class _Word:
    text: str
    start: int
    address: bool  # part of a domain, an e-mail address, a URL, a path or an identifier

    @cached_property
    def scripts(self) -> set[str]:
        return {_SCRIPTS[character] for character in self.text if character.isalpha()} - _NEUTRAL

    @cached_property
    def drawn_as_ascii(self) -> bool:
        """Every letter of a word that is not Latin could be taken for an ASCII one."""
        letters = [letter for letter in self.text if letter.isalpha()]
        return bool(letters) and all(letter in LOOKS_LIKE for letter in letters)


def script_of(character: str) -> str:
    """Return the name of the character's script, as in `CYRILLIC`."""
    return _SCRIPTS[character]


def find_foreign(text: str) -> set[int]:
    """Return the positions of characters that a reader would take for others."""
    if text.isascii():
        return set()
    tokens = list(_tokens(text))
    words = [word for _, _, token_words in tokens for word in token_words]
    odd = {place for word in words for place in _odd_letters(word)}
    odd |= set(_disguised(words))
    odd |= set(_foreign_digits(text))
    odd |= set(_styled(text))
    for start, token, token_words in tokens:
        if token_words and token_words[0].address:
            odd |= {
                start + place
                for place, character in enumerate(token)
                if character in LOOKS_LIKE
                and _SCRIPTS[character] in {"LATIN", "COMMON", *_EAST_ASIAN}
            }
    return odd


def _tokens(text: str) -> Iterator[tuple[int, str, list[_Word]]]:
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token.isascii() and not token.isalnum() and not any(map(str.isalnum, token)):
            continue
        bare = _without_punctuation_around(token)
        start = match.start() + token.index(bare) if bare else match.start()
        address = bool(bare) and bool(
            _ADDRESS.search("".join(LOOKS_LIKE.get(character, character) for character in bare))
        )
        words = [
            _Word(word_match[0], start + word_match.start(), address)
            for word_match in _WORD.finditer(bare)
        ]
        yield start, bare, words


def _without_punctuation_around(token: str) -> str:
    inner = [
        place
        for place, character in enumerate(token)
        if unicodedata.category(character)[0] not in "PS"
    ]
    return token[inner[0] : inner[-1] + 1] if inner else ""


def _odd_letters(word: _Word) -> Iterator[int]:
    """Return the letters of a mixed-script word that are not of its main script."""
    scripts = word.scripts
    if len(scripts) < 2 or (scripts - {"LATIN"} <= _EAST_ASIAN and not word.address):
        return
    main = "LATIN" if "LATIN" in scripts else _most_frequent(word)
    odd = [
        place
        for place, character in enumerate(word.text)
        if _SCRIPTS[character] not in {main, *_NEUTRAL}
    ]
    alike = [place for place in odd if word.text[place] in LOOKS_LIKE]
    if main != "LATIN" and not alike:
        alike = [place for place, character in enumerate(word.text) if character in LOOKS_LIKE]
    # Cyrillic is drawn so much like Latin that its other letters are pointed out with these.
    whole = alike and any(_SCRIPTS[word.text[place]] in {"CYRILLIC", "GREEK"} for place in odd)
    yield from (word.start + place for place in (odd if whole else alike))


def _most_frequent(word: _Word) -> str:
    scripts = [
        _SCRIPTS[character] for character in word.text if _SCRIPTS[character] not in _NEUTRAL
    ]
    return max(sorted(set(scripts)), key=scripts.count)


def _disguised(words: Sequence[_Word]) -> Iterator[int]:
    """Words that are wholly drawn as ASCII, with no other word of their script beside them."""
    neighbours = _runs(words)
    at_home = {
        script
        for word in words
        if len(word.scripts) == 1 and not word.drawn_as_ascii
        for script in word.scripts
    }
    for word, run in zip(words, neighbours, strict=True):
        script = next(iter(word.scripts), "")
        if len(word.scripts) != 1 or script == "LATIN" or not word.drawn_as_ascii:
            continue
        if not word.address:
            if script in _EAST_ASIAN or any(not neighbour.drawn_as_ascii for neighbour in run):
                continue
            # A preposition of one letter, between names of another script.
            if len(word.text) == 1 and script in at_home:
                continue
        yield from (
            word.start + at for at, character in enumerate(word.text) if character in LOOKS_LIKE
        )


def _runs(words: Sequence[_Word]) -> list[list[_Word]]:
    """For each word, the unbroken row of words in one script that it stands in."""
    runs: list[list[_Word]] = []
    for word in words:
        if runs and (not word.scripts or word.scripts == runs[-1][0].scripts):
            runs[-1].append(word)
        else:
            runs.append([word])
    return [run for run in runs for _ in run]


def _foreign_digits(text: str) -> Iterator[int]:
    """Digits of a script of which the text has no letter, and digits among ASCII ones."""
    digits = [
        (at, character)
        for at, character in enumerate(text)
        if character.isdecimal() and not character.isascii()
    ]
    if not digits:
        return
    letters = {_SCRIPTS[character] for character in text if character.isalpha()}
    for at, character in digits:
        if unicodedata.east_asian_width(character) == "F":
            continue  # a form of style
        home = _SCRIPTS[character] if _SCRIPTS[character] not in _NEUTRAL else "ARABIC"
        beside = text[max(0, at - 1) : at] + text[at + 1 : at + 2]
        if home not in letters or any(digit in "0123456789" for digit in beside):
            yield at


def _styled(text: str) -> Iterator[int]:
    """Latin letters and digits in mathematical, phonetic and other forms. Wide ones belong to
    East Asian text."""
    wide_is_ordinary = any(_SCRIPTS[character] in _EAST_ASIAN for character in text)
    for at, character in enumerate(text):
        if ord(character) < _LATIN_ALPHABETS_END or not (
            character.isalpha() or character.isdecimal()
        ):
            continue
        plain = LOOKS_LIKE.get(character) or unicodedata.normalize("NFKC", character)
        if _SCRIPTS[character] not in {"LATIN", "COMMON"} or not (
            plain.isascii() and plain.isalnum()
        ):
            continue
        if (
            _SCRIPTS[character] == "COMMON"
            and unicodedata.normalize("NFKC", character) == character
        ):
            continue
        if not (wide_is_ordinary and unicodedata.east_asian_width(character) == "F"):
            yield at
