"""Weight adapter: the trained change of the default model, compressed to be shipped.

A matrix's change is stored as two low-rank factors, a vector's change as it is. Contrastive
training changes weights by nearly low-rank matrices, so truncation keeps most of it.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load, save

from catalog.embedding.embedder import EmbedderUnavailable

Weights = Mapping[str, npt.NDArray[Any]]
RANK = 16
DOWN, UP, _WHOLE = ".down", ".up", ".whole"
_FROZEN = "embeddings."  # the token table stays unchanged: it would be most of the file


class Adapter(NamedTuple):
    """The compressed changes, and their name."""

    weights: Weights
    name: str


PLAIN = Adapter({}, "")


def compute_adapter(base: Weights, trained: Weights, *, rank: int = RANK) -> dict[str, Any]:
    """Compute the half-precision adapter from `base` to (nearly) `trained`."""
    parts: dict[str, Any] = {}
    for name, before in base.items():
        if name.startswith(_FROZEN):
            continue
        change = trained[name].astype(np.float32) - before.astype(np.float32)
        if change.ndim == 2:
            parts[name + DOWN], parts[name + UP] = _factor(change, rank)
        else:
            parts[name + _WHOLE] = change
    return {name: np.ascontiguousarray(part, np.float16) for name, part in parts.items()}


def _factor(change: npt.NDArray[Any], rank: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return factors of the nearest matrix of that rank (Eckart and Young)."""
    left, strengths, right = np.linalg.svd(change, full_matrices=False)
    share = np.sqrt(strengths[:rank])
    return share[:, None] * right[:rank], left[:, :rank] * share


def apply_adapter(weights: Weights, adapter: Weights) -> dict[str, Any]:
    """Apply an adapter to weights; raise EmbedderUnavailable if it does not fit."""
    after = dict(weights)
    for part, values in adapter.items():
        name, dot, role = part.rpartition(".")
        change = values.astype(np.float32)
        if dot + role == UP:
            change = change @ adapter[name + DOWN].astype(np.float32)
        elif dot + role == DOWN:
            continue
        if name not in after or after[name].shape != change.shape:
            raise EmbedderUnavailable(f"The adapter changes {name}, which the model does not have.")
        after[name] = after[name] + change
    return after


def write_adapter(path: Path, weights: Weights) -> str:
    """Store an adapter and return its name."""
    content = save(dict(weights))
    path.write_bytes(content)
    return adapter_name(content)


def read_adapter(path: Path) -> Adapter:
    """Read an adapter, or raise EmbedderUnavailable."""
    try:
        content = path.read_bytes()
        return Adapter(load(content), adapter_name(content))
    except (OSError, SafetensorError) as problem:
        raise EmbedderUnavailable(f"The adapter {path} cannot be read: {problem}") from problem


def adapter_name(content: bytes) -> str:
    """Return an eight-character name derived from the content."""
    return hashlib.sha256(content).hexdigest()[:8]
