"""The index of one model: a row for each capability of the catalogue, whoever may use it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from catalog.access.usable_ids import VERSION_SQL
from catalog.embedding.embedder import Vectors
from catalog.search_index.relations import RelationIndex
from catalog.search_index.words import Rows, Scores, WordIndex

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
        """Return the cosines of `rows` with the vectors; None where nothing is embedded."""
        if not self.embedded.any():
            return None
        unit = normalized(vectors)
        if len(rows) < _FEW * len(self.ids):
            return np.asarray(self.matrix[rows] @ unit.T)
        return np.asarray((self.matrix @ unit.T)[rows])

    def nearest(self, likeness: Scores, rows: Rows, most: int) -> list[int]:
        """Return those of `rows` that are nearest to any of the vectors, the nearest first."""
        best = np.where(self.embedded[rows], likeness.max(axis=1), -np.inf)
        return _best(best.astype(np.float32), rows, most, above=-np.inf)

    def worded(self, query: Mapping[int, float], rows: Rows, most: int) -> list[int]:
        """Return those of `rows` that fit the words best, the best first."""
        return _best(self.words.score(query)[rows], rows, most, above=0.0)


def _best(scores: Scores, rows: Rows, most: int, *, above: float) -> list[int]:
    """Return the rows with the highest scores above a limit; equal ones in their order."""
    if len(scores) > most:
        least = np.partition(scores, -most)[-most]
        places = np.flatnonzero((scores >= least) & (scores > above))
    else:
        places = np.flatnonzero(scores > above)
    order = np.argsort(-scores[places], kind="stable")[:most]
    return [int(row) for row in rows[places[order]]]


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
    """Return for each server and text the cosine of its mean, by the likeness of `rows`; not a
    number where it has none."""
    servers = index.servers[rows]
    sums = [np.bincount(servers, column, len(lengths)) for column in likeness.T]
    return np.stack(sums, axis=1) / np.where(lengths > 0, lengths, np.nan)[:, None]
