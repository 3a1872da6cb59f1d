"""The process's embedders: the configured one, and the active one that answers now.

While the vectors of a newly configured model are being built, the previous model embeds messages.
"""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import structlog
from django.conf import settings
from django.db import DatabaseError
from django.db.models import Exists, F, OuterRef

from catalog.embedding.embedder import Embedder, EmbedderLoading, EmbedderUnavailable
from catalog.models import Capability, Embedding, EmbeddingModel

log = structlog.get_logger(__name__)
_FIRST_TEXT = "Is anyone there?"
RETRY_SECONDS = 10  # do not read a damaged model file again for every request
RECHECK_SECONDS = 5


class LazyEmbedder:
    """An embedder created on first use, once per process; failures are cached for a while."""

    def __init__(self, make: Callable[[], Embedder]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._embedder: Embedder | None = None
        self._failure = ""
        self._failed_at = 0.0
        self._loading = False

    def load_in_background(self) -> None:
        """Create the embedder in a thread. Until then, `get` raises EmbedderLoading."""
        self._loading = True
        threading.Thread(target=self._load, name="embedder", daemon=True).start()

    def _load(self) -> None:
        try:
            with self._lock:
                self._embedder = self._embedder or self._make_embedder()
            # The first text shows whether an endpoint answers.
            self._embedder.embed([_FIRST_TEXT])
        except EmbedderUnavailable as problem:
            log.warning("the embedding model is not available", reason=str(problem))
        finally:
            self._loading = False

    def get(self) -> Embedder:
        """Return the embedder, or raise EmbedderUnavailable with the reason."""
        if self._embedder is not None:
            return self._embedder
        # Loading torch takes a minute on a slow disk: requests go on by words meanwhile.
        if self._loading:
            raise EmbedderLoading("The embedding model is loading.")
        with self._lock:
            if self._embedder is None:
                self._embedder = self._make_embedder()
            return self._embedder

    def _make_embedder(self) -> Embedder:
        if self._failure and time.monotonic() < self._failed_at + RETRY_SECONDS:
            raise EmbedderUnavailable(self._failure)
        try:
            return self._make()
        except EmbedderUnavailable as problem:
            self._failure, self._failed_at = str(problem), time.monotonic()
            raise


def configured_embedder() -> Embedder:
    """Return the embedder named by the settings, or raise EmbedderUnavailable."""
    return _providers[settings.PEGBOARD_EMBEDDER].get()


def configured_embedder_name() -> str:
    """Return its name, or "" if it is unavailable."""
    try:
        return configured_embedder().name
    except EmbedderUnavailable:
        return ""


def answering_embedder() -> Embedder:
    """Return the embedder whose vectors are searched now, or raise EmbedderUnavailable."""
    return _answering.get()


def embedder_for(name: str) -> Embedder:
    """Return the embedder of a stored model: the configured one, or one shipped with some version.

    Raises EmbedderUnavailable.
    """
    if configured_embedder_name() == name:
        return configured_embedder()
    if shipped := _find_shipped(name):
        return shipped.get()

    # Not through configured_embedder_name: its own EmbedderUnavailable is the better reason.
    configured = configured_embedder()
    raise EmbedderUnavailable(
        f"The vectors were made by {name}, but the settings name {configured.name}."
    )


def start_embedder() -> None:
    """Create the embedder for a web process: at once if that is quick, else in a thread."""
    if settings.PEGBOARD_EMBEDDER == "onnx":
        warm_embedder()
    else:
        _providers[settings.PEGBOARD_EMBEDDER].load_in_background()


def chosen_embedder_problem() -> str:
    """Return why the configured embedder is not available, or ""; another one may answer."""
    try:
        return str(getattr(configured_embedder(), "problem", ""))
    except EmbedderUnavailable as unavailable:
        return str(unavailable)


def obvious_embedder_problem() -> str:
    """Return what the settings' embedder certainly lacks, without loading or asking it."""
    if settings.PEGBOARD_EMBEDDER == "sentence-transformers":
        from catalog.embedding.sentence_transformers_embedder import find_missing

        return find_missing(settings.PEGBOARD_EMBEDDING_MODEL)
    if settings.PEGBOARD_EMBEDDER == "openai" and not settings.PEGBOARD_EMBEDDING_KEY:
        return "PEGBOARD_EMBEDDING_KEY is not set: the endpoint may refuse requests."
    return ""


def embedder_problem() -> str:
    """Return why the configured or the answering embedder is not available, or ""."""
    return chosen_embedder_problem() or warm_embedder()


def warm_embedder() -> str:
    """Create the embedder before the first request; return the reason if that fails."""
    try:
        answering_embedder()
    except EmbedderUnavailable as problem:
        return str(problem)
    return ""


class _Answering:
    """Looks up the answering model until it is the configured one, and then keeps that.

    The active model answers, or the configured one as soon as it has all its vectors. So switching
    back to an earlier model takes effect without waiting for the worker.
    """

    def __init__(self) -> None:
        self._name = ""
        self._looked_at = float("-inf")

    def get(self) -> Embedder:
        if self._name and self._name == configured_embedder_name():
            return configured_embedder()
        if time.monotonic() > self._looked_at + RECHECK_SECONDS:
            self._name, self._looked_at = _find_answering_model() or self._name, time.monotonic()
        return embedder_for(self._name) if self._name else configured_embedder()


def _find_answering_model() -> str:
    try:
        active = EmbeddingModel.objects.filter(active=True).values_list("name", flat=True).first()
        configured = configured_embedder_name()
        # A model used before may be complete already; it then answers before the sweep activates
        # it.
        return (
            configured
            if active and active != configured and _is_complete(configured)
            else active or ""
        )
    except DatabaseError:
        return ""


def _is_complete(name: str) -> bool:
    """Return True if every capability has an up-to-date vector by the model."""
    vectors = Embedding.objects.filter(
        model__name=name, capability=OuterRef("pk"), vector_hash=F("text_hash")
    )
    return not Capability.objects.filter(~Exists(vectors)).exists()


def _onnx() -> Embedder:
    # Imported when chosen: each provider needs a library that the others do not.
    from catalog.embedding.shipped_model import model_folder

    root, trained = settings.PEGBOARD_MODEL_DIR, settings.PEGBOARD_TRAINED_ENCODER
    return _onnx_in(model_folder(root, trained=trained))


def _onnx_in(folder: Path) -> Embedder:
    from catalog.embedding.onnx_embedder import OnnxEmbedder

    return OnnxEmbedder(folder)


def _find_shipped(name: str) -> LazyEmbedder | None:
    """Return the prepared model of that name, written by this or an earlier version."""
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

    return SentenceTransformersEmbedder(settings.PEGBOARD_EMBEDDING_MODEL or _float32_model())


def _float32_model() -> str:
    from catalog.embedding.shipped_model import prepare_float32_model

    root, trained = settings.PEGBOARD_MODEL_DIR, settings.PEGBOARD_TRAINED_ENCODER
    return str(prepare_float32_model(root, trained=trained))


def _openai() -> Embedder:
    from catalog.embedding._openai_embedder import OpenAIEmbedder

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
