"""SentencePiece tokenizer of multilingual-e5-small, in a few megabytes.

The library that reads its file takes 290 MB for 250,000 pieces, which each process would hold. Here
a piece is a 64-bit hash in a sorted array. All substrings of a text are looked up at once, and the
best way to cut it is the one with the highest sum of scores (Viterbi).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from catalog.embedding.embedder import EmbedderUnavailable

START, END, UNKNOWN = 0, 2, 3
MAX_TOKENS = 256
MAX_CHARACTERS = 2_000  # more than enough for that many tokens, and what a message is read up to
PREFIX = "query: "  # what the model was trained with
UNKNOWN_PENALTY = 10.0  # below the worst piece's score
_SPACE = "\u2581"
# Any odd number: a substring's hash is a difference of two prefixes' hashes, without a remainder.
_BASE = np.uint64(0x9E3779B97F4A7C15)

Hashes = npt.NDArray[np.uint64]


class PieceTokenizer:
    """A tokenizer for texts of one line."""

    def __init__(
        self,
        hashes: Hashes,
        ranks: npt.NDArray[np.int32],
        scores: npt.NDArray[np.float32],
        longest: int,
        replacements: Mapping[int, str],
    ) -> None:
        self._hashes, self._ranks, self._scores = hashes, ranks, scores
        self._longest, self._replacements = longest, dict(replacements)
        self._worst = float(scores.min()) - UNKNOWN_PENALTY
        self._powers = _powers(MAX_CHARACTERS + len(PREFIX) + 2)

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a query, at most `MAX_TOKENS` with start and end."""
        pieces = self._cut(self._normalize(PREFIX + text[:MAX_CHARACTERS]))
        return [START, *pieces[: MAX_TOKENS - 2], END]

    def _normalize(self, text: str) -> str:
        # A character's replacement may be longer; then the rest is cut.
        words = text.translate(self._replacements)[: MAX_CHARACTERS + len(PREFIX)]
        while "  " in words:
            words = words.replace("  ", " ")
        return (words if words.startswith(" ") else f" {words}").replace(" ", _SPACE)

    def _cut(self, text: str) -> list[int]:
        found = self._find(text)
        best, came = [0.0] + [-np.inf] * len(text), [(0, UNKNOWN)] * (len(text) + 1)
        for start in range(len(text)):
            for length, rank, score in (*found[start], (1, UNKNOWN, self._worst)):
                end = start + length
                if best[start] + score > best[end]:
                    best[end], came[end] = best[start] + score, (start, rank)
        pieces, end = [], len(text)
        while end:
            end, rank = came[end]
            pieces.append(rank)
        return pieces[::-1]

    def _find(self, text: str) -> list[list[tuple[int, int, float]]]:
        """Return the length, rank and score of the pieces that begin at each character."""
        prefixes = prefix_hashes(text)
        found: list[list[tuple[int, int, float]]] = [[] for _ in text]
        for length in range(1, min(self._longest, len(text)) + 1):
            own = prefixes[length:] - prefixes[:-length] * self._powers[length]
            places = np.minimum(np.searchsorted(self._hashes, own), len(self._hashes) - 1)
            for start in np.flatnonzero(self._hashes[places] == own):
                place = places[start]
                found[start].append((length, int(self._ranks[place]), float(self._scores[place])))
        return found


def prefix_hashes(text: str) -> Hashes:
    """Return the hash of the text's first 0, 1, … characters."""
    hashes, value = np.zeros(len(text) + 1, np.uint64), 0
    for place, character in enumerate(text, 1):
        value = (value * int(_BASE) + ord(character) + 1) % 2**64
        hashes[place] = value
    return hashes


def _powers(count: int) -> Hashes:
    powers = np.full(count, _BASE, np.uint64)
    powers[0] = 1
    return np.multiply.accumulate(powers)


def write_pieces(
    path: Path, pieces: Sequence[bytes], scores: Sequence[float], replacements: Mapping[int, str]
) -> None:
    """Write the vocabulary for `read_tokenizer`; special pieces are never found in a text."""
    texts = [piece.decode() for piece in pieces[UNKNOWN + 1 :]]
    hashes = np.array([prefix_hashes(text)[-1] for text in texts], np.uint64)
    order = np.argsort(hashes)
    if len(np.unique(hashes)) < len(hashes):
        raise EmbedderUnavailable("Two pieces of the vocabulary have the same hash.")
    np.savez(
        path,
        hashes=hashes[order],
        ranks=(order + UNKNOWN + 1).astype(np.int32),
        scores=np.asarray(scores, np.float32)[UNKNOWN + 1 :][order],
        longest=max(map(len, texts)),
        codes=np.array(list(replacements), np.uint32),
        texts=np.array(list(replacements.values())),
    )


def read_tokenizer(path: Path) -> PieceTokenizer:
    """Read what `write_pieces` wrote."""
    with np.load(path) as file:
        replacements = dict(zip(map(int, file["codes"]), map(str, file["texts"]), strict=True))
        parts = (file["hashes"], file["ranks"], file["scores"])
        return PieceTokenizer(*parts, int(file["longest"]), replacements)
