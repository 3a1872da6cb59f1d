"""Phone, account and card numbers that are written in groups, hashed in one piece.

They are what the expression of `digit_tokens` finds, where no group is longer than twelve.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from discovery.flow_guard._spellings import LETTER
from discovery.flow_guard._token_hashes import mix, sums_of, upper_half

Array = npt.NDArray[Any]

_MOST_GROUPS, _LONGEST, _MOST_BETWEEN, _NOT_ASCII = 9, 12, 2, 128
_BETWEEN = np.isin(np.arange(256), [ord(one) for one in " ()/-"])


def hash_groups(codes: Array, kinds: Array, words: tuple[Array, Array], at: Array) -> Array | None:
    """Return the hashes of numbers in groups, or None if an expression must look for them.

    `words` are where the words begin and end; `at` is where their runs of digits begin.
    """
    starts, ends = words
    word = starts.searchsorted(at, side="right") - 1
    fresh = np.ones(len(word), bool)
    fresh[1:] = word[1:] != word[:-1]
    word, first = word[fresh], at[fresh]
    lengths = ends - starts
    joined = _joined(codes, word, starts, ends)
    if _has_other_words(codes, word, joined, words):
        return None
    begin, last = _chains(joined)
    # In one piece, a word begins where those before it end.
    place = lengths.cumsum() - lengths
    lead = first[begin] - starts[word[begin]]
    since, until = place[word[begin]] + lead, place[word[last]] + lengths[word[last]]
    # Two letters before the first digit may be an account's country.
    since = np.concatenate((since, since[lead > 1] - 2))
    until = np.concatenate((until, until[lead > 1]))
    sums, scale = sums_of(codes[(kinds & LETTER) != 0])
    return upper_half(mix((sums[until] - sums[since]) * scale[since]))


def _joined(codes: Array, word: Array, starts: Array, ends: Array) -> Array:
    """Return True where one word with a digit stands right after another."""
    end, start = ends[word[:-1]], starts[word[1:]]
    near = (word[1:] - word[:-1] == 1) & (start - end <= _MOST_BETWEEN)
    before, after = (np.minimum(codes[at], _NOT_ASCII) for at in (end, start - 1))
    mask: Array = near & _BETWEEN[before] & _BETWEEN[after]
    return mask


def _has_other_words(codes: Array, word: Array, joined: Array, words: tuple[Array, Array]) -> bool:
    """Return True if one of the joined words is longer, or has letters beside those of ASCII."""
    either = np.zeros(len(word), bool)
    either[1:] = joined
    either[:-1] |= joined
    grouped = word[either]
    starts, ends = words
    if (ends[grouped] - starts[grouped] > _LONGEST).any():
        return True
    if codes.dtype == np.uint8:
        return False
    strange = np.concatenate((np.zeros(1, np.int64), (codes >= _NOT_ASCII).cumsum()))
    return bool((strange[ends[grouped]] > strange[starts[grouped]]).any())


def _chains(joined: Array) -> tuple[Array, Array]:
    """Return the first and last word of each chain of joined words, cut after nine."""
    places = np.arange(len(joined) + 1)
    alone = np.ones(len(places), bool)
    alone[1:] = ~joined
    since = np.maximum.accumulate(np.where(alone, places, 0))
    begin = ((places - since) % _MOST_GROUPS == 0).nonzero()[0]
    last = np.append(begin[1:], len(places)) - 1
    several = last > begin
    return begin[several], last[several]
