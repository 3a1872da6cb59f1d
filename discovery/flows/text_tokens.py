"""Tokens of an answer: hashes of its words, sentences and values, computed for all of it at once.

An answer of 20 kB has some 3,500 words. numpy hashes all of them in the time that Python takes for
some hundred: the hash of a run of letters is a difference of two sums over the text. Only what is
no plain word, such as an address or a number, is read by expressions, and only around it.

Positions count characters of the normalised text; a hash has 32 bits.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from discovery.flows.value_forms import (
    AROUND,
    ENCODED_LENGTH,
    MOST_DECODED,
    QUOTING,
    address_in,
    bare,
    compact,
    dates_in,
    decode_chunk,
    may_be_encoded,
    normalize,
    numbers_in,
    percent_decoded,
)

Array = npt.NDArray[Any]

# Odd, so that its powers can be divided by; any other would do.
_FACTOR, _MIX, _BITS = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, 0xFFFFFFFFFFFFFFFF
_INVERSE = pow(_FACTOR, -1, 1 << 64)
_ZERO, _HALF = np.zeros(1, np.int64), np.uint64(32)
_SENTENCE_MARK, _WHOLE_MARK = ord("…"), ord("=")
_SENTENCE_WORDS = 3
_APOSTROPHE = ord("'")
# How far a number goes on beside its mark; a date beside its first one, or beside a month's name;
# a group of letters and digits; an account after its first two digits.
_NEAR, _NEAR_DATE, _NEAR_MONTH, _NEAR_GROUPS, _NEAR_ACCOUNT = 20, 9, 30, 28, 50
_GROUPING = "abcdefghijklmnopqrstuvwxyz ()/-"
_TABLES = {
    letters: np.isin(np.arange(256), [ord(one) for one in letters])
    for letters in (",.'", "-./", " ,", _GROUPING)
}
# Between the parts of a text: ends a sentence, and stands in none.
_END = "\0"
# Longer tokens are hashed by numpy.
_LONG = 48
_LETTER, _WORD, _BLANK, _AROUND, _QUOTE, _MARK, _DIGIT, _SOFT = (1 << bit for bit in range(8))


def hash_of(token: str) -> int:
    """Return a token's hash. A collision can only make the guard ask."""
    if len(token) > _LONG:
        return int(_hash_each([token])[0])
    value = 0
    for letter in reversed(token):
        value = (value * _FACTOR + ord(letter)) & _BITS
    return _mixed(value)


def _hash_each(tokens: Sequence[str]) -> Array:
    codes, _ = _codes("".join(tokens))
    ends = np.array([len(one) for one in tokens]).cumsum()
    starts = np.concatenate((_ZERO, ends[:-1]))
    sums, scale = _sums(codes)
    return _mix((sums[ends] - sums[starts]) * scale[starts]) >> _HALF


def _sums(values: Array) -> tuple[Array, Array]:
    """Return the sums before each of the values, and what a difference of two is to be scaled by.

    The sum from a place on, times that place's scale, is what the same values give anywhere.
    """
    powers, inverses = _powers(len(values))
    sums = np.zeros(len(values) + 1, np.uint64)
    np.multiply(values, powers, out=sums[1:])
    return sums.cumsum(out=sums), inverses


def _mixed(value: int) -> int:
    value = ((value ^ value >> 29) * _MIX) & _BITS
    return value >> 32


def _mix(values: Array) -> Array:
    """Return values whose upper half depends on all of their bits."""
    mixed: Array = (values ^ (values >> np.uint64(29))) * np.uint64(_MIX)
    return mixed


def joined(parts: Iterable[str]) -> str:
    """Return parts, of which each is a text of its own, as one."""
    return _END.join(one.replace(_END, " ") if _END in one else one for one in parts) + _END


def _ended(text: str) -> str:
    return text if text.endswith(_END) else text + _END


def sentence_hashes(text: str) -> tuple[list[int], int]:
    """Return the hashes of a text's sentences, and of the whole of it."""
    sums = _TextHashes(*_codes(normalize(joined([text]))))
    wholes = sums.wholes()
    return sums.sentences().tolist(), int(wholes[0]) if len(wholes) else 0


