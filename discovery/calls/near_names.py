"""Suggestions for names that are nearly right: a model writes `filesystem.grep`, or `send_mail`.

Pure functions: callers pass only names that the caller of the request may know.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from rapidfuzz import fuzz, process

MOST, COMPARED, LONGEST = 3, 20, 100
MIN_SCORE = 75  # of 100
ACTION_WEIGHT = 0.95
_SEPARATORS = re.compile(r"[^a-z0-9]+")
_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def near_names(name_sought: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return up to three of the names, the nearest first; only equal ones if there are any.

    Whole names are compared, and actions alone: the integration may be wrong or missing.
    """
    name_sought, names = name_sought[:LONGEST], list(names)
    scores = _scores(_plain(name_sought), {name: _plain(name) for name in names})
    for name, score in _scores(
        _action(name_sought), {name: _action(name) for name in names}
    ).items():
        scores[name] = max(scores.get(name, 0.0), ACTION_WEIGHT * score)
    nearest = sorted(scores, key=lambda name: (-scores[name], name))
    equal = [name for name in nearest if scores[name] == 100]
    return tuple((equal or [name for name in nearest if scores[name] >= MIN_SCORE])[:MOST])


def _scores(text_sought: str, texts: dict[str, str]) -> dict[str, float]:
    """Return the likeness, 0-100, of the names whose text is nearest to the one asked for."""
    if not text_sought:
        return {}
    matches = process.extract(
        text_sought, texts, scorer=fuzz.ratio, score_cutoff=MIN_SCORE, limit=COMPARED
    )
    return {name: score for _, score, name in matches}


def _action(name: str) -> str:
    return _plain(name.rpartition("__")[2])


@lru_cache(maxsize=20_000)
def _plain(name: str) -> str:
    """Return the name in lower case, with one kind of separator."""
    return _SEPARATORS.sub("_", _WORD_START.sub("_", name).casefold()).strip("_")
