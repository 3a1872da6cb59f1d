"""The default provider: all-MiniLM-L6-v2 as int8 in ONNX Runtime, on one thread, locally.

Each text is run alone. That saves padding, and the activation scale depends on this text only, so
its vector never depends on its batch.
"""

import json
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from safetensors.numpy import save_file

from catalog.embedding.embedder import EmbedderUnavailable
from catalog.embedding.model_conversion import (
    PLAIN,
    RECORD_FILE,
    Adapter,
    apply_adapter,
    convert_model,
    is_converted,
    read_adapter,
    read_weights,
    recorded_name,
    source_folder,
)

# Read when ONNX Runtime is loaded: it would look its maker's host up every few seconds. Its own
# `disable_telemetry_events` does not stop that. This is the only module that imports it.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from catalog.embedding.embedder import Vectors
from catalog.embedding.model_conversion import read_checked

MAX_TOKENS = 256  # the length the model was trained for
# The tokenizer takes time for the whole text, including the part it then truncates. Tokens seldom
# average more than 16 characters.
MAX_CHARACTERS = MAX_TOKENS * 16


class OnnxEmbedder:
    """An embedder for the model written by `convert_model`."""

    dimension = 384

    def __init__(self, folder: Path) -> None:
        model, tokenizer, self.name = read_checked(folder)
        try:
            self._session = start_session(model)
            self._tokenizer = _tokenizer(tokenizer)
            self.embed(["Warm up: the first run is slower than the others."])
        except EmbedderUnavailable:
            raise
        except Exception as error:  # both libraries raise bare exceptions too
            raise EmbedderUnavailable(f"The model in {folder} cannot be loaded: {error}") from error

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            # Not encode_batch: it would start a thread per core.
            ids = self._tokenizer.encode(text[:MAX_CHARACTERS]).ids
            row[:] = self._session.run(None, {"ids": np.array([ids], dtype=np.int64)})[0][0]
        return rows


def start_session(model: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    # One text is too little work for several threads, and spinning idle threads waste cores.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _tokenizer(content: bytes) -> Tokenizer:
    tokenizer = Tokenizer.from_buffer(content)
    tokenizer.no_padding()  # the file pads every text to 128 tokens
    tokenizer.enable_truncation(max_length=MAX_TOKENS)
    return tokenizer


# The shipped model's provenance: its adapter's name, the scale of its matches, its training.

PROVENANCE_FILE = Path(__file__).parent / "choosing.json"


@cache
def read_provenance() -> dict[str, Any]:
    """Return the adapter's name, the scale of its matches, and its training record.

    `discovery.select.ranking.fusion` uses the scale. Data, settings and figures are for readers.
    """
    content: dict[str, Any] = json.loads(PROVENANCE_FILE.read_text("utf-8"))
    return content


_HERE = Path(__file__).parent
ADAPTER_FILE = _HERE / "choosing.safetensors"
WEIGHTS_FILE = "model.safetensors"


def model_folder(root: Path, *, trained: bool) -> Path:
    """Return the model's folder below the root."""
    return root / str(read_provenance()["adapter"]) if trained else root


def is_prepared(root: Path, *, trained: bool) -> bool:
    """Return True if the model's files are there and intact."""
    return is_converted(model_folder(root, trained=trained))


def prepare_model(root: Path, *, trained: bool = True) -> Path:
    """Write the model's files unless they are there; return the folder."""
    adapter = read_adapter(ADAPTER_FILE) if trained else PLAIN
    return convert_model(model_folder(root, trained=trained), adapter, root)


def prepared_folder(root: Path, name: str) -> Path | None:
    """Return the folder of the named model, by this or an earlier version, or None."""
    records = (*root.glob(RECORD_FILE), *root.glob(f"*/{RECORD_FILE}"))
    return next((record.parent for record in records if recorded_name(record.parent) == name), None)


def prepare_float32_model(root: Path, *, trained: bool = True) -> Path:
    """Write the shipped model for sentence-transformers unless it is there; return the folder."""
    adapter = read_adapter(ADAPTER_FILE) if trained else PLAIN
    folder = root / (f"{read_provenance()['adapter']}-float32" if trained else "float32")
    if folder.exists():
        return folder
    try:
        root.mkdir(parents=True, exist_ok=True)
        # Several processes may do this at once: the first complete folder wins.
        with TemporaryDirectory(dir=root) as new:
            write_for_sentence_transformers(Path(new) / "model", adapter, root)
            with suppress(OSError):
                (Path(new) / "model").rename(folder)
    except OSError as problem:
        raise EmbedderUnavailable(f"The model cannot be written: {problem}") from problem
    return folder


def write_for_sentence_transformers(
    target_folder: Path, adapter: Adapter, root: Path | None = None
) -> Path:
    """Write the adapted float32 weights in the layout of sentence-transformers.

    Creates the folder; raises EmbedderUnavailable.
    """
    source = source_folder(root)
    weights = apply_adapter(read_weights(source / WEIGHTS_FILE), adapter.weights)
    without = shutil.ignore_patterns(WEIGHTS_FILE, "*.py", "__pycache__")
    shutil.copytree(source, target_folder, ignore=without, dirs_exist_ok=True)
    save_file(weights, target_folder / WEIGHTS_FILE, metadata={"format": "pt"})
    return target_folder
