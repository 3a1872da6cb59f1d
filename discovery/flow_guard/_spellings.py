"""Values in one spelling, and the spellings that a value may have where it was read."""

import binascii
import html
import re
import unicodedata
from base64 import b64decode
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from functools import lru_cache
from itertools import islice
from typing import Any
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt

_HIDDEN = re.compile("[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\ufe00-\ufe0f]")
_WORD = re.compile(r"[^\W_]+")
# Expressions that begin with a letter or a digit, and look back from it, are several times quicker.
_SCHEME = re.compile(
    r"h(?<=\bh)ttps?://(?:www\.)?|f(?<=\bf)tp://(?:www\.)?|w(?<=\bw)ss?://(?:www\.)?"
    r"|w(?<=\bw)ww\.|m(?<=\bm)ailto:|t(?<=\bt)el:"
)
# What ends an address in a text.
AROUND = str.maketrans(dict.fromkeys("\"'`<>()[]{},;|“”\u2018\u2019«»\\", " "))
_MARK = re.compile(r"\w[@/:.]+\w")
EDGES = ".:!?-_*~"
_NUMBER = re.compile(r"\d(?:\d{0,2}(?:[,']\d{3})+(?:\.\d+)?|(?<!\d\d)\d{0,17}[.,]\d{1,18})")
_THOUSANDS = re.compile(r"'|,(?=\d{3}\b)")
_POINTED = re.compile(r"\d[,.']\d")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{12,}={0,2}")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}){6,}")
_MONTHS = "january february march april may june july august september october november december"
_MONTH = {name[:3]: at for at, name in enumerate(_MONTHS.split(), 1)}
_MONTH_NAME = "|".join(
    f"{name[:3]}(?:{name[3:]})?" if name[3:] else name for name in _MONTHS.split()
)
_WHOLE_MONTH = "|".join(rf"{name[0]}(?<=\b{name[0]}){name[1:]}" for name in _MONTH_NAME.split("|"))
# Expressions, and where their groups have year, month and day.
_DIGIT_DATES = (
    (re.compile(r"(\d(?<=\b\d)\d{3})[-/.](\d{1,2})[-/.](\d{1,2})"), (0, 1, 2)),
    (re.compile(r"(\d(?<=\b\d)\d?)\.(\d{1,2})\.(\d{4})\b"), (2, 1, 0)),
)
_NAMED_DATES = (
    (
        re.compile(
            rf"(\d(?<=\b\d)\d?)(?:st|nd|rd|th)?\.? (?:of )?({_MONTH_NAME})\.?,? (\d{{4}})\b"
        ),
        (2, 1, 0),
    ),
    (re.compile(rf"({_WHOLE_MONTH})\.? (\d{{1,2}})(?:st|nd|rd|th)?,? (\d{{4}})\b"), (2, 0, 1)),
)
_GROUPING = re.compile(r"[\s\-./()_,'+]+")
_GROUPING_ASCII = str.maketrans(dict.fromkeys(filter(_GROUPING.match, map(chr, range(128)))))
_YEAR = re.compile(r"\d\d\d\d")
_PERCENT = re.compile("%[0-9a-fA-F]{2}")
MOST_DECODED, ENCODED_LENGTH = 64, 12
# Marks that end a sentence or a quotation wherever they stand; the others do beside a blank.
QUOTING = str.maketrans(dict.fromkeys('!?;"“”„\u2018\u2019«»`<>•|', "\n"))


def normalize(text: str) -> str:
    """Return a text in one case and width, without invisible characters and HTML entities."""
    return _plain(text).casefold()


def _plain(text: str) -> str:
    if "&" in text:
        text = html.unescape(text)
    if not text.isascii():
        text = _HIDDEN.sub("", unicodedata.normalize("NFKC", text))
    return text


def folded_words(text: str) -> frozenset[str]:
    """Return the words that a text has only if `ß` counts as `ss`, and the like."""
    plain = _plain(text)
    if plain.isascii():
        return frozenset()
    return frozenset(words_of(plain.casefold())) - frozenset(words_of(plain.lower()))


