"""Confusable names: equal skeletons mean that people may mistake one for the other."""

import re
import unicodedata

from acl.visible_text.scripts import LOOKS_LIKE, script_of

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
    letters = "".join(one for one in plain if not unicodedata.combining(one)).translate(LETTERS)
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
    letters = [one for one in name.casefold() if one.isalpha()]
    foreign = [one for one in letters if ord(one) > 0x24F]
    return bool(foreign) and all(ord(one) in LETTERS for one in foreign)
