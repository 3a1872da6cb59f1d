"""BM25 by postings: reads only the rows that have a word of the message."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

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
