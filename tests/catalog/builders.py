"""Descriptors and embedders for catalogue tests."""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from catalog.embedding.embedder import EmbedderUnavailable, Vectors, normalize_rows
from catalog.formats.descriptors import Descriptor, IntegrationDescriptor, Loaded
from catalog.registration.register import RegistrationReport, register


def tool(
    action: str, description: str = "", *, integration: str = "gmail", **more: Any
) -> Descriptor:
    full_name = f"{integration}__{action}"
    values = {
        "kind": "tool",
        "full_name": full_name,
        "identifier": f"tool:{full_name}",
        "display_name": action.replace("_", " ").title(),
        "category": "messaging",
    }
    return Descriptor(
        integration=integration,
        action=action,
        description=description or f"It can {action.replace('_', ' ')}.",
        **(values | more),
    )


def loaded(*tools: Descriptor, kind: Any = "mcp", **more: Any) -> Loaded:
    slugs = dict.fromkeys(one.integration for one in tools)
    integrations = [IntegrationDescriptor(slug=slug, kind=kind, title=slug) for slug in slugs]
    return Loaded(tuple(integrations), tools, **more)


def store(*tools: Descriptor, **options: Any) -> RegistrationReport:
    return register(loaded(*tools), by=None, source="test", **options)


class WordyEmbedder:
    """An embedder with a unique vector for each text except "poison"; records its input."""

    dimension = 8
    refusal: type[Exception] = ValueError

    def __init__(self, name: str = "wordy") -> None:
        self.name = name
        self.texts: list[str] = []
        self.calls = 0

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.calls += 1
        self.texts += texts
        if any("poison" in text for text in texts):
            raise self.refusal("cannot embed poison")
        digests = [hashlib.sha256(f"{self.name} {text}".encode()).digest() for text in texts]
        rows = [np.frombuffer(digest[:8], dtype=np.uint8) for digest in digests]
        return normalize_rows(np.array(rows, dtype=np.float32).reshape(-1, 8) + 1)


class AbsentEmbedder(WordyEmbedder):
    """An embedder without answers."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        raise EmbedderUnavailable("nobody answers")
