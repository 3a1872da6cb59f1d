"""multilingual-e5-small for messages that are not English, mapped into the shipped model's space.

Set-up converts the package's weights to an int8 ONNX model, as it does with the shipped model's.
The token table stays in the package's file: a text needs a few of its 250,000 rows. A linear map,
fitted to messages that both models have read (`lab.training.language_map`), turns
its vectors into the shipped model's. So the catalogue has one vector for all languages.
"""

import hashlib
import json
import mmap
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper
from safetensors import SafetensorError, safe_open

from catalog.embedding._multilingual_package import (
    LAYERS,
    ROW_BYTES,
    SHA256,
    WIDTH,
    find_file,
    read_file,
    unpack,
)
from catalog.embedding.embedder import EmbedderUnavailable, Vectors, normalize_rows
from catalog.embedding.model_conversion import EncoderGraph, write_atomically
from catalog.embedding.onnx_embedder import start_session

# SentencePiece tokenizer of multilingual-e5-small, in a few megabytes.
# The library that reads its file takes 290 MB for 250,000 pieces, which each process would hold.
# Here a piece is a 64-bit hash in a sorted array. All substrings of a text are looked up at once,
# and the best way to cut it is the one with the highest sum of scores (Viterbi).

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
        count = MAX_CHARACTERS + len(PREFIX) + 2
        powers = np.full(count, _BASE, np.uint64)
        powers[0] = 1
        self._powers = np.multiply.accumulate(powers)

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
        pieces_at = self._find(text)
        best, came = [0.0] + [-np.inf] * len(text), [(0, UNKNOWN)] * (len(text) + 1)
        for start in range(len(text)):
            for length, rank, score in (*pieces_at[start], (1, UNKNOWN, self._worst)):
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
        pieces_at: list[list[tuple[int, int, float]]] = [[] for _ in text]
        for length in range(1, min(self._longest, len(text)) + 1):
            window_hashes = prefixes[length:] - prefixes[:-length] * self._powers[length]
            places = np.minimum(np.searchsorted(self._hashes, window_hashes), len(self._hashes) - 1)
            for start in np.flatnonzero(self._hashes[places] == window_hashes):
                place = places[start]
                pieces_at[start].append(
                    (length, int(self._ranks[place]), float(self._scores[place]))
                )
        return pieces_at


def prefix_hashes(text: str) -> Hashes:
    """Return the hash of the text's first 0, 1, … characters."""
    hashes, value = np.zeros(len(text) + 1, np.uint64), 0
    for place, character in enumerate(text, 1):
        value = (value * int(_BASE) + ord(character) + 1) % 2**64
        hashes[place] = value
    return hashes


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


MAP_FILE = Path(__file__).parent / "languages.safetensors"
FOLDER, MODEL_FILE, PIECES_FILE, RECORD_FILE = (
    "languages",
    "model.onnx",
    "pieces.npz",
    "record.json",
)
# Raise with every change to the graph or the tokenizer.
VERSION = 1


class MultilingualGraph(EncoderGraph):
    """The encoder's graph, from the tokens' rows of the table."""

    name, layers = "multilingual-e5-small", LAYERS
    input = helper.make_tensor_value_info("rows", TensorProto.FLOAT, ["texts", "tokens", WIDTH])

    def tokens(self, ids: str) -> str:
        return ids


def build_multilingual(weights: dict[str, np.ndarray], *, quantised: bool = True) -> bytes:
    """Return the ONNX model; `quantised=False` gives the float32 reference for tests."""
    model: onnx.ModelProto = MultilingualGraph(weights, quantised=quantised).build()
    return bytes(model.SerializeToString(deterministic=True))


