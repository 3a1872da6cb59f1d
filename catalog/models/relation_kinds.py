"""Kinds of relations between capabilities: one table for all that reads relations.

These are the tables' constraints, SQL, the index, the ranking, pages and the API.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from django.db import models


class Kind(models.TextChoices):
    """Names of the kinds, with their labels on pages."""

    DEPENDS_ON = "DEPENDS_ON", "depends on"
    COMPOSED_WITH = "COMPOSED_WITH", "composed with"
    TAGGED_WITH = "TAGGED_WITH", "tagged alike"
    SAME_CATEGORY = "SAME_CATEGORY", "of the same category"
    DECLARED = "DECLARED", "declared"


@dataclass(frozen=True, slots=True)
class RelationKind:
    """Storage, weight and use of the relations of one kind.

    A `directed` one leads from its source to its target. `pulls_in` says which partners of a result
    get places of their own. `weight` is that of a relation which nobody weighed: for each shared
    tag, or for a shared category; `most` bounds the sum.
    """

    directed: bool = False
    pulls_in: Literal["", "target", "both"] = ""
    weight: float = 1.0
    most: float = 1.0


RELATION_KINDS: dict[Kind, RelationKind] = {
    Kind.DEPENDS_ON: RelationKind(directed=True, pulls_in="target"),
    Kind.COMPOSED_WITH: RelationKind(pulls_in="both", weight=0.5),
    Kind.TAGGED_WITH: RelationKind(weight=0.3, most=0.9),
    Kind.SAME_CATEGORY: RelationKind(weight=0.1, most=0.1),
    Kind.DECLARED: RelationKind(directed=True),
}
DIRECTED = tuple(kind.value for kind, row in RELATION_KINDS.items() if row.directed)
PULLS_IN_TARGET = tuple(kind.value for kind, row in RELATION_KINDS.items() if row.pulls_in)
PULLS_IN_SOURCE = tuple(
    kind.value for kind, row in RELATION_KINDS.items() if row.pulls_in == "both"
)


def weight_of_shared(kind: Kind, count: int) -> float:
    """Return the weight of a relation by `count` shared tags, or by a shared category."""
    row = RELATION_KINDS[kind]
    return min(row.most, row.weight * count)


def sql_names(kinds: Iterable[str]) -> str:
    """Return the names as a list for SQL, such as `'DEPENDS_ON', 'DECLARED'`."""
    return ", ".join(f"'{kind}'" for kind in kinds)
