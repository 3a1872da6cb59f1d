"""Tokens of what has several digits: numbers, dates, phone numbers and accounts, in one spelling.

Each kind is looked for only where the digits around it allow one.
"""

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from discovery.flow_guard._spellings import (
    DIGIT,
    END,
    LETTER,
    WORD,
    compact,
    dates_in,
    day_first_dates_in,
    edges_of,
    month_first_dates_in,
    numbers_in,
)
from discovery.flow_guard._token_hashes import hash_rows, mix, sums_of, upper_half

# Dates in digits, read and hashed for all of a text at once.
#
# 20 kB of nothing but dates are some 1,700 of them; an expression and a date for each took 2 ms.

Array = npt.NDArray[Any]

_DATE_ZERO, _DATE_POINT, _DASH, _FEBRUARY = ord("0"), ord("."), ord("-"), 2
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
    pointed = (codes[last[at] + 1] == _DATE_POINT) & (codes[last[at + 1] + 1] == _DATE_POINT)
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
    value = codes[at].astype(np.int64) - _DATE_ZERO
    for place in range(1, int(np.max(length, initial=0))):
        more = value * 10 + codes.take(at + place, mode="clip") - _DATE_ZERO
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


# Phone, account and card numbers that are written in groups, hashed in one piece.
#
# They are what the expression of `digit_tokens` finds, where no group is longer than twelve.

_MOST_GROUPS, _LONGEST, _MOST_BETWEEN, _BEYOND_ASCII = 9, 12, 2, 128
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
    # True where one word with a digit stands right after another.
    end, start = ends[word[:-1]], starts[word[1:]]
    near = (word[1:] - word[:-1] == 1) & (start - end <= _MOST_BETWEEN)
    before, after = (np.minimum(codes[at], _BEYOND_ASCII) for at in (end, start - 1))
    joined: Array = near & _BETWEEN[before] & _BETWEEN[after]
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
    strange = np.concatenate((np.zeros(1, np.int64), (codes >= _BEYOND_ASCII).cumsum()))
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


# How far a date goes on beside its first mark, or beside a month's name; a group of letters and
# digits; an account after its first two digits.
_NEAR_DATE, _NEAR_MONTH, _NEAR_GROUPS, _NEAR_ACCOUNT = 9, 30, 28, 50
# Behind so many digits an expression may end before the last one.
_LONG_FRACTION = 18
# " may " and what stands between a day and the year behind a month's name.
_LEAST_AROUND_MONTH = 5
_ZERO, _POINT, _BLANK, _NOT_ASCII = ord("0"), ord("."), ord(" "), 128
_GROUPING = "abcdefghijklmnopqrstuvwxyz ()/-"
_TABLES = {
    letters: np.isin(np.arange(256), [ord(one) for one in letters])
    for letters in (",.'", "-./", _GROUPING)
}


class _Pattern(NamedTuple):
    """An expression for groups, alone and with the two letters of a country before them."""

    alone: re.Pattern[str]
    with_country: re.Pattern[str]


# From their first digit on: an expression that begins with letters takes thrice the time. Nothing
# of a repetition is ever given back, since what follows it is of other letters.
_GROUPS = _Pattern(
    re.compile(r"\d[\da-z]{0,12}+(?:[ ()/-]{1,2}+(?=[a-z]{0,12}+\d)[\da-z]{1,12}+){1,8}+"),
    re.compile(
        r"(\d(?:(?<=([^\W\d_]{2})\d)|)[\da-z]{0,12}+"
        r"(?:[ ()/-]{1,2}+(?=[a-z]{0,12}+\d)[\da-z]{1,12}+){1,8}+)"
    ),
)
_IBAN = _Pattern(
    re.compile(r"\d\d(?: [a-z\d]{4}){2,7}(?: [a-z\d]{1,4})?\b"),
    re.compile(r"(\d(?:(?<=([^\W\d_]{2})\d)|)\d(?: [a-z\d]{4}){2,7}(?: [a-z\d]{1,4})?\b)"),
)
Found = tuple[list[str], list[Array]]


@dataclass(frozen=True, slots=True)
class DigitRuns:
    """Runs of digits in a text: where each begins and ends, and what stands between two of them."""

    plain: str
    codes: Array
    kinds: Array
    first: Array
    last: Array

    @classmethod
    def of(cls, plain: str, codes: Array, kinds: Array) -> "DigitRuns":
        """Return the runs of a text that ends with no digit."""
        edges = edges_of((kinds & DIGIT) != 0)
        return cls(plain, codes, kinds, edges[0::2], edges[1::2] - 1)

    def are_ascii(self) -> bool:
        """Return True if no digit is of another script."""
        if self.codes.dtype == np.uint8:
            return True
        return bool((self.codes[(self.kinds & DIGIT) != 0] < _NOT_ASCII).all())


