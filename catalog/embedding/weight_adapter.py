"""Weight adapter: the trained change of the default model, compressed to be shipped.

A matrix's change is stored as two low-rank factors, which training learns as such. A vector's
change is stored as it is.
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
DOWN, UP = ".down", ".up"  # suffixes of factors; any other suffix is a whole change


class Adapter(NamedTuple):
    """The compressed changes, and their name."""

    weights: Weights
    name: str


PLAIN = Adapter({}, "")


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
