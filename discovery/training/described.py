"""What there is to learn from tools without messages: a sentence of a tool's description stands for
the message, and the tool without that sentence is what it should find."""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from catalog.descriptors import Descriptor
from catalog.embedding.text import LONGEST_START, beginning, ending, signature
from catalog.normalizing.sources import load_path

SHORTEST, LONGEST = 4, 59  # words of a sentence that may stand for a message
FIRST_SENTENCES = 3
BY_SENTENCE = 0.7  # else the first sentence stands for the message, and the name alone for the tool

_SENTENCE_ENDS = re.compile(r"(?<=[.!?])\s+(?=[A-Z])|\n+")


@dataclass(frozen=True, slots=True)
class Described:
    """A sentence, and the rest of the tool that it describes."""

    message: str
    right: str


def described_pairs(folder: Path, *, seed: int, most: int) -> list[Described]:
    """At most one for each tool of catalog.jsonl, shuffled; the same for the same seed."""
    dice = random.Random(f"{seed} {folder.name}")  # noqa: S311 - the same dice each time
    pairs = list(_pairs(folder, dice))
    dice.shuffle(pairs)
    return pairs[:most]


def _pairs(folder: Path, dice: random.Random) -> Iterator[Described]:
    seen: set[str] = set()
    for capability in load_path(folder / "catalog.jsonl").capabilities:
        sentences = _sentences(capability.description)
        if sentences:
            pair = _pair(capability, sentences, dice)
            if seen.isdisjoint({pair.message, pair.right}):
                yield pair
            seen |= {pair.message, pair.right}


def _sentences(description: str) -> list[str]:
    """Those that are neither a word nor a treatise."""
    sentences = (" ".join(each.split()) for each in _SENTENCE_ENDS.split(description))
    return [each for each in sentences if SHORTEST <= len(each.split()) <= LONGEST]


def _pair(capability: Descriptor, sentences: list[str], dice: random.Random) -> Described:
    name, around = signature(capability), ending(capability)
    if len(sentences) == 1 or dice.random() >= BY_SENTENCE:
        return Described(sentences[0].rstrip("."), f"{name} {around}")
    place = dice.randrange(min(FIRST_SENTENCES, len(sentences)))
    rest = beginning(" ".join(sentences[:place] + sentences[place + 1 :]), LONGEST_START)
    readings = (f"{name}: {rest} {around}", f"{rest.rstrip('. ')}: {name}")
    return Described(sentences[place].rstrip("."), dice.choice(readings))
