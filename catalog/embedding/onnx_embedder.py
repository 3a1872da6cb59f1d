"""The default provider: all-MiniLM-L6-v2 as int8 through ONNX Runtime, on one thread.

Nothing is sent anywhere. Each text is run by itself: no work is wasted on padding, and the scale of
the activations is the text's own, so that a vector never depends on what was embedded beside it.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from catalog.embedding.embedder import EmbedderUnavailable, Vectors
from catalog.embedding.model_conversion import read_checked

LONGEST = 256  # tokens; what the model was trained for
# The tokenizer's time grows with the whole text, also with what it then cuts off: a token is seldom
# longer than this on average.
LONGEST_CHARACTERS = LONGEST * 16


class OnnxEmbedder:
    """Embeds with the model that `convert_model` wrote into the folder."""

    dimension = 384

    def __init__(self, folder: Path) -> None:
        model, tokenizer, self.name = read_checked(folder)
        try:
            self._session = _session(model)
            self._tokenizer = _tokenizer(tokenizer)
            self.embed(["The first run is slower than the others."])
        except EmbedderUnavailable:
            raise
        except Exception as error:  # both libraries raise their own and bare exceptions
            raise EmbedderUnavailable(f"The model in {folder} cannot be loaded: {error}") from error

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            # Not encode_batch: it would start a thread for each core.
            ids = self._tokenizer.encode(text[:LONGEST_CHARACTERS]).ids
            row[:] = self._session.run(None, {"ids": np.array([ids], dtype=np.int64)})[0][0]
        return rows


def _session(model: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    # One text is too little work to share, and idle threads that spin take the cores from others.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _tokenizer(content: bytes) -> Tokenizer:
    tokenizer = Tokenizer.from_buffer(content)
    tokenizer.no_padding()  # its file asks for 128 tokens, always
    tokenizer.enable_truncation(max_length=LONGEST)
    return tokenizer
