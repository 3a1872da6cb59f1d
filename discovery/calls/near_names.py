"""Which names are nearly the one asked for: a model writes `filesystem.grep`, or `send_mail`.

Pure functions: whoever asks passes only names that may be told.
"""

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from functools import lru_cache
from heapq import nlargest

MOST, COMPARED, LONGEST = 3, 20, 100
NEAR_ENOUGH, OF_ACTIONS = 0.75, 0.95
_APART = re.compile(r"[^a-z0-9]+")
_WORD_BEGINS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def near_names(asked: str, names: Iterable[str]) -> tuple[str, ...]:
    """At most three of the names, the nearest first."""
    asked = asked[:LONGEST]
    pieces = _pieces(_plain(asked))
    if not pieces:
        return ()
    sharing = ((len(pieces & _pieces_of(name)), name) for name in names)
    compared = nlargest(COMPARED, (pair for pair in sharing if pair[0]))
    scored = sorted((-_likeness(asked, name), name) for _, name in compared)
    same = tuple(name for score, name in scored if score == -1)
    return (same or tuple(name for score, name in scored if -score >= NEAR_ENOUGH))[:MOST]


def _likeness(asked: str, name: str) -> float:
    """Of the whole names; or of the actions, where another integration was named, or none."""
    whole = _ratio(_plain(asked), _plain(name))
    return max(whole, OF_ACTIONS * _ratio(_action(asked), _action(name)))


def _ratio(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other, autojunk=False).ratio()


def _action(name: str) -> str:
    return _plain(name.rpartition("__")[2])


def _plain(name: str) -> str:
    """Without case, and with one kind of separator."""
    return _APART.sub("_", _WORD_BEGINS.sub("_", name).casefold()).strip("_")


@lru_cache(maxsize=20_000)
def _pieces_of(name: str) -> frozenset[str]:
    return _pieces(_plain(name))


def _pieces(plain: str) -> frozenset[str]:
    """Three letters each: comparing sets of them is quick, and finds whom comparing is worth."""
    return frozenset(plain[place : place + 3] for place in range(len(plain) - 2))