def prepare_multilingual(root: Path) -> Path:
    """Write model and vocabulary below the root unless they are there; return the folder.

    Raises EmbedderUnavailable, for instance if the package is not installed.
    """
    folder = root / FOLDER
    if is_prepared_multilingual(root):
        return folder
    file = read_file(find_file())
    folder.mkdir(parents=True, exist_ok=True)
    model = build_multilingual(file.weights())
    write_atomically(folder / MODEL_FILE, model)
    with TemporaryDirectory(dir=folder) as new:
        place = Path(new) / PIECES_FILE
        write_pieces(place, file.pieces, file.scores.tolist(), file.replacements)
        pieces = place.read_bytes()
    write_atomically(folder / PIECES_FILE, pieces)
    table = file.tensors["emb.word"]
    record = {
        "version": VERSION,
        "source": SHA256,
        "table": [table.offset, table.size],
        MODEL_FILE: hashlib.sha256(model).hexdigest(),
        PIECES_FILE: hashlib.sha256(pieces).hexdigest(),
    }
    # Written last, so that an interrupted conversion never looks finished.
    write_atomically(folder / RECORD_FILE, json.dumps(record, indent=1).encode())
    return folder


def is_prepared_multilingual(root: Path) -> bool:
    """Return True if the files of this version are there and intact."""
    try:
        _read_record(root / FOLDER)
    except EmbedderUnavailable:
        return False
    return True


def has_record(root: Path) -> bool:
    """Return True if the files were once prepared, without reading them."""
    return (root / FOLDER / RECORD_FILE).exists()


def _read_record(folder: Path) -> dict[str, Any]:
    try:
        record: dict[str, Any] = json.loads((folder / RECORD_FILE).read_bytes())
        files = {name: (folder / name).read_bytes() for name in (MODEL_FILE, PIECES_FILE)}
    except (OSError, ValueError) as error:
        raise EmbedderUnavailable(
            f"The model for other languages is not in {folder}: run `manage.py set_up`."
        ) from error
    if (record.get("version"), record.get("source")) != (VERSION, SHA256):
        raise EmbedderUnavailable(f"{folder} holds a model of another version of Pegboard.")
    for name, content in files.items():
        if hashlib.sha256(content).hexdigest() != record.get(name):
            raise EmbedderUnavailable(f"{folder / name} is damaged: its checksum is wrong.")
    return record


class LanguageMap:
    """The linear map from this model's vectors to those of the model `target`."""

    def __init__(self, matrix: Vectors, target: str) -> None:
        self._matrix, self.target = matrix, target

    def apply(self, vectors: Vectors) -> Vectors:
        """Return the mapped vectors, with length one."""
        return normalize_rows(vectors @ self._matrix[:-1] + self._matrix[-1])


def read_map(path: Path = MAP_FILE) -> LanguageMap:
    """Read the shipped map, or raise EmbedderUnavailable."""
    try:
        with safe_open(path, "numpy") as file:
            matrix = file.get_tensor("matrix").astype(np.float32)
            return LanguageMap(matrix, (file.metadata() or {})["target"])
    except (OSError, KeyError, SafetensorError) as problem:
        raise EmbedderUnavailable(f"The map {path} cannot be read: {problem}") from problem


class MultilingualEncoder:
    """The model as prepared in a folder: vectors of its own space, of length one."""

    def __init__(self, root: Path) -> None:
        folder = root / FOLDER
        record = _read_record(folder)
        offset, size = record["table"]
        try:
            self._session = start_session((folder / MODEL_FILE).read_bytes())
            self._tokenizer: PieceTokenizer = read_tokenizer(folder / PIECES_FILE)
            with find_file().open("rb") as file:
                self._table = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except EmbedderUnavailable:
            raise
        except Exception as error:  # the libraries raise bare exceptions too
            raise EmbedderUnavailable(f"The model in {folder} cannot be loaded: {error}") from error
        self._offset, self._rows = int(offset), int(size) // ROW_BYTES

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = np.zeros((len(texts), WIDTH), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            table = self._look_up(self._tokenizer.encode(text))
            row[:] = self._session.run(None, {"rows": table})[0][0]
        return rows

    def _look_up(self, tokens: Sequence[int]) -> Vectors:
        starts = (self._offset + token * ROW_BYTES for token in tokens)
        raw = b"".join(self._table[start : start + ROW_BYTES] for start in starts)
        return unpack(raw).reshape(1, -1, WIDTH)
