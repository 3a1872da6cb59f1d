"""multilingual-e5-small for messages that are not English, mapped into the shipped model's space.

Set-up converts the package's weights to an int8 ONNX model, as it does with the shipped model's.
The token table stays in the package's file: a text needs a few of its 250,000 rows. A linear map,
fitted to messages that both models have read (`discovery.evaluation.training.language_map`), turns
its vectors into the shipped model's. So the catalogue has one vector for all languages.
"""

import hashlib
import json
import mmap
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper
from safetensors import SafetensorError, safe_open

from catalog.embedding.embedder import EmbedderUnavailable, Vectors, normalize_rows
from catalog.embedding.model_conversion import EncoderGraph, write_atomically
from catalog.embedding.multilingual_package import (
    LAYERS,
    ROW_BYTES,
    SHA256,
    WIDTH,
    find_file,
    read_file,
    unpack,
)
from catalog.embedding.multilingual_tokenizer import PieceTokenizer, read_tokenizer, write_pieces
from catalog.embedding.onnx_embedder import start_session

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
