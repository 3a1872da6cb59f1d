"""The default provider: all-MiniLM-L6-v2 as int8 in ONNX Runtime, on one thread, locally.

Each text is run alone. That saves padding, and the activation scale depends on this text only, so
its vector never depends on its batch.
"""

import os
from collections.abc import Sequence
from pathlib import Path

# Read when ONNX Runtime is loaded: it would look its maker's host up every few seconds. Its own
# `disable_telemetry_events` does not stop that. This is the only module that imports it.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from catalog.embedding.embedder import EmbedderUnavailable, Vectors
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
