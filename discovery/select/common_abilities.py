"""The fixed background of evidence: some 700 things that tools commonly do, and 600 everyday
things that they could do something with.

A message that no usable tool serves is nearer to one of these than to any tool: "order a pizza" is
nearer to "order food for delivery" than to a to-do list, and "fold the awning in" to "control,
move or repair an awning". Raw cosines cannot tell, since an oddly
worded message is far from its own tool, too. The list comes with Pegboard, so that what a caller
may not see moves nothing.
"""

from collections.abc import Sequence

import numpy as np

from catalog.embedding.embedder import Vectors
from catalog.embedding.query_vectors import EmbeddedTexts
from discovery.select.example_texts import PerModel, read_examples

# The mean of the nearest three is compared: a single one is there by chance too often.
NEAREST = 3
ABILITIES, THINGS = "common_abilities.txt", "common_things.txt"


def nearness(texts: EmbeddedTexts | None) -> tuple[float, ...] | None:
    """Return each text's cosine with the abilities nearest to it; None without their vectors."""
    abilities = _abilities.get(texts.model) if texts else None
    return nearness_to(abilities, texts.vectors) if texts and abilities is not None else None


def read_abilities() -> list[str]:
    """Return the texts of the background."""
    things = (f"Control, move or repair a {thing}" for thing in read_examples(THINGS))
    return [*read_examples(ABILITIES), *things]


def nearness_to(abilities: Vectors, texts: Vectors) -> tuple[float, ...]:
    """Return each text's mean cosine with the nearest of the abilities."""
    nearest = np.partition(texts @ abilities.T, -NEAREST, axis=1)[:, -NEAREST:]
    return tuple(map(float, nearest.mean(axis=1)))


def warm_common_abilities() -> None:
    """Embed the abilities before the first request needs them."""
    _abilities.warm()


def _first(vectors: Sequence[Vectors]) -> Vectors:
    return vectors[0]


_abilities = PerModel((read_abilities,), _first)
