"""Tokens of an answer: hashes of its words, sentences and values, computed for all of it at once.

An answer of 20 kB has some 3,500 words. numpy hashes all of them in the time that Python takes for
some hundred: the hash of a run of letters is a difference of two sums over the text. Only what is
no plain word, such as an address or a number, is read by expressions, and only around it.

Positions count characters of the normalised text; a hash has 32 bits.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from discovery.flow_guard._digit_tokens import DigitRuns, digit_tokens
from discovery.flow_guard._spellings import (
    AROUND_ADDRESS,
    BLANK,
    DIGIT,
    EDGES,
    ENCODED_LENGTH,
    END,
    LETTER,
    MARK,
    MOST_DECODED,
    QUOTE,
    SOFT,
    WORD,
    address_in,
    bare,
    codes_and_kinds,
    compact,
    decode_chunk,
    edges_of,
    may_be_encoded,
    normalize,
    percent_decoded,
)
from discovery.flow_guard._token_hashes import hash_each, mix, mix_marked, sums_of, upper_half

Array = npt.NDArray[Any]

_ZERO = np.zeros(1, np.int64)
_SENTENCE_MARK, _WHOLE_MARK = ord("…"), ord("=")
_SENTENCE_WORDS = 3
_APOSTROPHE = ord("'")


def joined(parts: Iterable[str]) -> str:
    """Return parts, of which each is a text of its own, as one."""
    return END.join(part.replace(END, " ") if END in part else part for part in parts) + END


def _ended(text: str) -> str:
    return text if text.endswith(END) else text + END


def sentence_hashes(text: str) -> tuple[list[int], int]:
    """Return the hashes of a text's sentences, and of the whole of it."""
    sums = _TextHashes(*codes_and_kinds(normalize(joined([text]))))
    wholes = sums.wholes()
    return sums.sentences().tolist(), int(wholes[0]) if len(wholes) else 0


def tokens_of(raw: str, free: str | None) -> tuple[Array, list[int]]:
    """Return the sorted hashes of a text's words and values, and how many words its parts have.

    `free` is the part of it with sentences, if that is not all of it; lengths are those of `free`.
    """
    plain = _ended(normalize(raw))
    codes, kinds = codes_and_kinds(plain)
    text_hashes = _TextHashes(codes, kinds)
    free_hashes = (
        text_hashes if free is None else _TextHashes(*codes_and_kinds(_ended(normalize(free))))
    )
    edges = _edges(kinds)
    values, numbers = digit_tokens(DigitRuns.of(plain, codes, kinds), text_hashes.bounds)
    values += _address_parts(_addresses(plain, kinds, edges))
    hashes = [text_hashes.words(), free_hashes.sentences(), free_hashes.wholes(), *numbers]
    # Letters in one case stand where they stood, unless something became longer or shorter.
    raw_text = _ended(raw)
    stands = raw.isascii() and "&" not in raw
    if decoded := list(
        _decoded(raw_text, edges if stands else _edges(codes_and_kinds(raw_text)[1]))
    ):
        inner = joined(decoded)
        codes, kinds = codes_and_kinds(inner)
        hashes.append(_TextHashes(codes, kinds).words())
        values += _addresses(inner, kinds, _edges(kinds))
    if values:
        hashes.append(hash_each(values))
    tokens = np.concatenate(hashes)
    tokens.sort()
    return tokens[_firsts(tokens)], free_hashes.lengths()


