"""Tokens of an answer: hashes of its words, sentences and values, computed for all of it at once.

An answer of 20 kB has some 3,500 words. numpy hashes all of them in the time that Python takes for
some hundred: the hash of a run of letters is a difference of two sums over the text. Only what is
no plain word, such as an address or a number, is read by expressions, and only around it.

Positions count characters of the normalised text; a hash has 32 bits.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
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
_SENTENCE_MARK, _WHOLE_MARK = ord("…"), ord("=")
_SENTENCE_WORDS = 3
# No number, date or account that an expression finds goes on for longer without a digit.
_NEAR_DIGITS = 64
# Between the parts of a text: ends a sentence, and stands in none.
_END = "\0"
# Longer tokens are hashed by numpy.
_LONG = 48
_LETTER, _WORD, _BLANK, _AROUND, _QUOTE, _MARK, _DIGIT, _POINT = (1 << bit for bit in range(8))


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
    ends = np.cumsum([len(one) for one in tokens])
    starts = np.concatenate(([0], ends[:-1]))
    powers, inverses = _powers(len(codes))
    sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(codes.astype(np.uint64) * powers)))
    return _mixed_all((sums[ends] - sums[starts]) * inverses[starts])


def _mixed(value: int) -> int:
    value = ((value ^ value >> 29) * _MIX) & _BITS
    return value >> 32


def _mixed_all(values: Array) -> Array:
    mixed: Array = (values ^ (values >> np.uint64(29))) * np.uint64(_MIX)
    return mixed >> np.uint64(32)


@dataclass(frozen=True, slots=True)
class TextTokens:
    """Hashes of a text's words, and of the sentences and whole texts of its parts."""

    words: Array
    sentences: Array
    wholes: Array
    # Of each part, how many words it has.
    lengths: Array


def joined(parts: Iterable[str]) -> str:
    """Return parts, of which each is a text of its own, as one."""
    return _END.join(one.replace(_END, " ") if _END in one else one for one in parts) + _END


def _ended(text: str) -> str:
    return text if text.endswith(_END) else text + _END


def sentence_hashes(text: str) -> tuple[list[int], int]:
    """Return the hashes of a text's sentences, and of the whole of it."""
    found = _tokens(*_codes(normalize(joined([text]))))
    return found.sentences.tolist(), int(found.wholes[0]) if len(found.wholes) else 0


def tokens_of(raw: str, free: str | None) -> tuple[Array, list[int]]:
    """Return the sorted hashes of a text's words and values, and how many words its parts have.

    `free` is the part of it with sentences, if that is not all of it; lengths are those of `free`.
    """
    plain = _ended(normalize(raw))
    codes, kinds = _codes(plain)
    found = _tokens(codes, kinds)
    own = found if free is None else _tokens(*_codes(_ended(normalize(free))))
    values = list(_values(plain, kinds))
    words = [found.words]
    for decoded in _decoded(_ended(raw)):
        inner = joined([decoded])
        inner_codes, inner_kinds = _codes(inner)
        words.append(_tokens(inner_codes, inner_kinds).words)
        values += _addresses(inner, inner_kinds)
    every = (*words, own.sentences, own.wholes, _hash_each(values) if values else found.words[:0])
    tokens = np.sort(np.concatenate(every).astype(np.uint32))
    return tokens[_firsts(tokens)], own.lengths.tolist()


def _codes(plain: str) -> tuple[Array, Array]:
    """Return a text's code points, and what each of them is."""
    if plain.isascii():
        codes = np.frombuffer(plain.encode("ascii"), np.uint8)
        return codes, _ASCII[codes]
    codes = np.frombuffer(plain.encode("utf-32-le", "surrogatepass"), np.uint32)
    kinds = _ASCII[np.minimum(codes, 127)]
    other = np.flatnonzero(codes > 127)
    distinct, where = np.unique(codes[other], return_inverse=True)
    kinds[other] = np.array([_kind_of(chr(code)) for code in distinct], np.uint8)[where]
    return codes, kinds


@lru_cache(maxsize=4096)
def _kind_of(letter: str) -> int:
    kind = _LETTER | _WORD if letter.isalnum() else 0
    kind |= _BLANK if letter.isspace() else 0
    kind |= _AROUND if letter.isspace() or ord(letter) in AROUND or letter == _END else 0
    kind |= _QUOTE if ord(letter) in QUOTING or letter == _END else 0
    kind |= _MARK if letter in "@/:." else 0
    kind |= _DIGIT if letter.isdigit() else 0
    return kind | (_WORD if letter == "_" else 0) | (_POINT if letter in ".,'" else 0)


_ASCII = np.array([_kind_of(chr(code)) for code in range(128)], np.uint8)


def _tokens(codes: Array, kinds: Array) -> TextTokens:
    letters = (kinds & _LETTER) != 0
    # Words with one blank after each: the text as sentences are compared.
    ends = np.flatnonzero(letters[:-1] & ~letters[1:]) + 1
    if not len(ends):
        none = np.zeros(0, np.uint64)
        return TextTokens(none, none, none, np.zeros(int((codes == 0).sum()), np.int64))
    kept = letters.copy()
    kept[ends] = True
    row = codes[kept].astype(np.uint64)
    stops = np.flatnonzero(~letters[kept])
    row[stops] = ord(" ")
    starts = np.concatenate(([0], stops[:-1] + 1))
    powers, inverses = _powers(len(row))
    sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(row * powers)))

    def hashes(first: Array, last: Array, mark: int | None = None) -> Array:
        value = (sums[stops[last]] - sums[starts[first]]) * inverses[starts[first]]
        return _mixed_all(value if mark is None else value * np.uint64(_FACTOR) + np.uint64(mark))

    every = np.arange(len(stops))
    # How many marks stand before each word: other words are in another sentence, or another part.
    breaks, parts = np.cumsum(_breaks(codes, kinds)), np.cumsum(codes == 0)
    sentences = hashes(*_spans(breaks[ends - 1]), _SENTENCE_MARK)
    first, last = _spans(parts[ends - 1])
    wholes = hashes(first, last, _WHOLE_MARK)
    lengths = np.bincount(parts[ends - 1], minlength=int(parts[-1]))
    return TextTokens(hashes(every, every), sentences, wholes, lengths)