def as_written(text: str) -> str:
    """Return a text in one case, with every letter that is another one to a machine kept so.

    `ß` and `ss`, or a letter of full width and a plain one, belong to different addresses.
    """
    return unicodedata.normalize("NFC", text).lower()


def is_disguised(text: str) -> bool:
    """Return True if a text has invisible characters, or HTML entities."""
    return ("&" in text and html.unescape(text) != text) or (
        not text.isascii() and _HIDDEN.search(text) is not None
    )


def words_of(text: str) -> list[str]:
    """Return the words of a normalised text."""
    return _WORD.findall(text)


def first_word_of(text: str) -> str:
    """Return the first word of a normalised text, or ""."""
    match = _WORD.search(text)
    return match.group() if match else ""


def addresses_in(text: str) -> list[str]:
    """Return what looks like an address, URL, file or path in a normalised text."""
    return list(filter(None, map(address_in, bare(text).translate(AROUND).split())))


def address_in(part: str) -> str:
    """Return the address, URL, file or path that a piece of text without blanks is, or ""."""
    return part.strip(EDGES) if _MARK.search(part) else ""


def bare(text: str) -> str:
    """Return a normalised text without the schemes of URLs."""
    return _SCHEME.sub("", text) if ":" in text or "www." in text else text


def compact(value: str) -> str:
    """Return a value without blanks and the marks that group digits."""
    return value.translate(_GROUPING_ASCII) if value.isascii() else _GROUPING.sub("", value)


def dates_in(text: str) -> list[str]:
    """Return the dates of a normalised text in ISO's form, however they are written."""
    # Most texts have no year, and looking for one first costs a tenth.
    if not _YEAR.search(text):
        return []
    return [*_found(_DIGIT_DATES, text), *named_dates_in(text)]


def named_dates_in(text: str) -> list[str]:
    """Return the dates of a normalised text that have a month's name, in ISO's form."""
    return [*day_first_dates_in(text), *month_first_dates_in(text)]


def day_first_dates_in(text: str) -> list[str]:
    """Return the dates of a normalised text such as 3 May 2026."""
    return list(_found(_NAMED_DATES[:1], text)) if _has_month(text) else []


def month_first_dates_in(text: str) -> list[str]:
    """Return the dates of a normalised text such as May 3rd, 2026."""
    return list(_found(_NAMED_DATES[1:], text)) if _has_month(text) else []


def _has_month(text: str) -> bool:
    return any(month in text for month in _MONTH)


def _found(patterns: Iterable[tuple[re.Pattern[str], tuple[int, ...]]], text: str) -> Iterator[str]:
    for pattern, (year, month, day) in patterns:
        for parts in dict.fromkeys(pattern.findall(text)):
            if iso_date := _iso_date(parts[year], parts[month][:3], parts[day]):
                yield iso_date


# Mails and lists of events repeat their dates.
@lru_cache(maxsize=4096)
def _iso_date(year: str, month: str, day: str) -> str:
    at = int(month) if month.isdecimal() else _MONTH[month]
    try:
        return date(int(year), at, int(day)).isoformat()
    except ValueError:
        return ""


def numbers_in(text: str) -> list[str]:
    """Return, written without them, the numbers of a text with marks of thousands or closing zeros.

    The words of any other number are its own already.
    """
    numbers = dict.fromkeys(_NUMBER.findall(text)) if _POINTED.search(text) else ()
    marked = [number for number in numbers if number[-1] == "0" or "," in number or "'" in number]
    plain = _ungrouped(" ".join(marked)).split()
    return [number.rstrip("0").rstrip(".") if "." in number else number for number in plain]


def as_number(value: str) -> str:
    """Return a number without separators of thousands and closing zeros."""
    plain = _ungrouped(value)
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def _ungrouped(text: str) -> str:
    return _THOUSANDS.sub("", text).replace(",", ".") if "," in text or "'" in text else text


