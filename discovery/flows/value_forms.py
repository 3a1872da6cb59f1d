"""Values in one spelling, and the spellings that a value may have where it was read."""

import binascii
import html
import re
import unicodedata
from base64 import b64decode
from datetime import date, datetime
from itertools import islice
from urllib.parse import unquote

_HIDDEN = re.compile("[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\ufe00-\ufe0f]")
_WORD = re.compile(r"[^\W_]+")
_SCHEME = re.compile(r"\b(?:https?|ftp|wss?)://(?:www\.)?|\bwww\.|\bmailto:|\btel:")
# What ends an address in a text.
AROUND = str.maketrans(dict.fromkeys("\"'`<>()[]{},;|“”\u2018\u2019«»\\", " "))
_MARK = re.compile(r"\w[@/:.]+\w")
_EDGES = ".:!?-_*~"
_NUMBER = re.compile(r"\d{1,3}(?:[,']\d{3})+(?:\.\d+)?|(?<!\d)\d{1,18}[.,]\d{1,18}")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{12,}={0,2}")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}){6,}")
_MONTHS = "january february march april may june july august september october november december"
_MONTH = {name[:3]: at for at, name in enumerate(_MONTHS.split(), 1)}
_MONTH_NAME = "|".join(
    f"{name[:3]}(?:{name[3:]})?" if name[3:] else name for name in _MONTHS.split()
)
_DATES = (
    re.compile(r"\b(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})"),
    re.compile(r"\b(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4})\b"),
    re.compile(
        rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\.? (?:of )?(?P<n>{_MONTH_NAME})\.?,? (?P<y>\d{{4}})\b"
    ),
    re.compile(rf"\b(?P<n>{_MONTH_NAME})\.? (?P<d>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y>\d{{4}})\b"),
)  # fmt: skip
_GROUPING = re.compile(r"[\s\-./()_,'+]+")
_YEAR = re.compile(r"\d{4}")
_PERCENT = re.compile("%[0-9a-fA-F]{2}")
MOST_DECODED, ENCODED_LENGTH = 64, 12
# Marks that end a sentence or a quotation wherever they stand; the others do beside a blank.
QUOTING = str.maketrans(dict.fromkeys('!?;"“”„\u2018\u2019«»`<>•|', "\n"))


def normalize(text: str) -> str:
    """Return a text in one case and width, without invisible characters and HTML entities."""
    if "&" in text:
        text = html.unescape(text)
    if not text.isascii():
        text = _HIDDEN.sub("", unicodedata.normalize("NFKC", text))
    return text.casefold()


def words_of(text: str) -> list[str]:
    """Return the words of a normalised text."""
    return _WORD.findall(text)


def addresses_in(text: str) -> list[str]:
    """Return what looks like an address, URL, file or path in a normalised text."""
    return list(filter(None, map(address_in, bare(text).translate(AROUND).split())))


def address_in(part: str) -> str:
    """Return the address, URL, file or path that a piece of text without blanks is, or ""."""
    return part.strip(_EDGES) if _MARK.search(part) else ""


def bare(text: str) -> str:
    """Return a normalised text without the schemes of URLs."""
    return _SCHEME.sub("", text) if ":" in text or "www." in text else text


def compact(value: str) -> str:
    """Return a value without blanks and the marks that group digits."""
    return _GROUPING.sub("", value)


def dates_in(text: str) -> list[str]:
    """Return the dates of a normalised text in ISO's form, however they are written."""
    found: list[str] = []
    # Most texts have neither a year nor a month, and looking for those first costs a tenth.
    named = any(month in text for month in _MONTH)
    for pattern in (_DATES if named else _DATES[:2]) if _YEAR.search(text) else ():
        for match in pattern.finditer(text):
            parts = match.groupdict()
            month = int(parts["m"]) if parts.get("m") else _MONTH[parts["n"][:3]]
            try:
                found.append(date(int(parts["y"]), month, int(parts["d"])).isoformat())
            except ValueError:
                continue
    return found


def numbers_in(text: str) -> list[str]:
    """Return the numbers of a text that can be written in several ways, in one of them."""
    parts = (part for part in text.split() if "," in part or "." in part or "'" in part)
    return [as_number(one) for part in parts for one in _NUMBER.findall(part)]


def as_number(value: str) -> str:
    """Return a number without separators of thousands and closing zeros."""
    plain = re.sub(r"'|,(?=\d{3}\b)", "", value).replace(",", ".")
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def spellings_of(value: object) -> list[str]:
    """Return a value as it may stand in a text: normalised, and decoded where it is encoded."""
    text = normalize(str(value)).strip()
    found = [text, as_number(text)] if isinstance(value, int | float) else [text]
    if "%" in text:
        found.append(normalize(unquote(str(value))).strip())
    if isinstance(value, datetime | date):
        found.append(value.isoformat())
    return list(dict.fromkeys([*found, *decoded_in(str(value))]))


def decoded_in(text: str) -> list[str]:
    """Return what a text has in percent signs, base64 or hex, as normalised texts."""
    found = [unquote(text)] if _PERCENT.search(text) else []
    for chunk in islice(filter(may_be_encoded, text.translate(AROUND).split()), MOST_DECODED):
        found += decode_chunk(chunk)
    return [normalize(one) for one in found]


def percent_decoded(text: str) -> str:
    """Return a text with its percent signs decoded, or "" if it has none."""
    return unquote(text) if _PERCENT.search(text) else ""


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
