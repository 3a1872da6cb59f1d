"""The index of one model: a row for each capability of the catalogue, whoever may use it."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from catalog.embedding.embedder import Vectors
from catalog.search_index.index_label import IndexLabel
from catalog.search_index.relation_index import RelationIndex
from catalog.search_index.word_index import Rows, Scores, WordIndex

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
        known = len(rows) == 0 or (rows[-1] < len(self.ids) and np.array_equal(self.ids[rows], ids))
        return rows if known else None

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
        kept = np.flatnonzero((scores >= least) & (scores > above))
    else:
        kept = np.flatnonzero(scores > above)
    order = np.argsort(-scores[kept], kind="stable")[:most]
    return [int(row) for row in rows[kept[order]]]


def normalized(vectors: Vectors) -> Vectors:
    """Return the vectors with length 1, and zeros as they are."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths == 0, 1, lengths), dtype=np.float32)
