"""The index of one model: a row for each capability of the catalogue, whoever may use it."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from catalog.access.usable_ids import VERSION_SQL
from catalog.embedding.embedder import Vectors, cosines_of
from catalog.models.relation import PULLS_IN_SOURCE, PULLS_IN_TARGET
from catalog.relations.neighbours import LARGEST_CATEGORY

# BM25 by postings: reads only the rows that have a word of the message.

Rows = npt.NDArray[np.int32]
Scores = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class WordIndex:
    """Rows and weights, ordered by term; `places` has the slice of each term."""

    size: int
    places: Mapping[int, tuple[int, int]]
    rows: Rows
    weights: Scores

    def score(self, query: Mapping[int, float]) -> Scores:
        """Return each row's score, which is 0 where it has none of the terms."""
        scores = np.zeros(self.size, dtype=np.float32)
        # In the order in which pgvector adds them up, so that the sums are the same to the bit.
        for term in sorted(query):
            if place := self.places.get(term):
                part = slice(*place)
                scores[self.rows[part]] += self.weights[part] * np.float32(query[term])
        return scores


def build_word_index(size: int, vectors: Iterable[tuple[int, bytes]]) -> WordIndex:
    """Build the index from rows and their vectors as Postgres sends them (`sparsevec_send`)."""
    terms, rows, weights = [], [], []
    for row, sent in vectors:
        count = int.from_bytes(sent[4:8], "big")
        terms.append(np.frombuffer(sent, ">i4", count, 12))
        weights.append(np.frombuffer(sent, ">f4", count, 12 + 4 * count))
        rows.append(np.full(count, row, dtype=np.int32))
    term = np.concatenate(terms or [np.zeros(0, ">i4")]).astype(np.int32)
    order = np.argsort(term, kind="stable")
    distinct, starts = np.unique(term[order], return_index=True)
    ends = [*starts[1:].tolist(), len(term)]
    return WordIndex(
        size,
        dict(zip(distinct.tolist(), zip(starts.tolist(), ends, strict=True), strict=True)),
        np.concatenate(rows or [np.zeros(0, np.int32)])[order],
        np.concatenate(weights or [np.zeros(0, ">f4")]).astype(np.float32)[order],
    )


# Relations by row: stored edges, and the traits that rows share.
#
# They mean what `discovery/select/candidates.py` says in SQL. Rows that a caller may not use are
# left out by whoever asks, also where they are counted.

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


# Versions in SQL of everything that an index is built from.

# xmin distinguishes states with the same numbers, as in `VERSION_SQL`.
_COUNTERS_SQL = (
    "SELECT string_agg(concat_ws('-', id, number, xmin), ',' ORDER BY id) FROM catalog_indexversion"
)
# Columns that make an `IndexLabel`; empty where nothing was counted yet.
LABEL_SQL = f"COALESCE(({VERSION_SQL}), ''), COALESCE(({_COUNTERS_SQL}), '')"
# The comparison with a label, by the parameters `catalog_version` and `index_version`.
IS_CURRENT_SQL = (
    f"(COALESCE(({VERSION_SQL}), ''), COALESCE(({_COUNTERS_SQL}), ''))"
    " = (%(catalog_version)s::text, %(index_version)s::text)"
)


class IndexLabel(NamedTuple):
    """The versions of the catalogue, and of its vectors, words and relations."""

    catalog_version: str
    index_version: str

    @property
    def is_counted(self) -> bool:
        """Return True if changes are counted: not in a scratch catalogue, which has no triggers."""
        return bool(self.catalog_version and self.index_version)


# Below this share of all rows, copying theirs is cheaper than multiplying all.
_FEW = 0.25


