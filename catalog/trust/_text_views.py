"""Views of a text as a model may read it: plain, and with disguises removed."""

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterator

from acl.visible_text.scripts import LOOKS_LIKE, script_of
from catalog.formats.text_cleanup import clean_text

# Confusable names: equal skeletons mean that people may mistake one for the other.

# Unicode's table compares shapes. Readers take these small letters for Latin ones at a glance.
_AT_A_GLANCE = dict(zip("ьƅɗєғƒ¡кκмпηтτωχʐӏ", "bbdeffikkmnnttwxzl", strict=True))
LETTERS = str.maketrans(
    {
        other: latin.lower()
        for other, latin in LOOKS_LIKE.items()
        if other.isalpha() and other == other.casefold() and len(latin) == 1 and latin.isalpha()
    }
    | _AT_A_GLANCE
)
_SHAPES = str.maketrans({"0": "o", "1": "l", "5": "s", "|": "l"})
_MIXED_WITH_LATIN = {"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"}


def skeleton(name: str) -> str:
    """Return a name's shape: case, accents, separators, foreign letters and 0/O are folded."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", name).casefold())
    letters = "".join(
        character for character in plain if not unicodedata.combining(character)
    ).translate(LETTERS)
    shape = re.sub(r"[^\w]|_", "", letters.translate(_SHAPES))
    return shape.replace("rn", "m").replace("vv", "w").replace("i", "l")


def mixes_alphabets(name: str) -> bool:
    """Return True if a word mixes Latin with another alphabet, as no language does."""
    if name.isascii():
        return False
    for word in re.findall(r"\w+", unicodedata.normalize("NFKC", name)):
        alphabets = {script_of(letter) for letter in word if letter.isalpha()}
        if "LATIN" in alphabets and alphabets & _MIXED_WITH_LATIN:
            return True
    return False


def is_disguised(name: str) -> bool:
    """Return True if all foreign letters in a name look Latin."""
    letters = [letter for letter in name.casefold() if letter.isalpha()]
    foreign = [letter for letter in letters if ord(letter) > 0x24F]
    return bool(foreign) and all(ord(letter) in LETTERS for letter in foreign)


LONGEST = 8_192  # descriptions are cut here too
_MARKS = re.compile(r"[*`~\"“”„«»]|(?<!\w)_+|_+(?!\w)")
_ACCENTS = re.compile(r"[\u0300-\u036f]")
_SPACED = re.compile(r"(?:\b\w[ .\-_]){5,}\w\b")
_BETWEEN_LETTERS = re.compile(r"(?<=\b\w)[ .\-_](?=\w\b)")
_DIGITS_IN_WORDS = re.compile(r"[a-z][013457@$][a-z]|\b[013457@$][a-z]{2}")
_AS_LETTERS = str.maketrans("013457@$", "oieastas")
_BLOB = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{40,4096}={0,2}(?![A-Za-z0-9+/])")


def views_of(text: str) -> Iterator[str]:
    """Yield the plain view, and one more per disguise found."""
    plain = plain_view(text[:LONGEST])
    yield plain
    # Only if there is a disguise: each view costs a scan of all rules.
    if mixes_alphabets(plain):
        yield plain.translate(LETTERS)
    if _SPACED.search(plain):
        yield plain_view(_BETWEEN_LETTERS.sub("", text[:LONGEST]))
    if _DIGITS_IN_WORDS.search(plain):
        yield plain.translate(_AS_LETTERS)
    for blob in _BLOB.findall(text[:LONGEST]):
        if decoded := _decode_text(blob):
            yield plain_view(decoded)


def plain_view(text: str) -> str:
    """Normalize to lower case and one line, without accents, emphasis and hidden characters."""
    visible = unicodedata.normalize("NFKC", clean_text(text).text).casefold()
    letters = _ACCENTS.sub("", unicodedata.normalize("NFD", visible))
    composed = unicodedata.normalize("NFC", letters.replace("’", "'"))  # noqa: RUF001
    return " ".join(_MARKS.sub("", composed).split())


def _decode_text(blob: str) -> str:
    """Decode base64 if the result is a text of several words, else return ""."""
    try:
        text = base64.b64decode(blob + "=" * (-len(blob) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return ""
    return (
        text if text.count(" ") >= 2 and all(c.isprintable() or c in "\n\t" for c in text) else ""
    )
