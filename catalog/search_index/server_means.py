"""Means of the servers' tools, of those rows of an index that somebody may use.

Their cosine with a text is the sum of the tools' cosines, divided by the length of the sum of their
vectors. So a number for each server is all that is kept. A single tool is no evidence beside
itself, and what has hundreds is a collection rather than a server; neither has a mean.
"""

import numpy as np
import numpy.typing as npt

from catalog.search_index.capability_index import SearchIndex
from catalog.search_index.word_index import Rows, Scores

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
