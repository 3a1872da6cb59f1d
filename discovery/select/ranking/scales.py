"""How far words count and how a match becomes a relevance in 0-1: for each model its own, since one
model's cosines are not another's."""

from functools import cache
from typing import NamedTuple

from catalog.embedding.provenance import provenance


class Scale(NamedTuple):
    """How the evidence of one model is weighed, as it was found on labelled sets."""

    word_weight: float  # what a match of all the message's words is worth, in cosine
    # At the middle a candidate is the right one about as often as not; a step of the width to
    # either side changes the odds by a factor of e.
    middle: float
    width: float
    # Without a vector: the cosine that candidates with such words have on average.
    cosine_without_words: float
    cosine_by_words: float
    # How the best candidate's share of what the message's words could be worth counts: 0.5 is its
    # root, 1 the share itself.
    word_power: float = 0.5
    # How far a clause's candidates are measured against the best of that clause.
    evenness: float = 0.7
    # What the whole of a message counts, where all its clauses but one count one each.
    whole: float = 2.0


GENERAL = Scale(0.4, 0.57, 0.18, 0.15, 0.6)
# A model that has learned to choose tools needs words less where they fit badly, and can tell from
# a clause alone what it is about; what is fitted to each such model is its curve.
TRAINED = GENERAL._replace(word_power=0.75, evenness=0.85, whole=1.0)


def scale_of(model: str) -> Scale:
    """The scale of the model of that name; the general one where none was fitted."""
    return shipped_scale() if model.endswith(f"-{provenance()['adapter']}") else GENERAL


@cache
def shipped_scale() -> Scale:
    """What was fitted to the model that comes along."""
    return Scale(**provenance()["scale"])
