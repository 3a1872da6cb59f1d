"""Training pairs: messages with a right tool, and a tool that the base model prefers wrongly."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from catalog.embedding.embedder import Embedder, Vectors
from catalog.embedding.multilingual_embedder import embed_documents
from catalog.embedding.texts import embedding_text
from catalog.formats.loader import load_path
from discovery.evaluation import Labelled, read_queries
from discovery.select.message import split

MESSAGES = "queries.jsonl"
# Messages written for catalogues that have none, in folders with the catalogues' names.
REQUESTS = Path(__file__).parent / "requests"
# Of the wrong tools that the base model ranks highest the first three are skipped: probably they
# are right, too, and just not labelled.
FIRST, LAST = 3, 15
# Skipped, too: tools scored this much above the right one, and near duplicates of it.
SUSPICIOUS, TWIN = 0.1, 0.9
BY_CLAUSE = 0.5  # share of messages of several tasks that are cut to the tool's task
# Share of messages that are joined to another one, and the most words of both together: training
# would truncate longer ones.
JOINED, LONGEST_JOINED = 0.25, 36


@dataclass(frozen=True, slots=True)
class Pair:
    """A message, a right tool for it, and a hard negative."""

    message: str
    right: str
    wrong: str


def has_messages(folder: Path) -> bool:
    """Return True if the set has messages of its own, so that it can be measured."""
    return (folder / MESSAGES).exists()


def find_messages_file(folder: Path) -> Path:
    """Return the file of the set's own messages, or of those written for it."""
    return (folder if has_messages(folder) else REQUESTS / folder.name) / MESSAGES


def labelled_pairs(folder: Path, base: Embedder, *, seed: int, most: int) -> list[Pair]:
    """Build a pair for each right answer of each message, shuffled reproducibly by `seed`.

    Raises BadSet if the folder is not a labelled set. Training uses one of a tool's two readings:
    both in one batch would be negatives of each other.
    """
    dice = random.Random(f"{seed} {folder.name}")
    capabilities = load_path(folder / "catalog.jsonl").capabilities
    texts = [embedding_text(capability) for capability in capabilities]
    reading = [dice.choice(text.splitlines()[:2]) for text in texts]
    places = {capability.identifier: place for place, capability in enumerate(capabilities)}
    queries = read_queries(find_messages_file(folder).parent)
    pairs = [
        Pair(message, reading[right], reading[dice.choice(wrong)])
        for message, right, wrong in _mine_negatives(
            queries, places, embed_documents(base, texts), base
        )
    ]
    dice.shuffle(pairs)
    return _join_messages(_cut_to_clauses(pairs[:most], base, dice), dice)


def _mine_negatives(
    queries: Sequence[Labelled], places: dict[str, int], tools: Vectors, base: Embedder
) -> Iterator[tuple[str, int, list[int]]]:
    """Yield each message with each of its right tools, and with its hard negatives."""
    for labelled in queries:
        right = [places[key] for key in labelled.relevant if key in places]
        wrong = _hard_negatives(tools, base.embed([labelled.query])[0], right) if right else []
        if wrong:
            yield from ((labelled.query, key, wrong) for key in right)


def _hard_negatives(tools: Vectors, message: Vectors, right: list[int]) -> list[int]:
    """Return the ranks FIRST to LAST of wrong tools that are safe to call wrong."""
    likeness = tools @ message
    trusted = likeness <= likeness[right].max() + SUSPICIOUS
    trusted &= (tools @ tools[right].T).max(axis=1) < TWIN
    ranked = [int(place) for place in np.argsort(-likeness, kind="stable") if trusted[place]]
    return ranked[FIRST:LAST] or ranked


def _cut_to_clauses(pairs: Sequence[Pair], base: Embedder, dice: random.Random) -> list[Pair]:
    """Cut half of the messages of several tasks down to the task of the right tool."""
    return [
        replace(pair, message=_nearest_clause(pair, clauses, base))
        if len(clauses := split(pair.message)) > 1 and dice.random() < BY_CLAUSE
        else pair
        for pair in pairs
    ]


def _join_messages(pairs: Sequence[Pair], dice: random.Random) -> list[Pair]:
    """Join some messages with another one, since people ask for several things at once."""
    return [
        replace(pair, message=_join(pair.message, dice.choice(pairs).message, dice))
        if dice.random() < JOINED
        else pair
        for pair in pairs
    ]


def _join(message: str, second: str, dice: random.Random) -> str:
    if message == second or len(message.split()) + len(second.split()) > LONGEST_JOINED:
        return message
    both = [part if part[-1] in ".!?" else f"{part}." for part in (message, second)]
    dice.shuffle(both)
    return " ".join(both)


def _nearest_clause(pair: Pair, clauses: Sequence[str], base: Embedder) -> str:
    right = embed_documents(base, [pair.right])[0]
    return clauses[int(np.argmax(base.embed(clauses) @ right))]
