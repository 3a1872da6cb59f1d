"""Example texts that come with Pegboard, embedded at most once per model and process.

They are the same for everyone: nothing here depends on a catalogue or a caller.
"""

import threading
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Generic, TypeVar

import numpy as np
from django.conf import settings

from acl.platform.redis_circuit import attempt
from catalog.embedding.configured_embedder import answering_embedder
from catalog.embedding.embedder import Embedder, EmbedderUnavailable, Vectors
from discovery.select.example_vectors import digest_of, read_vectors
from discovery.select.glossary import add_english

Made = TypeVar("Made")
Reader = Callable[[], list[str]]


class PerModel(Generic[Made]):
    """Data derived from the examples' vectors, by model, computed once per process."""

    def __init__(
        self, readers: Sequence[Reader], make: Callable[[Sequence[Vectors]], Made]
    ) -> None:
        self._readers, self._make = readers, make
        self._lock = threading.Lock()
        self._by_model: dict[str, Made] = {}

    def get(self, model: str) -> Made | None:
        """Return what was made; None for a model that no longer answers."""
        if model not in self._by_model:
            with self._lock:
                if model not in self._by_model and not self._build(model):
                    return None
        return self._by_model[model]

    def warm(self) -> None:
        """Embed the examples before the first request needs them."""
        try:
            self.get(answering_embedder().name)
        except EmbedderUnavailable:
            return

    @property
    def texts(self) -> list[str]:
        """Return all examples, in the order of their vectors."""
        return [text for read in self._readers for text in read()]

    def _build(self, model: str) -> bool:
        texts = [read() for read in self._readers]
        try:
            embedder = answering_embedder()
            if embedder.name != model:
                return False
            vectors = _embed([text for each in texts for text in each], embedder)
        except EmbedderUnavailable:
            return False
        ends = np.cumsum([len(each) for each in texts])
        self._by_model[model] = self._make(np.split(vectors, ends[:-1]))
        return True


def read_examples(name: str) -> list[str]:
    """Read the lines of a file in this package, with glosses as messages get."""
    lines = (files("discovery.select") / name).read_text(encoding="utf-8").splitlines()
    return [add_english((line,))[0] for line in lines]


def _embed(texts: list[str], embedder: Embedder) -> Vectors:
    """Return the texts' vectors: shipped ones, those that Redis has, or new ones."""
    digest = digest_of(texts)
    shipped = read_vectors(embedder.name, digest)
    return _embed_once(texts, embedder, digest) if shipped is None else shipped


def _embed_once(texts: list[str], embedder: Embedder, digest: str) -> Vectors:
    key = f"pegboard:examples:{embedder.name}:{digest}"
    kept = attempt(lambda redis: redis.get(key), default=None)
    if isinstance(kept, bytes) and len(kept) == len(texts) * embedder.dimension * 4:
        return np.frombuffer(kept, dtype=np.float32).reshape(len(texts), embedder.dimension)
    vectors = embedder.embed(texts)
    seconds = settings.PEGBOARD_QUERY_CACHE_SECONDS
    if seconds:
        attempt(lambda redis: redis.set(key, vectors.tobytes(), ex=seconds), default=None)
    return vectors
