"""What training changed in the default model's weights, small enough to come along: for each matrix
two thin ones whose product is added to it, for each vector the difference itself.

The change that contrastive training makes is nearly of low rank, so cutting it off keeps most of
what was learned.
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
_FROZEN = "embeddings."  # the token table stays as it is: its change would be most of the file


class Adapter(NamedTuple):
    """What training changed, and its name."""

    weights: Weights
    name: str


PLAIN = Adapter({}, "")


def difference(base: Weights, trained: Weights, *, rank: int = RANK) -> dict[str, Any]:
    """The adapter that leads from `base` to nearly `trained`, in half precision."""
    parts: dict[str, Any] = {}
    for name, before in base.items():
        if name.startswith(_FROZEN):
            continue
        change = trained[name].astype(np.float32) - before.astype(np.float32)
        if change.ndim == 2:
            parts[name + DOWN], parts[name + UP] = _thin(change, rank)
        else:
            parts[name + _WHOLE] = change
    return {name: np.ascontiguousarray(part, np.float16) for name, part in parts.items()}


def _thin(change: npt.NDArray[Any], rank: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Two matrices whose product is the nearest one of that rank (Eckart and Young)."""
    left, strengths, right = np.linalg.svd(change, full_matrices=False)
    share = np.sqrt(strengths[:rank])
    return share[:, None] * right[:rank], left[:, :rank] * share


def merged(weights: Weights, adapter: Weights) -> dict[str, Any]:
    """The weights with the adapter's changes; raises EmbedderUnavailable where it fits none."""
    after = dict(weights)
    for part, values in adapter.items():
        name, dot, role = part.rpartition(".")
        change = values.astype(np.float32)
        if dot + role == UP:
            change = change @ adapter[name + DOWN].astype(np.float32)
        elif dot + role == DOWN:
            continue
        if name not in after or after[name].shape != change.shape:
            raise EmbedderUnavailable(f"The adapter changes {name}, which the model has not.")
        after[name] = after[name] + change
    return after


def write_adapter(path: Path, weights: Weights) -> str:
    """Store the adapter; its name, by its content."""
    content = save(dict(weights))
    path.write_bytes(content)
    return name_of(content)


def read_adapter(path: Path) -> Adapter:
    """The adapter in the file; raises EmbedderUnavailable where it cannot be read."""
    try:
        content = path.read_bytes()
        return Adapter(load(content), name_of(content))
    except (OSError, SafetensorError) as problem:
        raise EmbedderUnavailable(f"The adapter {path} cannot be read: {problem}") from problem


def name_of(content: bytes) -> str:
    """Eight characters that change with the content."""
    return hashlib.sha256(content).hexdigest()[:8]
