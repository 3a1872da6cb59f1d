"""The process's embedder: which one the settings name, and which one answers now.

While a newly chosen model's vectors are being built, messages are embedded by the one before.
"""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError
from django.db.models import Exists, F, OuterRef

from catalog.embedding.embedder import Embedder, EmbedderUnavailable
from catalog.models import Capability, Embedding, EmbeddingModel

RETRY_SECONDS = 10  # a damaged model file is not read again for each request
RECHECK_SECONDS = 5


class LazyEmbedder:
    """Made at its first use, once in the process; after a failure not tried again for a while."""

    def __init__(self, make: Callable[[], Embedder]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._embedder: Embedder | None = None
        self._failure = ""
        self._failed_at = 0.0

    def get(self) -> Embedder:
        """The embedder, or EmbedderUnavailable with the reason."""
        if self._embedder is not None:
            return self._embedder
        with self._lock:
            if self._embedder is None:
                self._embedder = self._made()
            return self._embedder

    def _made(self) -> Embedder:
        if self._failure and time.monotonic() < self._failed_at + RETRY_SECONDS:
            raise EmbedderUnavailable(self._failure)
        try:
            return self._make()
        except EmbedderUnavailable as problem:
            self._failure, self._failed_at = str(problem), time.monotonic()
            raise


def configured_embedder() -> Embedder:
    """The one that the settings name. Raises EmbedderUnavailable."""
    return _providers[settings.PEGBOARD_EMBEDDER].get()


def configured_embedder_name() -> str:
    """Its name; empty where it cannot be made."""
    try:
        return configured_embedder().name
    except EmbedderUnavailable:
        return ""


def answering_embedder() -> Embedder:
    """The one whose vectors answer now. Raises EmbedderUnavailable."""
    return _answering.get()


def embedder_named(name: str) -> Embedder:
    """The embedder of a stored model: the settings' own, or one that comes or came with an install.

    Raises EmbedderUnavailable where it is neither, or cannot be made.
    """
    if configured_embedder_name() == name:
        return configured_embedder()
    if shipped := _shipped_named(name):
        return shipped.get()
    configured = configured_embedder()  # says itself why it cannot be made
    raise EmbedderUnavailable(
        f"The vectors are by {name}, and the settings name {configured.name}."
    )


def warm_embedder() -> str:
    """Make the embedder before the first request needs it; the reason where that fails."""
    try:
        answering_embedder()
    except EmbedderUnavailable as problem:
        return str(problem)
    return ""


class _Answering:
    """Looks up which model answers until it is the configured one, which then stays.

    That is the active one, or the configured one where it has all of its vectors already: who goes
    back to a model waits for nobody to make it the active one.
    """

    def __init__(self) -> None:
        self._name = ""
        self._looked_at = float("-inf")

    def get(self) -> Embedder:
        if self._name and self._name == configured_embedder_name():
            return configured_embedder()
        if time.monotonic() > self._looked_at + RECHECK_SECONDS:
            self._name, self._looked_at = _name_to_answer() or self._name, time.monotonic()
        return embedder_named(self._name) if self._name else configured_embedder()


def _name_to_answer() -> str:
    try:
        active = EmbeddingModel.objects.filter(active=True).values_list("name", flat=True).first()
        wanted = configured_embedder_name()
        return wanted if active and active != wanted and _is_complete(wanted) else active or ""
    except DatabaseError:
        return ""


def _is_complete(name: str) -> bool:
    """Whether everything has its vector by the model, as its text is now."""
    vectors = Embedding.objects.filter(
        model__name=name, capability=OuterRef("pk"), vector_hash=F("text_hash")
    )
    return not Capability.objects.filter(~Exists(vectors)).exists()


def _onnx() -> Embedder:
    # Imported when chosen: each provider brings a library that the others do without.
    from catalog.embedding.shipped_model import model_folder

    root, trained = settings.PEGBOARD_MODEL_DIR, settings.PEGBOARD_TRAINED_ENCODER
    return _onnx_in(model_folder(root, trained=trained))


def _onnx_in(folder: Path) -> Embedder:
    from catalog.embedding.onnx_embedder import OnnxEmbedder

    return OnnxEmbedder(folder)


def _shipped_named(name: str) -> LazyEmbedder | None:
    """The model of that name that this or an earlier version wrote; looked for until found."""
    with suppress(EmbedderUnavailable):
        if _providers["onnx"].get().name == name:
            return _providers["onnx"]
    from catalog.embedding.shipped_model import prepared_folder

    if name not in _earlier:
        folder = prepared_folder(settings.PEGBOARD_MODEL_DIR, name)
        if folder is None:
            return None
        _earlier[name] = LazyEmbedder(partial(_onnx_in, folder))
    return _earlier[name]


def _sentence_transformers() -> Embedder:
    from catalog.embedding.sentence_transformers_embedder import SentenceTransformersEmbedder

    return SentenceTransformersEmbedder(settings.PEGBOARD_EMBEDDING_MODEL)


def _openai() -> Embedder:
    from catalog.embedding.openai_embedder import OpenAIEmbedder

    return OpenAIEmbedder(
        url=settings.PEGBOARD_EMBEDDING_URL,
        key=settings.PEGBOARD_EMBEDDING_KEY,
        model=settings.PEGBOARD_EMBEDDING_MODEL,
        dimension=settings.PEGBOARD_EMBEDDING_DIMENSION,
    )


_providers = {
    "onnx": LazyEmbedder(_onnx),
    "sentence-transformers": LazyEmbedder(_sentence_transformers),
    "openai": LazyEmbedder(_openai),
}
_earlier: dict[str, LazyEmbedder] = {}
_answering = _Answering()
