"""Judgement of a message: does it ask to delete or cancel something, in any language.

A logistic regression on the message's vector, fitted by `lab.training.asks_to_delete`; the file has
numbers only. Independent of the catalogue.
"""

from functools import lru_cache
from pathlib import Path

from safetensors import safe_open

from catalog.embedding.embedder import Vectors
from catalog.embedding.query_vectors import EmbeddedTexts

WEIGHTS_FILE = Path(__file__).parent / "asks_to_delete.safetensors"
# Log-odds, lower than even: a deletion that comes later is a smaller harm than one that comes first
# for who deletes nothing, since no deletion runs without a question.
LIMIT = -1.5


def asks_to_delete(embedded: EmbeddedTexts | None) -> bool:
    """Return False if neither the message nor a clause of it deletes anything; True if unknown."""
    model, weights = _read_weights()
    if embedded is None or embedded.model != model:
        return True
    return bool((embedded.vectors @ weights[:-1] + weights[-1]).max() >= LIMIT)


@lru_cache(maxsize=1)
def _read_weights() -> tuple[str, Vectors]:
    with safe_open(WEIGHTS_FILE, "numpy") as file:
        return (file.metadata() or {})["model"], file.get_tensor("weights")
