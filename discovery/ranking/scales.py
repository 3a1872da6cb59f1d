"""How far words count, and how a match becomes a relevance in 0-1."""

from typing import NamedTuple


class Scale(NamedTuple):
    """What was fitted to one model on labelled sets."""

    word_weight: float  # what a match of all the message's words is worth, in cosine
    # At the middle a candidate is the right one about as often as not; a step of the width to
    # either side changes the odds by a factor of e.
    middle: float
    width: float
    # Without a vector: the cosine that candidates with such words have on average.
    cosine_without_words: float
    cosine_by_words: float


GENERAL = Scale(0.4, 0.57, 0.18, 0.15, 0.6)
