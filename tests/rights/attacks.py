"""Worst-case texts for regular expressions, derived from the expressions themselves.

An expression is slow if a text matches in many ways, none of which completes. So each text is a
path to a repetition, many repeats of what it takes, and an end that fails.
"""

import re
from collections.abc import Iterator
from itertools import product
from re import _constants as ops  # CPython's own parser
from re import _parser as parser
from typing import Any

Items = Any
_ENDS = ("", "\x00", "\n", " -", "a")
_MOST_PUMPS, _MOST_STARTS = 22, 5
_CLASSES = {
    ops.CATEGORY_DIGIT: "7",
    ops.CATEGORY_NOT_DIGIT: "a",
    ops.CATEGORY_SPACE: " ",
    ops.CATEGORY_NOT_SPACE: "a",
    ops.CATEGORY_WORD: "a",
    ops.CATEGORY_NOT_WORD: "-",
}
# Texts that people send, whatever the expression.
COMMON = ("a", "A", "0", "_", "-", " ", "\n", "a_", "a ", "aA", "a.", ", and ", '"', "[", "${", "é")


def attacks(source: str, flags: int, size: int) -> Iterator[str]:
    """Yield attack texts of about `size` characters."""
    tree = parser.parse(source, flags)
    pumps = dict.fromkeys((*(p for _, p in _repetitions(tree, "")), *COMMON))
    starts = dict.fromkeys(("", *(start for start, _ in _repetitions(tree, "")), _sample(tree)))
    used = [pump for pump in pumps if pump][:_MOST_PUMPS]
    for start, pump, end in product(list(starts)[:_MOST_STARTS], used, _ENDS):
        yield start + pump * (size // len(pump)) + end
    starts = dict.fromkeys(list(starts)[: 4 * _MOST_STARTS])
    for pump in dict.fromkeys(f"{start}{pump}" for start in starts for pump in used):
        yield pump * (size // max(1, len(pump)))
    for start in starts:  # many entries first, then many repeats
        for pump in used:
            half = size // 2
            yield start * (half // max(1, len(start))) + pump * (half // len(pump)) + "\x00"


def _repetitions(items: Items, before: str) -> Iterator[tuple[str, str]]:
    """Yield each repetition: a text that leads to it, and different texts that it repeats."""
    for operation, argument in items:
        for inner in _inner(operation, argument):
            yield from _repetitions(inner, before)
        if operation in _REPEATS:
            _, most, body = argument
            if most > 8:
                for text in _samples(body):
                    yield before, text
        before += _one(operation, argument)


_REPEATS = {ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT}


def _inner(operation: Any, argument: Any) -> list[Items]:
    if operation in _REPEATS:
        return [argument[2]]
    if operation is ops.SUBPATTERN:
        return [argument[3]]
    if operation is ops.ATOMIC_GROUP:
        return [argument]
    if operation is ops.BRANCH:
        return list(argument[1])
    if operation in {ops.ASSERT, ops.ASSERT_NOT}:
        return [argument[1]]
    return []


def _samples(items: Items) -> list[str]:
    """Yield texts that the items match: one for each branch and kind of character."""
    found = [""]
    for operation, argument in items:
        found = [a + b for a, b in product(found, _ones(operation, argument))][:12]
    return [text for text in dict.fromkeys(found) if text]


def _ones(operation: Any, argument: Any) -> list[str]:
    if operation is ops.BRANCH:
        return [text for one in argument[1] for text in (_samples(one) or [""])][:8]
    if operation is ops.IN:
        return _members(argument)
    if operation is ops.SUBPATTERN:
        return _samples(argument[3]) or [""]
    if operation is ops.ATOMIC_GROUP:
        return _samples(argument) or [""]
    if operation in _REPEATS:
        least, most, body = argument
        once = _samples(body) or [""]
        return [text * max(least, min(1, most)) for text in once]
    return [_one(operation, argument)]


def _sample(items: Items) -> str:
    return "".join(_one(operation, argument) for operation, argument in items)


def _one(operation: Any, argument: Any) -> str:
    """Return a short text that matches the item."""
    if operation is ops.LITERAL:
        return chr(argument)
    if operation is ops.NOT_LITERAL:
        return "a" if argument != ord("a") else "b"
    if operation is ops.ANY:
        return "a"
    if operation is ops.IN:
        return str(_members(argument)[0])
    if operation is ops.BRANCH:
        return _sample(argument[1][0])
    if operation is ops.SUBPATTERN:
        return _sample(argument[3])
    if operation is ops.ATOMIC_GROUP:
        return _sample(argument)
    if operation in _REPEATS:
        return str(_sample(argument[2]) * min(int(argument[0]), 200))
    return ""


def _members(argument: Any) -> list[str]:
    """Return some characters of a class."""
    negated = any(kind is ops.NEGATE for kind, _ in argument)
    if negated:
        taken = re.compile("(?s:.)")
        return [one for one in ("a", " ", "-", "0", "\n", "é") if _fits(one, argument)] or [
            taken.pattern[0]
        ]
    found = []
    for kind, value in argument:
        if kind is ops.LITERAL:
            found.append(chr(value))
        elif kind is ops.RANGE:
            found.append(chr(value[0]))
        elif kind is ops.CATEGORY:
            found.append(_CLASSES[value])
    return list(dict.fromkeys(found))[:6] or ["a"]


def _fits(character: str, argument: Any) -> bool:
    """Return True if the negated class contains the character."""
    for kind, value in argument:
        if kind is ops.LITERAL and ord(character) == value:
            return False
        if kind is ops.RANGE and value[0] <= ord(character) <= value[1]:
            return False
        if kind is ops.CATEGORY and _of_category(character, value):
            return False
    return True


def _of_category(character: str, category: Any) -> bool:
    word, space, digit = character.isalnum() or character == "_", character.isspace(), False
    digit = character.isdigit()
    return {
        ops.CATEGORY_DIGIT: digit,
        ops.CATEGORY_NOT_DIGIT: not digit,
        ops.CATEGORY_SPACE: space,
        ops.CATEGORY_NOT_SPACE: not space,
        ops.CATEGORY_WORD: word,
        ops.CATEGORY_NOT_WORD: not word,
    }[category]
