"""Relations by row: stored edges, and the traits that rows share.

They mean what `discovery/select/candidates.py` says in SQL. Rows that a caller may not use are left
out by whoever asks, also where they are counted.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from catalog.models.relation_kinds import PULLS_IN_SOURCE, PULLS_IN_TARGET
from catalog.relations.neighbours import LARGEST_CATEGORY
from catalog.search_index.words import Rows

Mask = npt.NDArray[np.bool_]
TAG = "#"


class StoredEdge(NamedTuple):
    """An edge between two rows; without a group it is everyone's."""

    source: int
    target: int
    kind: str
    weight: float
    group: int | None
    by_admin: bool


@dataclass(frozen=True, slots=True, eq=False)
class RelationIndex:
    """Edges by their source, those without a direction by their target too, and rows by trait."""

    outgoing: Mapping[int, list[StoredEdge]]
    backwards: Mapping[int, list[StoredEdge]]
    holders: Mapping[str, Rows]
    traits: Mapping[int, list[str]]

    def beside(self, row: int, *, groups: Collection[int], usable: Mask, most: int) -> list[int]:
        """Return the rows that this one needs or is used with, the strongest first."""
        related = [
            (-edge.weight, edge.kind in PULLS_IN_SOURCE, neighbour)
            for edge, neighbour in self._pulled(row)
            if usable[neighbour] and (edge.group is None or edge.group in groups)
        ]
        return [neighbour for _, _, neighbour in sorted(related)[:most]]

    def _pulled(self, row: int) -> Iterator[tuple[StoredEdge, int]]:
        for edge in self.outgoing.get(row, ()):
            if edge.kind in PULLS_IN_TARGET:
                yield edge, edge.target
        for edge in self.backwards.get(row, ()):
            yield edge, edge.source

    def edges(
        self, around: Iterable[int], targets: Collection[int], groups: Collection[int]
    ) -> list[StoredEdge]:
        """Return the deciding edge of each kind from `around` to `targets`."""
        best: dict[tuple[int, int, str], StoredEdge] = {}
        for edge in chain.from_iterable(self.outgoing.get(row, ()) for row in around):
            if edge.target in targets and (edge.group is None or edge.group in groups):
                previous = best.get(edge[:3])
                if previous is None or _precedence(edge) > _precedence(previous):
                    best[edge[:3]] = edge
        return list(best.values())

    def shared(self, rows: Iterable[int], usable: Mask, count: int) -> dict[int, list[str]]:
        """Return the names that several of the rows share, and not too many of the usable ones."""
        having: defaultdict[str, list[int]] = defaultdict(list)
        for row in rows:
            for name in self.traits.get(row, ()):
                having[name].append(row)
        names: defaultdict[int, list[str]] = defaultdict(list)
        for name, sharing in having.items():
            if 1 < len(sharing) <= _most(name, count) and self._is_rare(name, usable, count):
                for row in sharing:
                    names[row].append(name)
        return dict(names)

    def _is_rare(self, name: str, usable: Mask, count: int) -> bool:
        return int(usable[self.holders[name]].sum()) <= _most(name, count)


def _most(name: str, count: int) -> int:
    """Return how many may share the name for it to relate them (`MOST_WITH_A_TAG`)."""
    return max(5, min(50, count // 10)) if name.startswith(TAG) else LARGEST_CATEGORY


def _precedence(edge: StoredEdge) -> tuple[bool, bool, float]:
    return edge.group is not None, edge.by_admin, edge.weight


def build_relation_index(
    edges: Iterable[StoredEdge], traits: Iterable[tuple[int, str]]
) -> RelationIndex:
    """Build the index from edges, and from rows with a trait."""
    outgoing: defaultdict[int, list[StoredEdge]] = defaultdict(list)
    backwards: defaultdict[int, list[StoredEdge]] = defaultdict(list)
    for edge in edges:
        outgoing[edge.source].append(edge)
        if edge.kind in PULLS_IN_SOURCE:
            backwards[edge.target].append(edge)
    holders: defaultdict[str, list[int]] = defaultdict(list)
    traits_of: defaultdict[int, list[str]] = defaultdict(list)
    for row, name in traits:
        holders[name].append(row)
        traits_of[row].append(name)
    arrays = {name: np.array(rows, dtype=np.int32) for name, rows in holders.items()}
    return RelationIndex(dict(outgoing), dict(backwards), arrays, dict(traits_of))