def tokens_of(raw: str, free: str | None) -> tuple[Array, list[int]]:
    """Return the sorted hashes of a text's words and values, and how many words its parts have.

    `free` is the part of it with sentences, if that is not all of it; lengths are those of `free`.
    """
    plain = _ended(normalize(raw))
    codes, kinds = _codes(plain)
    found = _TextHashes(codes, kinds)
    own = found if free is None else _TextHashes(*_codes(_ended(normalize(free))))
    edges, hashes = _edges(kinds), [found.words(), own.sentences(), own.wholes()]
    values = _values(plain, codes, kinds, edges)
    # Letters in one case stand where they stood, unless something became longer or shorter.
    written = _ended(raw)
    stands = raw.isascii() and "&" not in raw
    if decoded := list(_decoded(written, edges if stands else _edges(_codes(written)[1]))):
        inner = joined(decoded)
        codes, kinds = _codes(inner)
        hashes.append(_TextHashes(codes, kinds).words())
        values += _addresses(inner, kinds, _edges(kinds))
    if values:
        hashes.append(_hash_each(values))
    tokens = np.sort(np.concatenate(hashes).astype(np.uint32))
    return tokens[_firsts(tokens)], own.lengths()


def _codes(plain: str) -> tuple[Array, Array]:
    """Return a text's code points, and what each of them is."""
    if plain.isascii():
        raw = plain.encode("ascii")
        # Four times as quick as looking up each code by numpy.
        return np.frombuffer(raw, np.uint8), np.frombuffer(raw.translate(_ASCII_TABLE), np.uint8)
    codes = np.frombuffer(plain.encode("utf-32-le", "surrogatepass"), np.uint32)
    for code in np.unique(codes[~_known[codes]]).tolist():
        _kinds[code], _known[code] = _kind_of(chr(code)), True
    return codes, _kinds[codes]


def _kind_of(letter: str) -> int:
    kind = _LETTER | _WORD if letter.isalnum() else 0
    kind |= _BLANK if letter.isspace() else 0
    kind |= _AROUND if letter.isspace() or ord(letter) in AROUND or letter == _END else 0
    kind |= _QUOTE if ord(letter) in QUOTING or letter == _END else 0
    kind |= _MARK if letter in "@/:." else 0
    kind |= _DIGIT if letter.isdigit() else 0
    # What ends a sentence beside a blank, and not elsewhere.
    return kind | (_WORD if letter == "_" else 0) | (_SOFT if letter in ".:'-" else 0)


_ASCII_TABLE = bytes(map(_kind_of, map(chr, range(128)))) + bytes(128)
# Of all characters, as far as they were met.
_kinds, _known = np.zeros(0x110000, np.uint8), np.zeros(0x110000, bool)


class _TextHashes:
    """Hashes of a text's words and of runs of words: a run's is a difference of two sums."""

    def __init__(self, codes: Array, kinds: Array) -> None:
        letters = (kinds & _LETTER) != 0
        changes = _where(letters[1:] != letters[:-1]) + 1
        if letters[0]:
            changes = np.concatenate((_ZERO, changes))
        starts, self._ends = changes[0::2], changes[1::2]
        self._codes, self._kinds = codes, kinds
        sums, scale = _sums(codes * letters)
        values = (sums[self._ends] - sums[starts]) * scale[starts]
        self._mixed = _mix(values)
        # Words of a run are mixed before they are added: letters of two would change places.
        self._sums, self._scale = _sums(self._mixed)

    @cached_property
    def _cuts(self) -> Array:
        """Return how many words stand before each part's end."""
        return self._ends.searchsorted(_where(self._codes == 0), side="right")

    def words(self) -> Array:
        """Return the hashes of all words."""
        return self._mixed >> _HALF

    def sentences(self) -> Array:
        """Return the hashes of all sentences of at least three words."""
        breaks = _breaks(self._codes, self._kinds)
        return self._runs(self._ends.searchsorted(breaks, side="right"), _SENTENCE_MARK)

    def wholes(self) -> Array:
        """Return the hashes of all parts of at least three words."""
        return self._runs(self._cuts, _WHOLE_MARK)

    def lengths(self) -> list[int]:
        """Return how many words each part has."""
        found: list[int] = (self._cuts - np.concatenate((_ZERO, self._cuts[:-1]))).tolist()
        return found

    def _runs(self, cuts: Array, mark: int) -> Array:
        first, last = _spans(cuts, len(self._ends))
        value = (self._sums[last] - self._sums[first]) * self._scale[first]
        return _mix(value * np.uint64(_FACTOR) + np.uint64(mark)) >> _HALF


