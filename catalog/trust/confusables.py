"""Confusable names: equal skeletons mean that people may mistake one for the other."""

import re
import unicodedata

# Lower-case letters of other alphabets that look Latin. Only those found in names of tools and
# products: Unicode's whole table also folds letters that nobody would confuse.
_LOOK_ALIKES = {
    "a": "аɑαạ",
    "b": "ьƅ",
    "c": "сϲᴄ",  # noqa: RUF001
    "d": "ԁɗ",
    "e": "еєҽ",
    "f": "ғƒ",
    "g": "ɡց",  # noqa: RUF001
    "h": "һհ",  # noqa: RUF001
    "i": "іιɩı¡",  # noqa: RUF001
    "j": "јϳ",  # noqa: RUF001
    "k": "кκ",
    "l": "ӏ|ǀℓ",  # noqa: RUF001
    "m": "мm",
    "n": "пηո",
    "o": "оοσօ",  # noqa: RUF001
    "p": "рρ",  # noqa: RUF001
    "q": "ԛգ",  # noqa: RUF001
    "r": "гᴦ",  # noqa: RUF001
    "s": "ѕꜱ",  # noqa: RUF001
    "t": "тτ",
    "u": "υսʋ",  # noqa: RUF001
    "v": "ѵν",  # noqa: RUF001
    "w": "ѡԝω",
    "x": "хχ",
    "y": "уγү",  # noqa: RUF001
    "z": "ᴢʐ",
}
LETTERS = str.maketrans(
    {other: latin for latin, others in _LOOK_ALIKES.items() for other in others}
)
_SHAPES = str.maketrans({"0": "o", "1": "l", "5": "s"})


def skeleton(name: str) -> str:
    """Return a name's shape: case, accents, separators, foreign letters and 0/O are folded."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", name).casefold())
    letters = "".join(one for one in plain if not unicodedata.combining(one)).translate(LETTERS)
    shape = re.sub(r"[^\w]|_", "", letters).translate(_SHAPES)
    return shape.replace("rn", "m").replace("vv", "w").replace("i", "l")


def mixes_alphabets(name: str) -> bool:
    """Return True if a word mixes Latin with another alphabet, as no language does."""
    if name.isascii():
        return False
    for word in re.findall(r"\w+", unicodedata.normalize("NFKC", name)):
        alphabets = {_alphabet(letter) for letter in word if letter.isalpha()}
        if "LATIN" in alphabets and alphabets & {"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"}:
            return True
    return False


def is_disguised(name: str) -> bool:
    """Return True if all foreign letters in a name look Latin."""
    letters = [one for one in name.casefold() if one.isalpha()]
    foreign = [one for one in letters if ord(one) > 0x24F]
    return bool(foreign) and all(ord(one) in LETTERS for one in foreign)


def _alphabet(letter: str) -> str:
    return unicodedata.name(letter, "?").split()[0]
