"""What there is to learn from: messages with their right tools, and tools that look right and are
not."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from catalog.embedding.base import Embedder
from catalog.embedding.documents import embed_documents
from catalog.embedding.text import embedding_text
from catalog.normalizing.sources import load_path
from discovery.labelled_sets import read_queries

FIRST, LAST = 3, 15  # ranks, from 0, that hard negatives are taken from
# A wrong tool that the base model likes this much better than the right one is likely right too,
# and only unlabelled: bfcl-pooled and metatool have many.
SUSPICIOUS = 0.1

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Pair:
    """A message, a tool that is right for it, and one that only looks so."""

    message: str
    right: str
    wrong: str


@dataclass(frozen=True, slots=True)
class TrainingSet:
    """A labelled set: each tool's text by its id, each message with the ids that are right."""

    name: str
    texts: dict[str, str]
    messages: tuple[tuple[str, tuple[str, ...]], ...]


def read_training_set(folder: Path) -> TrainingSet:
    """The set in the folder, with the texts that the product embeds; raises BadSet."""
    capabilities = load_path(folder / "catalog.jsonl").capabilities
    texts = {each.identifier: embedding_text(each) for each in capabilities}
    labelled = ((row.query, row.relevant) for row in read_queries(folder))
    known = ((query, tuple(one for one in right if one in texts)) for query, right in labelled)
    return TrainingSet(folder.name, texts, tuple(row for row in known if row[1]))


def pairs_of(source: TrainingSet, base: Embedder, *, seed: int) -> list[Pair]:
    """One pair for each right answer of each message, shuffled; the same for the same seed."""
    dice = random.Random(f"{seed} {source.name}")  # noqa: S311 - the same dice each time
    reading = {key: dice.choice(text.splitlines()[:2]) for key, text in source.texts.items()}
    pairs = [
        Pair(message, reading[one], reading[dice.choice(wrong)])
        for message, right, wrong in _mined(source, base)
        for one in right
    ]
    dice.shuffle(pairs)
    return pairs


def _mined(
    source: TrainingSet, base: Embedder
) -> Iterator[tuple[str, tuple[str, ...], Sequence[str]]]:
    """Each message with its right tools and those that the base model takes for nearly right."""
    keys = list(source.texts)
    tools = embed_documents(base, list(source.texts.values()))
    places = {key: place for place, key in enumerate(keys)}
    for (message, right), vector in zip(
        source.messages, base.embed([message for message, _ in source.messages]), strict=True
    ):
        likeness = tools @ vector
        wrong = _hard(likeness, [places[key] for key in right])
        yield message, right, [keys[place] for place in wrong]


def _hard(likeness: Array, right: Sequence[int]) -> list[int]:
    """The ranks FIRST to LAST of what is wrong, without what is suspiciously good."""
    trusted = likeness <= likeness[list(right)].max() + SUSPICIOUS
    trusted[list(right)] = False
    ranked = [int(place) for place in np.argsort(-likeness, kind="stable") if trusted[place]]
    return ranked[FIRST:LAST] or ranked[:LAST]