def _where(flags: Array) -> Array:
    """Return where a row of flags is set."""
    return flags.nonzero()[0]


def _spans(cuts: Array, words: int) -> tuple[Array, Array]:
    """Return the first word of each run of at least three between the cuts, and that after it."""
    first = np.concatenate((_ZERO, cuts))
    last = np.concatenate((cuts, np.array([words])))
    long = last - first >= _SENTENCE_WORDS
    return first[long], last[long]


def _firsts(sorted_values: Array) -> Array:
    """Return where each value stands for the first time. Quicker than `numpy.unique`."""
    found = np.ones(len(sorted_values), bool)
    found[1:] = sorted_values[1:] != sorted_values[:-1]
    return found


def _breaks(codes: Array, kinds: Array) -> Array:
    """Return where sentences and quotations end. The last character is such an end."""
    at = _where((kinds & (_QUOTE | _SOFT)) != 0)
    code = codes[at]
    before = (kinds[at - 1] & _BLANK) != 0
    after = (kinds.take(at + 1, mode="clip") & _BLANK) != 0
    beside = after | (codes.take(at + 1, mode="clip") == _APOSTROPHE)
    ended: Array = (kinds[at] & _QUOTE) != 0
    ended |= ((code == ord(".")) | (code == ord(":"))) & beside
    ended |= (code == _APOSTROPHE) & (before | beside)
    ended |= (code == ord("-")) & before & after
    return at[ended]


_tables: list[tuple[Array, Array]] = []


def _powers(length: int) -> tuple[Array, Array]:
    """Return the factor's powers and their inverses, at least so many."""
    if not _tables or len(_tables[-1][0]) < length:
        size = max(1 << 15, 1 << length.bit_length())
        rows = []
        for factor in (_FACTOR, _INVERSE):
            row = np.full(size, factor, np.uint64)
            row[0] = 1
            rows.append(np.cumprod(row))
        _tables[:] = [(rows[0], rows[1])]
    powers, inverses = _tables[-1]
    return powers[:length], inverses


def _values(plain: str, codes: Array, kinds: Array, edges: Array) -> list[str]:
    """Return what is no plain word: addresses with their parts, dates, numbers, accounts."""
    found: list[str] = []
    if addresses := _addresses(plain, kinds, edges):
        every = _END.join(addresses)
        found += (*addresses, *compact(every).split(_END), *_BETWEEN_PARTS.split(every))
    digits = _where((kinds & _DIGIT) != 0)
    if len(digits) > 1:
        found += _of_digits(plain, codes, digits)
    return found


def _of_digits(plain: str, codes: Array, digits: Array) -> Iterator[str]:
    """Yield what has several digits, each kind looked for only where it can stand."""
    since, gaps = digits[:-1], np.diff(digits)
    after = codes.take(since + 1)
    yield from numbers_in(_around(since[(gaps == 2) & _is_one_of(after, ",.'")], plain, _NEAR))
    numeric, named = _may_be_dates(since, gaps, after)
    yield from dates_in(
        f"{_around(numeric, plain, _NEAR_DATE)}\n{_around(named, plain, _NEAR_MONTH)}"
    )
    joined_by = _is_one_of(after, _GROUPING) & _is_one_of(codes.take(digits[1:] - 1), _GROUPING)
    groups = since[(gaps > 1) & (gaps < _NEAR_GROUPS) & joined_by]
    yield from _grouped(_GROUPS, _around(groups, plain, _NEAR_GROUPS))
    accounts = _may_begin_iban(codes, since[gaps == 1])
    yield from _grouped(_IBAN, _around(accounts, plain, _NEAR_ACCOUNT))


def _is_one_of(codes: Array, letters: str) -> Array:
    """Return True for each code of one of these ASCII letters."""
    found: Array = _TABLES[letters][codes if codes.dtype == np.uint8 else np.minimum(codes, 255)]
    return found


def _may_be_dates(since: Array, gaps: Array, after: Array) -> tuple[Array, Array]:
    """Return where two marks stand in a date, and where a month's name may stand before a year."""
    years = np.zeros(len(gaps), bool)  # four digits follow the gap
    years[:-3] = (gaps[1:-2] == 1) & (gaps[2:-1] == 1) & (gaps[3:] == 1)
    marks = since[(gaps == 2) & _is_one_of(after, "-./")]
    named = ((gaps > 4) & (gaps < _NEAR_MONTH)) | ((gaps < 4) & _is_one_of(after, " ,"))
    return marks[:-1][np.diff(marks) < 4], since[named & years]