def spellings_of(value: object) -> list[str]:
    """Return a value as it may stand in a text: normalised, and decoded where it is encoded."""
    text = normalize(str(value)).strip()
    spellings = [text, as_number(text)] if isinstance(value, int | float) else [text]
    if "%" in text:
        spellings.append(normalize(unquote(str(value))).strip())
    if isinstance(value, datetime | date):
        spellings.append(value.isoformat())
    return list(dict.fromkeys([*spellings, *decoded_in(str(value))]))


def decoded_in(text: str) -> list[str]:
    """Return what a text has in percent signs, base64 or hex, as normalised texts."""
    decoded = [unquote(text)] if _PERCENT.search(text) else []
    for chunk in islice(filter(may_be_encoded, text.translate(AROUND).split()), MOST_DECODED):
        decoded += decode_chunk(chunk)
    return [normalize(decoded_text) for decoded_text in decoded]


def percent_decoded(text: str) -> str:
    """Return a text with its percent signs decoded, or "" if it has none."""
    return unquote(text) if "%" in text and _PERCENT.search(text) else ""


def may_be_encoded(chunk: str) -> bool:
    """Return True if a piece of text without blanks may be base64 or hex."""
    return len(chunk) >= ENCODED_LENGTH and not (chunk.isalpha() and chunk == chunk.lower())


def decode_chunk(chunk: str) -> list[str]:
    """Return the text that base64 or hex stands for."""
    if _HEX.fullmatch(chunk):
        return _as_text(bytes.fromhex(chunk))
    match = _BASE64.search(chunk)
    return _from_base64(match.group()) if match else []


def _from_base64(chunk: str) -> list[str]:
    bare_chunk = chunk.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return _as_text(b64decode(bare_chunk + "=" * (-len(bare_chunk) % 4), validate=True))
    except (binascii.Error, ValueError):
        return []


def _as_text(data: bytes) -> list[str]:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return []
    return [text] if text.isprintable() else []


# Kinds of characters: what each of a text's code points is, looked up for all of them at once.

Array = npt.NDArray[Any]

LETTER, WORD, BLANK, AROUND_ADDRESS, QUOTE, MARK, DIGIT, SOFT = (1 << bit for bit in range(8))
# Between the parts of a text: ends a sentence, and stands in none.
END = "\0"
_START = np.zeros(1, np.int64)


def codes_and_kinds(plain: str) -> tuple[Array, Array]:
    """Return a text's code points, and what each of them is."""
    if plain.isascii():
        raw = plain.encode("ascii")
        # Four times as quick as looking up each code by numpy.
        return np.frombuffer(raw, np.uint8), np.frombuffer(raw.translate(_ASCII_TABLE), np.uint8)
    codes = np.frombuffer(plain.encode("utf-32-le", "surrogatepass"), np.uint32)
    for code in np.unique(codes[~_known[codes]]).tolist():
        _kinds[code], _known[code] = _kind_of(chr(code)), True
    return codes, _kinds[codes]


def edges_of(flags: Array) -> Array:
    """Return where runs of set flags begin and end, by turns; the last flag is not set."""
    edges = (flags[1:] != flags[:-1]).nonzero()[0]
    edges += 1
    return np.concatenate((_START, edges)) if flags[0] else edges


def _kind_of(letter: str) -> int:
    kind = LETTER | WORD if letter.isalnum() else 0
    kind |= BLANK if letter.isspace() else 0
    kind |= AROUND_ADDRESS if letter.isspace() or ord(letter) in AROUND or letter == END else 0
    kind |= QUOTE if ord(letter) in QUOTING or letter == END else 0
    kind |= MARK if letter in "@/:." else 0
    kind |= DIGIT if letter.isdigit() else 0
    # What ends a sentence beside a blank, and not elsewhere.
    return kind | (WORD if letter == "_" else 0) | (SOFT if letter in ".:'-" else 0)


_ASCII_TABLE = bytes(map(_kind_of, map(chr, range(128)))) + bytes(128)
# Of all characters, as far as they were met.
_kinds, _known = np.zeros(0x110000, np.uint8), np.zeros(0x110000, bool)