class _TextHashes:
    """Hashes of a text's words and of runs of words: a run's is a difference of two sums."""

    def __init__(self, codes: Array, kinds: Array) -> None:
        changes = edges_of((kinds & LETTER) != 0)
        starts, self._ends = self.bounds = changes[0::2], changes[1::2]
        self._codes, self._kinds = codes, kinds
        sums, scale = sums_of(codes)
        values = (sums[self._ends] - sums[starts]) * scale[starts]
        self._mixed = mix(values)
        # Words of a run are mixed before they are added: letters of two would change places.
        self._sums, self._scale = sums_of(self._mixed)

    @cached_property
    def _cuts(self) -> Array:
        """Return how many words stand before each part's end."""
        return self._ends.searchsorted(_where(self._codes == 0), side="right")

    def words(self) -> Array:
        """Return the hashes of all words."""
        return upper_half(self._mixed)

    def sentences(self) -> Array:
        """Return the hashes of all sentences of at least three words."""
        breaks = _breaks(self._codes, self._kinds)
        return self._runs(self._ends.searchsorted(breaks, side="right"), _SENTENCE_MARK)

    def wholes(self) -> Array:
        """Return the hashes of all parts of at least three words."""
        return self._runs(self._cuts, _WHOLE_MARK)

    def lengths(self) -> list[int]:
        """Return how many words each part has."""
        word_counts: list[int] = (self._cuts - np.concatenate((_ZERO, self._cuts[:-1]))).tolist()
        return word_counts

    def _runs(self, cuts: Array, mark: int) -> Array:
        first, last = _spans(cuts, len(self._ends))
        value = (self._sums[last] - self._sums[first]) * self._scale[first]
        return upper_half(mix_marked(value, mark))


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
    mask = np.ones(len(sorted_values), bool)
    mask[1:] = sorted_values[1:] != sorted_values[:-1]
    return mask


def _breaks(codes: Array, kinds: Array) -> Array:
    """Return where sentences and quotations end. The last character is such an end."""
    at = _where((kinds & (QUOTE | SOFT)) != 0)
    code = codes[at]
    before = (kinds[at - 1] & BLANK) != 0
    after = (kinds.take(at + 1, mode="clip") & BLANK) != 0
    beside = after | (codes.take(at + 1, mode="clip") == _APOSTROPHE)
    ended: Array = (kinds[at] & QUOTE) != 0
    ended |= ((code == ord(".")) | (code == ord(":"))) & beside
    ended |= (code == _APOSTROPHE) & (before | beside)
    ended |= (code == ord("-")) & before & after
    return at[ended]


def _address_parts(addresses: list[str]) -> list[str]:
    """Return addresses with their parts, and in one piece."""
    if not addresses:
        return []
    every = END.join(addresses)
    return [*addresses, *compact(every).split(END), *_BETWEEN_PARTS.split(every)]


def _edges(kinds: Array) -> Array:
    """Return where addresses end and begin."""
    return _where((kinds & AROUND_ADDRESS) != 0)


def _addresses(plain: str, kinds: Array, edges: Array) -> list[str]:
    """Return what looks like an address, URL, file or path."""
    marks = _where((kinds[1:-1] & MARK) != 0) + 1
    either = WORD | MARK
    marks = marks[((kinds[marks - 1] & either) != 0) & ((kinds[marks + 1] & either) != 0)]
    if not len(marks):
        return []
    at = edges.searchsorted(marks)
    first = _firsts(at)
    beside = kinds[marks - 1] & kinds[marks + 1]
    if (beside & DIGIT).any():
        first &= ~_are_numbers(kinds, edges, at)
    at = at[first]
    starts = np.where(at > 0, edges[at - 1] + 1, 0)
    bounds = zip(starts.tolist(), edges[at].tolist(), strict=True)
    raw_pieces = "\n".join([plain[start:end] for start, end in bounds])
    # Without its scheme a piece may be several, or none.
    text = bare(raw_pieces)
    pieces = dict.fromkeys(text.split())
    if (beside & WORD).all() and len(text) == len(raw_pieces):
        return [piece.strip(EDGES) for piece in pieces]
    return list(filter(None, map(address_in, pieces)))


def _are_numbers(kinds: Array, edges: Array, at: Array) -> Array:
    """Return which marks are the only one of a piece without letters: of 12.50, or of 12:30."""
    letters = np.zeros(len(kinds) + 1, np.int32)
    np.cumsum((kinds & (LETTER | DIGIT)) == LETTER, out=letters[1:])
    starts = np.where(at > 0, edges[at - 1] + 1, 0)
    alone: Array = letters[edges[at]] == letters[starts]
    alone[1:] &= at[1:] != at[:-1]
    alone[:-1] &= at[1:] != at[:-1]
    return alone


_BETWEEN_PARTS = re.compile(f"[/?=&#,{END}]")


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