def digit_tokens(runs: DigitRuns, words: tuple[Array, Array]) -> Found:
    """Return what has several digits, as tokens and as hashes of tokens.

    `words` are where the words begin and end.
    """
    if not len(runs.first):
        return [], []
    # The pairs of digits behind which a group of four stands between blanks.
    end = runs.last[runs.last > runs.first]
    blank = runs.codes.take(end + 6, mode="clip") == _BLANK
    pairs: Array = end[blank & (runs.codes[end + 1] == _BLANK)] - 1
    tokens = _grouped(_IBAN, pairs, runs, _NEAR_ACCOUNT)
    gaps = runs.first[1:] - runs.last[:-1]
    if not (gaps < _NEAR_MONTH).any():
        return tokens, []
    after = runs.codes[runs.last[:-1] + 1]
    marked = (gaps == 2) & _is_one_of(after, ",.'")
    tokens += numbers_in(_numbers(runs, marked.nonzero()[0]))
    day_first, month_first = _may_be_named(runs, gaps)
    tokens += day_first_dates_in(_around(day_first, runs.plain, _NEAR_MONTH))
    tokens += month_first_dates_in(_around(month_first, runs.plain, _NEAR_MONTH))
    marked = (gaps == 2) & _is_one_of(after, "-./")
    dates = _dates(runs, (marked[:-1] & marked[1:]).nonzero()[0])
    joined = _is_one_of(after, _GROUPING) & _is_one_of(runs.codes[runs.first[1:] - 1], _GROUPING)
    groups = _groups(runs, words, runs.last[:-1][joined & (gaps < _NEAR_GROUPS)])
    return [*tokens, *dates[0], *groups[0]], [*dates[1], *groups[1]]


def _dates(runs: DigitRuns, at: Array) -> Found:
    if not len(at):
        return [], []
    if not runs.are_ascii():
        return dates_in(_around(runs.last[at], runs.plain, _NEAR_DATE)), []
    return [], [hash_dates(runs.codes, runs.kinds, runs.first, runs.last, at)]


def _groups(runs: DigitRuns, words: tuple[Array, Array], at: Array) -> Found:
    if not len(at):
        return [], []
    hashes = hash_groups(runs.codes, runs.kinds, words, runs.first)
    if hashes is None:
        return _grouped(_GROUPS, at, runs, _NEAR_GROUPS), []
    return [], [hashes]


def _is_one_of(codes: Array, letters: str) -> Array:
    """Return True for each code of one of these ASCII letters."""
    mask: Array = _TABLES[letters][codes if codes.dtype == np.uint8 else np.minimum(codes, 255)]
    return mask


def _numbers(runs: DigitRuns, at: Array) -> str:
    """Return the distinct numbers that may have marks of thousands or closing zeros."""
    if not len(at):
        return ""
    codes, last = runs.codes, runs.last[at + 1]
    zero = (codes[last] == _ZERO) | (last - runs.first[at + 1] >= _LONG_FRACTION)
    at = at[(codes[runs.last[at] + 1] != _POINT) | zero]
    inside = (runs.kinds & DIGIT) != 0
    for mark in ",.'":
        inside |= codes == ord(mark)
    edges = edges_of(inside)
    end = np.unique(edges.searchsorted(runs.last[at], side="right"))
    bounds = zip(edges[end - 1].tolist(), edges[end].tolist(), strict=True)
    return "\n".join(dict.fromkeys([runs.plain[start:end] for start, end in bounds]))


def _may_be_named(runs: DigitRuns, gaps: Array) -> tuple[Array, Array]:
    """Return days between which and a year a month may be named, and those behind its name."""
    first, last, codes = runs.first, runs.last, runs.codes
    years = (last[1:] - first[1:] == 3) & (codes[first[1:] - 1] == _BLANK)
    at = (years & (gaps < _NEAR_MONTH)).nonzero()[0]
    before = first[at] - 2
    behind = ((runs.kinds[before] & LETTER) != 0) | (codes[before] == _POINT)
    behind &= (codes[before + 1] == _BLANK) & (gaps[at] <= _LEAST_AROUND_MONTH)
    return last[at[gaps[at] > _LEAST_AROUND_MONTH]], last[at[behind]]


def _grouped(pattern: _Pattern, at: Array, runs: DigitRuns, near: int) -> list[str]:
    """Return phone, account and card numbers that are written in groups, in one piece."""
    text = _around(at, runs.plain, near)
    if not text:
        return []
    # True if two letters stand before a digit anywhere.
    letters = (runs.kinds & (LETTER | DIGIT)) == LETTER
    if bool((letters[:-2] & letters[1:-1] & ((runs.kinds[2:] & DIGIT) != 0)).any()):
        pairs = dict.fromkeys(pattern.with_country.findall(text))
        groups = [group for group, _ in pairs]
        groups += [country + group for group, country in pairs if country.isalpha()]
    else:
        groups = list(dict.fromkeys(pattern.alone.findall(text)))
    return compact(END.join(groups)).split(END) if groups else []


def _around(at: Array, plain: str, near: int) -> str:
    """Return the passages of a text around these places, each a line of its own."""
    if not len(at):
        return ""
    starts = np.maximum(at - near, 0)
    ends = np.minimum(at + near, len(plain))
    apart = (starts[1:] > ends[:-1]).nonzero()[0]
    first, last = starts[np.concatenate(([0], apart + 1))], ends[np.concatenate((apart, [-1]))]
    bounds = zip(first.tolist(), last.tolist(), strict=True)
    # Neither an expression nor a word goes on over the end of a line here.
    return "\n".join([plain[start:end] for start, end in bounds])
