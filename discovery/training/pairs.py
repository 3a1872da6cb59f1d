"""What there is to learn from: messages with their right tools, and tools that look right to the
selector and are not."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from catalog.embedding.base import Embedder
from catalog.embedding.documents import embed_documents
from catalog.embedding.text import embedding_text
from catalog.normalizing.sources import load_path
from discovery.clauses import split
from discovery.labelled_sets import read_queries
from discovery.training.evidence import Question, by_fusion, questions

# Of what the selector puts first among the wrong tools, the first two are left out: likely they are
# right too, and only unlabelled.
FIRST, LAST = 2, 12
# So is one that the base model likes this much better than the right one.
SUSPICIOUS = 0.05
BY_CLAUSE = 0.5  # how often a message of several tasks is cut down to the one of the tool


@dataclass(frozen=True, slots=True)
class Pair:
    """A message, a tool that is right for it, and one that only looks so."""

    message: str
    right: str
    wrong: str


def labelled_pairs(folder: Path, base: Embedder, *, seed: int, most: int) -> list[Pair]:
    """One pair for each right answer of each message, shuffled; the same for the same seed.

    Raises BadSet for a folder that is none. Of a tool's two readings each training takes one.
    """
    dice = random.Random(f"{seed} {folder.name}")  # noqa: S311 - the same dice each time
    capabilities = load_path(folder / "catalog.jsonl").capabilities
    texts = [embedding_text(each) for each in capabilities]
    reading = [dice.choice(text.splitlines()[:2]) for text in texts]
    places = {each.identifier: place for place, each in enumerate(capabilities)}
    asked = zip(read_queries(folder), questions(folder, base), strict=True)
    pairs = [
        Pair(labelled.query, reading[places[right]], reading[dice.choice(wrong)])
        for labelled, question in asked
        if (wrong := _wrong(question))
        for right in labelled.relevant
        if right in places
    ]
    dice.shuffle(pairs)
    return _by_clauses(pairs[:most], base, dice)


def _wrong(question: Question) -> list[int]:
    """Places in the catalogue of what the selector ranks FIRST to LAST of what is wrong."""
    likeness = question.cosines[:, 0]
    top = likeness[question.right].max(initial=-1.0)
    trusted = ~question.right & (likeness <= top + SUSPICIOUS)
    ranked = [int(one) for one in np.argsort(-by_fusion(question), kind="stable") if trusted[one]]
    return [int(question.places[one]) for one in ranked[FIRST:LAST] or ranked]


def _by_clauses(pairs: Sequence[Pair], base: Embedder, dice: random.Random) -> list[Pair]:
    """Messages of several tasks, half of them cut down to the task that the right tool is for."""
    return [
        replace(pair, message=_nearest_clause(pair, clauses, base))
        if len(clauses := split(pair.message)) > 1 and dice.random() < BY_CLAUSE
        else pair
        for pair in pairs
    ]


def _nearest_clause(pair: Pair, clauses: Sequence[str], base: Embedder) -> str:
    right = embed_documents(base, [pair.right])[0]
    return clauses[int(np.argmax(base.embed(clauses) @ right))]