def _may_begin_iban(codes: Array, at: Array) -> Array:
    """Return pairs of digits after which a group of four stands between blanks."""
    blank = ord(" ")
    before, after = codes.take(at + 2, mode="clip"), codes.take(at + 7, mode="clip")
    found: Array = at[(before == blank) & (after == blank)]
    return found


def _edges(kinds: Array) -> Array:
    """Return where addresses end and begin."""
    return _where((kinds & _AROUND) != 0)


def _addresses(plain: str, kinds: Array, edges: Array) -> list[str]:
    """Return what looks like an address, URL, file or path."""
    marks = _where((kinds[1:-1] & _MARK) != 0) + 1
    either = _WORD | _MARK
    marks = marks[((kinds[marks - 1] & either) != 0) & ((kinds[marks + 1] & either) != 0)]
    if not len(marks):
        return []
    at = edges.searchsorted(marks)
    first = _firsts(at)
    if (kinds[marks - 1] & kinds[marks + 1] & _DIGIT).any():
        first &= ~_are_numbers(kinds, edges, at)
    at = at[first]
    starts = np.where(at > 0, edges[at - 1] + 1, 0)
    bounds = zip(starts.tolist(), edges[at].tolist(), strict=True)
    # Without its scheme a piece may be several, or none.
    pieces = bare("\n".join([plain[start:end] for start, end in bounds])).split()
    return list(filter(None, map(address_in, dict.fromkeys(pieces))))


def _are_numbers(kinds: Array, edges: Array, at: Array) -> Array:
    """Return which marks are the only one of a piece without letters: of 12.50, or of 12:30."""
    letters = np.zeros(len(kinds) + 1, np.int32)
    np.cumsum((kinds & (_LETTER | _DIGIT)) == _LETTER, out=letters[1:])
    starts = np.where(at > 0, edges[at - 1] + 1, 0)
    alone: Array = letters[edges[at]] == letters[starts]
    alone[1:] &= at[1:] != at[:-1]
    alone[:-1] &= at[1:] != at[:-1]
    return alone


def _around(at: Array, plain: str, near: int) -> str:
    """Return the passages of a text around these places, each a line of its own."""
    if not len(at):
        return ""
    starts = np.maximum(at - near, 0)
    ends = np.minimum(at + near, len(plain))
    apart = _where(starts[1:] > ends[:-1])
    first, last = starts[np.concatenate((_ZERO, apart + 1))], ends[np.concatenate((apart, [-1]))]
    bounds = zip(first.tolist(), last.tolist(), strict=True)
    # Neither an expression nor a word goes on over the end of a line here.
    return "\n".join([plain[start:end] for start, end in bounds])


_BETWEEN_PARTS = re.compile(f"[/?=&#,{_END}]")
# From its first digit on: an expression that begins with letters takes thrice the time.
_GROUPS = re.compile(r"\d[\da-z]{0,12}(?:[ ()/-]{1,2}(?=[a-z]{0,12}\d)[\da-z]{1,12}){1,8}")
_IBAN = re.compile(r"\d\d(?: [a-z\d]{4}){2,7}(?: [a-z\d]{1,4})?\b")


def _grouped(groups: re.Pattern[str], plain: str) -> list[str]:
    """Return phone, account and card numbers that are written in groups, in one piece."""
    found = []
    for match in groups.finditer(plain):
        start = match.start()
        found.append(match.group())
        country = plain[max(0, start - 2) : start]
        if country.isalpha():
            found.append(country + match.group())
    return compact(_END.join(found)).split(_END) if found else []


def _decoded(raw: str, edges: Array) -> Iterator[str]:
    """Yield what a text has in percent signs, base64 or hex, normalised."""
    if text := percent_decoded(raw):
        yield normalize(text)
    starts = np.concatenate((_ZERO, edges[:-1] + 1))
    long = _where(edges - starts >= ENCODED_LENGTH)
    bounds = zip(starts[long].tolist(), edges[long].tolist(), strict=True)
    chunks = filter(may_be_encoded, (raw[start:end] for start, end in bounds))
    for chunk in islice(chunks, MOST_DECODED):
        yield from map(normalize, decode_chunk(chunk))
