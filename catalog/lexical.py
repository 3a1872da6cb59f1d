"""Sparse word vectors: the inner product of a query's and a capability's vector is BM25.

A capability's vector depends on its own text, and a query's on a fixed table of word frequencies.
Neither depends on the catalogue: hidden tools must not move the scores a caller sees.
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

from catalog.embedding.texts import (
    Describable,
    example_texts,
    integration_slug,
    parameter_names,
    split_identifier,
    tool_name,
)

DIMENSIONS = 2**18
# Long texts gain nothing: the rest is not ranked, and BM25 penalizes length.
MAX_RANKED_CHARACTERS = 1_200
MAX_QUERY_WORDS = 400
SATURATION, LENGTH_PENALTY = 1.0, 0.75
# A constant: a live average would let hidden entries move the scores of others.
AVERAGE_LENGTH = 30.0

# Scripts without blanks between words, and Korean, whose words end in particles: Chinese, Japanese,
# Thai, Lao, Burmese, Khmer. Their pairs of letters count as words.
WITHOUT_BLANKS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
_PIECE = re.compile(
    rf"(?P<run>[{WITHOUT_BLANKS}]+)|(?:(?![{WITHOUT_BLANKS}_])(?:\w|[\u0900-\u0dff]))+"
)
# Stemmers by script; the English one leaves other scripts' words as they are.
_STEMMERS = (
    ("\u0370", "\u03ff", "greek"),
    ("\u0400", "\u04ff", "russian"),
    ("\u0600", "\u06ff", "arabic"),
    ("\u0900", "\u097f", "hindi"),
    ("\u0b80", "\u0bff", "tamil"),
)
_WORD = re.compile(r"[^\W_]+")
# Spelling variants: "log me in" and `login`, "e-mail" and `email`.
_SPLIT_WORD = re.compile(
    r"\b(?:(log|sign)(?:ged|ging|ed|ing|s)?(?: me| us)? (in|on|out|up)(?:to)?"
    r"|(e) (mails?)|(wi) (fi))\b"
)
_threads = threading.local()
_STOP_WORDS_TEXT = """
a about all also am an and any are as at be been but by can could did do does doing for from
get give had has have hello help hey hi how i if in into is it its just know let like me my need
no not now of on or our out please should so some tell than thank thanks that the their them
then there these they this to up us use using want was we were what when where which who why
will with would you your
"""
STOP_WORDS = frozenset(_STOP_WORDS_TEXT.split())


def words(text: str) -> list[str]:
    """Return stems of the words, splitting identifiers and dropping stop words."""
    joined = _SPLIT_WORD.sub(_join_match, split_identifier(text))
    if joined.isascii():
        plain_words = [word for word in _WORD.findall(joined) if word not in STOP_WORDS]
        return list(_stemmer().stemWords(plain_words))
    return [stem for piece in _PIECE.finditer(joined) for stem in _stems(piece)]


def _stems(piece: re.Match[str]) -> list[str]:
    """Return a word's stem by its script's stemmer, or the pairs of letters without blanks."""
    word = piece[0]
    if piece["run"]:
        return [word[start : start + 2] for start in range(max(1, len(word) - 1))]
    if word in STOP_WORDS:
        return []
    languages = (name for first, last, name in _STEMMERS if first <= word[0] <= last)
    return [_stemmer(next(languages, "english")).stemWord(word)]


def _join_match(apart: re.Match[str]) -> str:
    return "".join(part for part in apart.groups() if part)


def _stemmer(language: str = "english") -> Stemmer.Stemmer:
    """Return this thread's stemmer: stemmers are not thread-safe."""
    stemmers: dict[str, Stemmer.Stemmer] = _threads.__dict__
    if language not in stemmers:
        stemmers[language] = Stemmer.Stemmer(language)
    return stemmers[language]


def term(stem: str) -> int:
    """Hash a stem to its dimension: no vocabulary is needed, and collisions are rare."""
    # crc32, since hash() of a str differs between processes.
    return zlib.crc32(stem.encode()) % DIMENSIONS


def terms(text: str) -> Counter[int]:
    """Count the terms in a text."""
    return Counter(term(stem) for stem in words(text))


def document_vector(capability: Describable) -> dict[int, float]:
    """Return a capability's BM25 vector.

    What only its examples say counts by the length of both, so that many examples weigh no more
    than a few, and its tool_terms words as much as without them.
    """
    tool_terms = terms(ranked_text(capability))
    examples = terms(" ".join(example_texts(capability))[:MAX_RANKED_CHARACTERS])
    vector = _weigh(examples, tool_terms.total() + examples.total())
    return vector | _weigh(tool_terms, tool_terms.total())


def _weigh(counts: Counter[int], words: int) -> dict[int, float]:
    length = LENGTH_PENALTY * words / AVERAGE_LENGTH + 1 - LENGTH_PENALTY
    return {
        index: count * (SATURATION + 1) / (count + SATURATION * length)
        for index, count in counts.items()
    }


def ranked_text(capability: Describable) -> str:
    """Return the text to rank; the action counts twice."""
    parts = (
        *(tool_name(capability),) * 2,
        integration_slug(capability),
        capability.description,
        *capability.tags,
        *parameter_names(capability.input_schema),
    )
    return " ".join(parts)[:MAX_RANKED_CHARACTERS]


@lru_cache(maxsize=512)
def query_vector(text: str) -> dict[int, float]:
    """Return a message's BM25 vector: the IDF of its words. Kept, so not to be changed."""
    stems = words(text)[:MAX_QUERY_WORDS]
    return {index: idf(index) for index in {term(stem) for stem in stems}}


def weights_among_tools(text: str) -> dict[int, float]:
    """Return the IDF of those words of a text that descriptions of tools use."""
    counts = _background().counts
    return {index: idf(index) for index in terms(text) if index in counts}


def idf(index: int) -> float:
    """Return the inverse document frequency of a term."""
    background = _background()
    frequency = background.counts.get(index, 0)
    return math.log(1 + (background.documents - frequency + 0.5) / (frequency + 0.5))


@dataclass(frozen=True, slots=True)
class Background:
    """Document frequencies of terms over a fixed sample of tool descriptions."""

    documents: int
    counts: dict[int, int]


@lru_cache(maxsize=1)
def _background() -> Background:
    # Built by lab/bench/build_background.py; numbers only, no texts of tools.
    with (files("catalog") / "word_frequencies.npz").open("rb") as file, np.load(file) as table:
        counts = zip(table["terms"].tolist(), table["counts"].tolist(), strict=True)
        return Background(documents=int(table["documents"]), counts=dict(counts))


def max_score(query: dict[int, float]) -> float:
    """Return an upper bound of all scores: every query word, often, in a short text."""
    return (SATURATION + 1) * sum(query.values())