def _spans(groups: Array) -> tuple[Array, Array]:
    """Return the first and last word of each group of at least three words."""
    first = np.flatnonzero(_firsts(groups))
    last = np.concatenate((first[1:], [len(groups)])) - 1
    long = last - first + 1 >= _SENTENCE_WORDS
    return first[long], last[long]


def _firsts(sorted_values: Array) -> Array:
    """Return where each value stands for the first time. Quicker than `numpy.unique`."""
    found = np.ones(len(sorted_values), bool)
    found[1:] = sorted_values[1:] != sorted_values[:-1]
    return found


def _breaks(codes: Array, kinds: Array) -> Array:
    """Return where sentences and quotations end."""
    blank, quote = (kinds & _BLANK) != 0, (kinds & _QUOTE) != 0
    apostrophe, dash = codes == ord("'"), codes == ord("-")
    point = (codes == ord(".")) | (codes == ord(":"))
    before, after = np.zeros_like(blank), np.zeros_like(blank)
    before[1:], after[:-1] = blank[:-1], blank[1:]
    quoted = np.zeros_like(blank)
    quoted[:-1] = apostrophe[1:]
    ended: Array = quote | (point & (after | quoted))
    ended |= (apostrophe & (before | after | quoted)) | (dash & before & after)
    return ended


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


def _values(plain: str, kinds: Array) -> Iterator[str]:
    """Yield what is no plain word: addresses with their parts, dates, numbers, accounts."""
    for address in _addresses(plain, kinds):
        yield address
        yield compact(address)
        yield from _BETWEEN_PARTS.split(address)
    # Neither an expression nor a word goes on over the end of a line here.
    if text := "\n".join(_around_digits(plain, kinds)):
        yield from dates_in(text)
        yield from numbers_in(text)
        yield from _grouped(text)


def _addresses(plain: str, kinds: Array) -> Iterator[str]:
    """Yield what looks like an address, URL, file or path."""
    marks, words = (kinds & _MARK) != 0, (kinds & (_WORD | _MARK)) != 0
    inner = marks[1:-1] & words[:-2] & words[2:]
    if not inner.any():
        return
    edges = np.flatnonzero((kinds & _AROUND) != 0)
    at = np.searchsorted(edges, np.flatnonzero(inner) + 1)
    at = at[_firsts(at)]
    starts = np.where(at > 0, edges[at - 1] + 1, 0)
    for start, end in zip(starts.tolist(), edges[at].tolist(), strict=True):
        # Without its scheme it may be several, or none.
        for part in bare(plain[start:end]).split():
            if address := address_in(part):
                yield address


def _around_digits(plain: str, kinds: Array) -> Iterator[str]:
    """Yield the passages of a text that have digits."""
    digits = (kinds & _DIGIT) != 0
    if not digits.any():
        return
    counts = np.concatenate(([0], np.cumsum(digits)))
    at = np.arange(len(digits))
    upper = np.minimum(at + _NEAR_DIGITS, len(digits))
    near = counts[upper] > counts[np.maximum(at - _NEAR_DIGITS, 0)]
    near = np.concatenate(([False], near, [False]))
    bounds = np.flatnonzero(near[1:] != near[:-1])
    for start, end in zip(bounds[::2].tolist(), bounds[1::2].tolist(), strict=True):
        yield plain[start:end]


_BETWEEN_PARTS = re.compile("[/?=&#,]")
# From its first digit on: an expression that begins with letters takes thrice the time.
_GROUPS = re.compile(r"\d[\da-z]{0,12}(?:[ ()/-]{1,2}(?=[a-z]{0,12}\d)[\da-z]{1,12}){1,8}")
_IBAN = re.compile(r"\d{2}(?: [a-z\d]{4}){2,7}(?: [a-z\d]{1,4})?\b")


def _grouped(plain: str) -> Iterator[str]:
    """Yield phone, account and card numbers that are written in groups, in one piece."""
    for pattern in (_GROUPS, _IBAN):
        for match in pattern.finditer(plain):
            start = match.start()
            country = plain[max(0, start - 2) : start]
            yield compact(match.group())
            if country.isalpha():
                yield country + compact(match.group())


def _decoded(raw: str) -> Iterator[str]:
    """Yield what a text has in percent signs, base64 or hex, normalised."""
    if text := percent_decoded(raw):
        yield normalize(text)
    _, kinds = _codes(raw)
    edges = np.concatenate(([-1], np.flatnonzero((kinds & _AROUND) != 0)))
    long = np.flatnonzero(np.diff(edges) > ENCODED_LENGTH)
    bounds = zip((edges[long] + 1).tolist(), edges[long + 1].tolist(), strict=True)
    chunks = filter(may_be_encoded, (raw[start:end] for start, end in bounds))
    for chunk in islice(chunks, MOST_DECODED):
        yield from map(normalize, decode_chunk(chunk))
