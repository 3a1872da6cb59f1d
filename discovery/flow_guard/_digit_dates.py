"""Dates in digits, read and hashed for all of a text at once.

20 kB of nothing but dates are some 1,700 of them; an expression and a date for each took 2 ms.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from discovery.flow_guard._spellings import WORD
from discovery.flow_guard._token_hashes import hash_rows

Array = npt.NDArray[Any]

_ZERO, _POINT, _DASH, _FEBRUARY = ord("0"), ord("."), ord("-"), 2
_MONTH_DAYS = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] + 87 * [0])
_TWO_DIGITS = np.array([[ord(one) for one in f"{number:02}"] for number in range(100)], np.uint8)


def hash_dates(codes: Array, kinds: Array, first: Array, last: Array, at: Array) -> Array:
    """Return the hashes of the dates, in ISO's form, that three runs of digits are.

    Runs have their `first` and `last` digits; `at` has the first runs of each three. A date begins
    and ends where the first two expressions of `value_forms` say.
    """
    length = last - first + 1
    at = at[(length[at + 1] <= 2) & ((kinds[first[at] - 1] & WORD) == 0)]
    ahead = at[length[at] == len("2024")]
    pointed = (codes[last[at] + 1] == _POINT) & (codes[last[at + 1] + 1] == _POINT)
    ends = (length[at + 2] == len("2024")) & ((kinds[last[at + 2] + 1] & WORD) == 0)
    behind = at[pointed & ends & (length[at] <= 2)]
    year = _number(codes, first[np.concatenate((ahead, behind + 2))], 4)
    month, day = np.concatenate((ahead, behind)) + 1, np.concatenate((ahead + 2, behind))
    parts = (
        _number(codes, first[places], np.minimum(length[places], 2)) for places in (month, day)
    )
    return hash_rows(_iso_codes(year, *parts))


def _number(codes: Array, at: Array, length: Array | int) -> Array:
    """Return the numbers of so many digits that begin here."""
    value = codes[at].astype(np.int64) - _ZERO
    for place in range(1, int(np.max(length, initial=0))):
        more = value * 10 + codes.take(at + place, mode="clip") - _ZERO
        value = np.where(place < length, more, value)
    return value


def _iso_codes(year: Array, month: Array, day: Array) -> Array:
    """Return the letters of those dates that exist, each in a row of its own."""
    leaps = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    days = _MONTH_DAYS[month] + (leaps & (month == _FEBRUARY))
    real = (year > 0) & (day > 0) & (day <= days)
    year, month, day = year[real], month[real], day[real]
    rows = np.full((len(year), 10), _DASH, np.uint8)
    rows[:, 0:2], rows[:, 2:4] = _TWO_DIGITS[year // 100], _TWO_DIGITS[year % 100]
    rows[:, 5:7], rows[:, 8:10] = _TWO_DIGITS[month], _TWO_DIGITS[day]
    return rows
