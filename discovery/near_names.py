"""Which names are nearly the one asked for: a model writes `filesystem.grep`, or `send_mail`.

Pure functions: whoever asks passes only names that may be told.
"""

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from functools import lru_cache
from heapq import nlargest

MOST, COMPARED, LONGEST = 3, 20, 100
NEAR_ENOUGH = 0.75
_APART = re.compile(r"[^a-z0-9]+")


def near_names(asked: str, names: Iterable[str]) -> tuple[str, ...]:
    """At most three of the names, the nearest first."""
    wanted = _plain(asked[:LONGEST])
    pieces = _pieces(wanted)
    if not pieces:
        return ()
    sharing = ((len(pieces & _pieces_of(name)), name) for name in names)
    compared = nlargest(COMPARED, (pair for pair in sharing if pair[0]))
    scored = sorted((-_likeness(wanted, name), name) for _, name in compared)
    return tuple(name for score, name in scored if -score >= NEAR_ENOUGH)[:MOST]


def _likeness(wanted: str, name: str) -> float:
    """To the whole name, or to the action alone where no integration was named."""
    forms = {_plain(name), _plain(name.rpartition("__")[2])}
    return max(SequenceMatcher(None, wanted, form, autojunk=False).ratio() for form in forms)


def _plain(name: str) -> str:
    """Without case, and with one kind of separator."""
    return _APART.sub("_", name.casefold()).strip("_")


@lru_cache(maxsize=20_000)
def _pieces_of(name: str) -> frozenset[str]:
    return _pieces(_plain(name))


def _pieces(plain: str) -> frozenset[str]:
    """Three letters each: comparing sets of them is quick, and finds whom comparing is worth."""
    return frozenset(plain[place : place + 3] for place in range(len(plain) - 2))
