"""What there is to learn from: messages with their right tools, and tools that look right to the
base model and are not."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from catalog.embedding.document_vectors import embed_documents
from catalog.embedding.embedder import Embedder, Vectors
from catalog.embedding.embedding_text import embedding_text
from catalog.formats.loader import load_path
from discovery.evaluation.labelled_sets import read_queries
from discovery.evaluation.scores import Labelled
from discovery.select.clauses import split

MESSAGES = "queries.jsonl"
# Messages written for catalogues that have none, in folders of the catalogues' names.
REQUESTS = Path(__file__).parent / "requests"
# Of the wrong tools that the base model likes best the first three are left out: likely they are
# right too, and only unlabelled.
FIRST, LAST = 3, 15
# So is one that it likes this much better than the right one, and one that is nearly the same.
SUSPICIOUS, TWIN = 0.1, 0.9
BY_CLAUSE = 0.5  # how often a message of several tasks is cut down to the one of the tool
# How often a message gets another one beside it, and how many words both may have: what is longer
# would be cut off in training.
JOINED, LONGEST_JOINED = 0.25, 36


@dataclass(frozen=True, slots=True)
class Pair:
    """A message, a tool that is right for it, and one that only looks so."""

    message: str
    right: str
    wrong: str


def has_messages(folder: Path) -> bool:
    """Whether the messages are the set's own, so that it can be measured on."""
    return (folder / MESSAGES).exists()


def place_of_messages(folder: Path) -> Path:
    """The file of the set's own messages, or of those that were written for it here."""
    return (folder if has_messages(folder) else REQUESTS / folder.name) / MESSAGES


def labelled_pairs(folder: Path, base: Embedder, *, seed: int, most: int) -> list[Pair]:
    """One pair for each right answer of each message, shuffled; the same for the same seed.

    Raises BadSet for a folder that is none. Of a tool's two readings each training takes one: two
    of them in a batch would be wrong for one another.
    """
    dice = random.Random(f"{seed} {folder.name}")  # noqa: S311 - the same dice each time
    capabilities = load_path(folder / "catalog.jsonl").capabilities
    texts = [embedding_text(each) for each in capabilities]
    reading = [dice.choice(text.splitlines()[:2]) for text in texts]
    places = {each.identifier: place for place, each in enumerate(capabilities)}
    asked = read_queries(place_of_messages(folder).parent)
    pairs = [
        Pair(message, reading[right], reading[dice.choice(wrong)])
        for message, right, wrong in _mined(asked, places, embed_documents(base, texts), base)
    ]
    dice.shuffle(pairs)
    return _joined(_by_clauses(pairs[:most], base, dice), dice)


def _mined(
    asked: Sequence[Labelled], places: dict[str, int], tools: Vectors, base: Embedder
) -> Iterator[tuple[str, int, list[int]]]:
    """Each message with each of its right tools, and those that are wrong and look right."""
    for labelled in asked:
        right = [places[each] for each in labelled.relevant if each in places]
        wrong = _wrong(tools, base.embed([labelled.query])[0], right) if right else []
        if wrong:
            yield from ((labelled.query, each, wrong) for each in right)


def _wrong(tools: Vectors, message: Vectors, right: list[int]) -> list[int]:
    """The ranks FIRST to LAST of what is wrong and can be trusted to be."""
    likeness = tools @ message
    trusted = likeness <= likeness[right].max() + SUSPICIOUS
    trusted &= (tools @ tools[right].T).max(axis=1) < TWIN
    ranked = [int(place) for place in np.argsort(-likeness, kind="stable") if trusted[place]]
    return ranked[FIRST:LAST] or ranked


def _by_clauses(pairs: Sequence[Pair], base: Embedder, dice: random.Random) -> list[Pair]:
    """Messages of several tasks, half of them cut down to the task that the right tool is for."""
    return [
        replace(pair, message=_nearest_clause(pair, clauses, base))
        if len(clauses := split(pair.message)) > 1 and dice.random() < BY_CLAUSE
        else pair
        for pair in pairs
    ]


def _joined(pairs: Sequence[Pair], dice: random.Random) -> list[Pair]:
    """Some messages with another one before or behind: people ask for several things at once."""
    return [
        replace(pair, message=_beside(pair.message, dice.choice(pairs).message, dice))
        if dice.random() < JOINED
        else pair
        for pair in pairs
    ]


def _beside(message: str, other: str, dice: random.Random) -> str:
    if message == other or len(message.split()) + len(other.split()) > LONGEST_JOINED:
        return message
    both = [each if each[-1] in ".!?" else f"{each}." for each in (message, other)]
    dice.shuffle(both)
    return " ".join(both)


def _nearest_clause(pair: Pair, clauses: Sequence[str], base: Embedder) -> str:
    right = embed_documents(base, [pair.right])[0]
    return clauses[int(np.argmax(base.embed(clauses) @ right))]
