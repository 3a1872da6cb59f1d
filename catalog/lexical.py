"""Words as sparse vectors: the inner product of a query's and a capability's vector is BM25.

A capability's vector depends on its own text alone, and a query's on a fixed table of how common
each word is in tools at large. Nothing here looks at the catalogue: what is hidden from a
caller must move none of their scores.
"""

import math
import re
import threading
import zlib
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import numpy as np
import Stemmer

from catalog.embedding.embedding_text import (
    Describable,
    in_words,
    integration_slug,
    parameter_names,
)

DIMENSIONS = 2**18
# Length does not pay: what lies beyond is not ranked, and what lies before counts against itself.
LONGEST_RANKED_TEXT = 1_200  # characters
MOST_WORDS_OF_A_MESSAGE = 400
SATURATION, LENGTH_PENALTY = 1.0, 0.75
# A constant: with a live average, one entry's length would move the scores of the others.
AVERAGE_LENGTH = 30.0

_WORD = re.compile(r"[^\W_]+")
# One word to some and two to others: "log me in" and `login`, "e-mail" and `email`.
_WRITTEN_APART = re.compile(
    r"\b(?:(log|sign)(?:ged|ging|ed|ing|s)?(?: me| us)? (in|on|out|up)(?:to)?"
    r"|(e) (mails?)|(wi) (fi))\b"
)
_threads = threading.local()
_COMMON = """
a about all also am an and any are as at be been but by can could did do does doing for from
get give had has have hello help hey hi how i if in into is it its just know let like me my need
no not now of on or our out please should so some tell than thank thanks that the their them
then there these they this to up us use using want was we were what when where which who why
will with would you your
"""
STOP_WORDS = frozenset(_COMMON.split())


def words(text: str) -> list[str]:
    """Stems of the text's words, camelCase and snake_case split, without stop words."""
    joined = _WRITTEN_APART.sub(_together, in_words(text))
    found = [word for word in _WORD.findall(joined) if word not in STOP_WORDS]
    return list(_stemmer().stemWords(found))


def _together(apart: re.Match[str]) -> str:
    return "".join(part for part in apart.groups() if part)


def _stemmer() -> Stemmer.Stemmer:
    """One for each thread: a stemmer keeps state while it works."""
    if not hasattr(_threads, "stemmer"):
        _threads.stemmer = Stemmer.Stemmer("english")
    return _threads.stemmer


def term(stem: str) -> int:
    """The dimension of a stem: no table of words is needed, and collisions are rare."""
    return zlib.crc32(stem.encode()) % DIMENSIONS


def terms(text: str) -> Counter[int]:
    """How often each term occurs in the text."""
    return Counter(term(stem) for stem in words(text))


def document_vector(capability: Describable) -> dict[int, float]:
    """A capability's side of BM25; the name counts twice."""
    counts = terms(ranked_text(capability))
    length = LENGTH_PENALTY * counts.total() / AVERAGE_LENGTH + 1 - LENGTH_PENALTY
    return {
        index: count * (SATURATION + 1) / (count + SATURATION * length)
        for index, count in counts.items()
    }


def ranked_text(capability: Describable) -> str:
    parts = (
        capability.action,
        capability.action,
        integration_slug(capability),
        capability.description,
        *capability.tags,
        *parameter_names(capability.input_schema),
    )
    return " ".join(parts)[:LONGEST_RANKED_TEXT]


def query_vector(text: str) -> dict[int, float]:
    """A message's side of BM25: how telling each of its words is."""
    found = words(text)[:MOST_WORDS_OF_A_MESSAGE]
    return {index: idf(index) for index in {term(stem) for stem in found}}


def idf(index: int) -> float:
    """How telling a term is: rare words of tools at large weigh more."""
    background = _background()
    seen = background.counts.get(index, 0)
    return math.log(1 + (background.documents - seen + 0.5) / (seen + 0.5))


@dataclass(frozen=True, slots=True)
class Background:
    """In how many of so many tool descriptions each term occurs."""

    documents: int
    counts: dict[int, int]


@lru_cache(maxsize=1)
def _background() -> Background:
    # Counted by tests/bench/build_background.py; numbers only, no text of anybody's tools.
    with (files("catalog") / "word_frequencies.npz").open("rb") as file, np.load(file) as table:
        counts = zip(table["terms"].tolist(), table["counts"].tolist(), strict=True)
        return Background(documents=int(table["documents"]), counts=dict(counts))


def max_score(query: dict[int, float]) -> float:
    """More than any capability can score: every word of the message, often, in a short text."""
    return (SATURATION + 1) * sum(query.values())