@dataclass(frozen=True, slots=True, eq=False)
class SearchIndex:
    """Rows in the order of `ids`. `matrix` has vectors of length 1, zeros where there is none.
    `servers` numbers the integrations from 0."""

    label: IndexLabel
    model: str
    ids: npt.NDArray[np.int64]
    rows_by_name: Mapping[str, int]
    matrix: Vectors
    embedded: npt.NDArray[np.bool_]
    servers: Rows
    words: WordIndex
    relations: RelationIndex

    def rows_of(self, ids: npt.NDArray[np.int64]) -> Rows | None:
        """Return the rows of these ids; None if one of them is unknown."""
        rows = np.searchsorted(self.ids, ids).astype(np.int32)
        are_known = len(rows) == 0 or (
            rows[-1] < len(self.ids) and np.array_equal(self.ids[rows], ids)
        )
        return rows if are_known else None

    def likeness(self, vectors: Vectors, rows: Rows) -> Scores | None:
        """Return a row for each of the vectors with its cosines at `rows`, and with anything at
        others; None where nothing is embedded."""
        if not self.embedded.any():
            return None
        unit = normalized(vectors)
        if len(rows) >= _FEW * len(self.ids):
            return cosines_of(self.matrix, unit)
        cosines = np.zeros((len(unit), len(self.ids)), dtype=np.float32)
        cosines[:, rows] = cosines_of(self.matrix[rows], unit)
        return cosines

    def nearest(self, likeness: Scores, rows: Rows, most: int) -> list[int]:
        """Return those of `rows` that are nearest to any of the vectors, the nearest first."""
        return best_rows(likeness.max(axis=0), rows[self.embedded[rows]], most, above=-np.inf)


def best_rows(scores: Scores, rows: Rows, most: int, *, above: float) -> list[int]:
    """Return those of `rows` with the highest scores above a limit; equal ones in their order."""
    scores = scores[rows]
    # First the limit: numpy takes ten times as long to part thousands of equal numbers.
    places = np.flatnonzero(scores > above)
    if len(places) > most:
        least = np.partition(scores[places], -most)[-most]
        places = places[scores[places] >= least]
    order = np.argsort(-scores[places], kind="stable")[:most]
    return list(rows[places[order]].tolist())


def normalized(vectors: Vectors) -> Vectors:
    """Return the vectors with length 1, and zeros as they are."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths == 0, 1, lengths), dtype=np.float32)


# Means of the servers' tools, of those rows of an index that somebody may use.
# Their cosine with a text is the sum of the tools' cosines, divided by the length of the sum of
# their vectors. So a number for each server is all that is kept. A single tool is no evidence
# beside itself, and what has hundreds is a collection rather than a server; neither has a mean.

FEWEST_TOOLS, MOST_TOOLS = 2, 200
Lengths = npt.NDArray[np.float64]


def lengths_of_sums(index: SearchIndex, rows: Rows) -> Lengths:
    """Return for each server the length of the sum of its vectors in `rows`; 0 for no mean."""
    counts = np.bincount(index.servers[rows], index.embedded[rows])
    lengths = np.zeros(len(counts))
    has_mean = (counts >= FEWEST_TOOLS) & (counts <= MOST_TOOLS)
    order = rows[has_mean[index.servers[rows]]]
    order = order[np.argsort(index.servers[order], kind="stable")]
    servers, starts = np.unique(index.servers[order], return_index=True)
    if len(servers):
        sums = np.add.reduceat(index.matrix[order], starts, axis=0, dtype=np.float64)
        lengths[servers] = np.linalg.norm(sums, axis=1)
    return lengths


def likeness_of_means(
    index: SearchIndex, rows: Rows, likeness: Scores, lengths: Lengths
) -> npt.NDArray[np.float64]:
    """Return for each server and text the cosine of its mean, by the likeness at `rows`; not a
    number where it has none."""
    servers = index.servers[rows]
    sums = [np.bincount(servers, cosines[rows], len(lengths)) for cosines in likeness]
    return np.stack(sums, axis=1) / np.where(lengths > 0, lengths, np.nan)[:, None]
