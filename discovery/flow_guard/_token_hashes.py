"""Hashes of tokens, computed for many at once: a run's hash is a difference of two sums.

A hash has 32 bits. A collision can only make the guard ask.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

# A run of letters is hashed as a polynomial in this factor, so that the hashes of all runs of a
# text come from one pass of sums. Odd, so that its powers can be divided by; any other would do.
_FACTOR, _MIX, _BITS = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, 0xFFFFFFFFFFFFFFFF
_INVERSE = pow(_FACTOR, -1, 1 << 64)
_HALF, _SHIFT = np.uint64(32), np.uint64(29)
_MIX_OF_ALL, _FACTOR_OF_ALL = np.uint64(_MIX), np.uint64(_FACTOR)
# Longer tokens are hashed by numpy, whose calls cost more than a loop over a short one.
_LONG = 48


def hash_of(token: str) -> int:
    """Return a token's hash."""
    if len(token) > _LONG:
        return int(hash_each([token])[0])
    value = 0
    for letter in reversed(token):
        value = (value * _FACTOR + ord(letter)) & _BITS
    value = ((value ^ value >> 29) * _MIX) & _BITS
    return value >> 32


def hash_each(tokens: Sequence[str]) -> Array:
    """Return the hash of each token."""
    codes = codes_of("".join(tokens))
    ends = np.fromiter(map(len, tokens), np.int64, len(tokens)).cumsum()
    starts = np.concatenate(([0], ends[:-1]))
    sums, scale = sums_of(codes)
    return upper_half(mix((sums[ends] - sums[starts]) * scale[starts]))


def hash_rows(codes: Array) -> Array:
    """Return the hash of each row of codes, whose tokens are of one length."""
    powers, _ = _powers(codes.shape[1])
    return upper_half(mix((codes * powers).sum(axis=1, dtype=np.uint64)))


def codes_of(text: str) -> Array:
    """Return a text's code points."""
    if text.isascii():
        return np.frombuffer(text.encode("ascii"), np.uint8)
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def sums_of(values: Array) -> tuple[Array, Array]:
    """Return the sums before each of the values, and what a difference of two is to be scaled by.

    The sum from a place on, times that place's scale, is what the same values give anywhere.
    """
    powers, inverses = _powers(len(values))
    sums = np.empty(len(values) + 1, np.uint64)
    sums[0] = 0
    np.multiply(values, powers, out=sums[1:])
    return sums.cumsum(out=sums), inverses


def mix(values: Array) -> Array:
    """Return values whose upper half depends on all of their bits."""
    mixed: Array = values >> _SHIFT
    mixed ^= values
    mixed *= _MIX_OF_ALL
    return mixed


def mix_marked(values: Array, mark: int) -> Array:
    """Return mixed values of runs of words, which differ by what kind of run they are."""
    return mix(values * _FACTOR_OF_ALL + np.uint64(mark))


def upper_half(mixed: Array) -> Array:
    """Return the hashes that mixed values have."""
    return (mixed >> _HALF).astype(np.uint32)


_tables: list[tuple[Array, Array]] = []


def _powers(length: int) -> tuple[Array, Array]:
    """Return the factor's powers and their inverses, so many of them."""
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
