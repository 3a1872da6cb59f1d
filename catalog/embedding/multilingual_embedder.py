"""The process's multilingual embedder, loaded by the first text that is not English.

Here are also the vectors of tools' texts, whose lines may be in any language.
"""

import hashlib
import threading
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np
import structlog
from django.conf import settings

from catalog.embedding._multilingual_package import PACKAGE
from catalog.embedding.embedder import Embedder, EmbedderUnavailable, Vectors, normalize_rows
from catalog.words.foreign_letters import is_foreign_text

# `multilingual_model` is imported where it is used: it loads ONNX and ONNX Runtime, which the
# process that talks to strangers never needs.
if TYPE_CHECKING:
    from catalog.embedding.multilingual_model import LanguageMap, MultilingualEncoder

log = structlog.get_logger(__name__)


class MultilingualEmbedder:
    """An embedder whose vectors lie in the space of the map's target."""

    dimension = 384

    def __init__(
        self, encoder: "MultilingualEncoder", to_target: "LanguageMap", version: str
    ) -> None:
        self._encoder, self._map = encoder, to_target
        # For caches only: the same text has another vector by the target itself.
        self.name = f"{to_target.target}-languages-{version}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        return self._map.apply(self._encoder.embed(texts))


def multilingual_embedder(model: str) -> MultilingualEmbedder | None:
    """Return the multilingual embedder into the model's space.

    None if there is none for this model, or the settings or the machine leave it out.
    """
    # The settings come last: what measures other models does not read them.
    if model != shipped_map().target or not settings.PEGBOARD_MULTILINGUAL:
        return None
    return _load()


def embed_documents(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Return one unit vector per `embedding_text`: the mean over its lines, each read by the model
    that knows its language."""
    # A capability's text has several lines; a message has one.
    lines = [text.splitlines() or [""] for text in texts]
    if not lines:
        return np.zeros((0, embedder.dimension), dtype=np.float32)
    every = [line for text in lines for line in text]
    foreign = [place for place, line in enumerate(every) if is_foreign_text(line)]
    multilingual = multilingual_embedder(embedder.name) if foreign else None
    if multilingual is None:
        vectors = embedder.embed(every)
    else:
        vectors = np.zeros((len(every), embedder.dimension), dtype=np.float32)
        english = sorted(set(range(len(every))).difference(foreign))
        vectors[english] = embedder.embed([every[place] for place in english])
        vectors[foreign] = multilingual.embed([every[place] for place in foreign])
    starts = np.cumsum([0, *(len(text) for text in lines[:-1])])
    return normalize_rows(np.add.reduceat(vectors, starts, axis=0))


def reader_of(text: str) -> str:
    """Return the map's version if the multilingual model reads the text, for the text's hash.

    So a new map embeds the texts anew that it changes, and no others.
    """
    if not any(map(is_foreign_text, text.splitlines())):
        return ""
    reads = settings.PEGBOARD_MULTILINGUAL and find_spec(PACKAGE) is not None
    return f"\nlanguages-{_map_version()}" if reads else ""


def describe_languages() -> str:
    """Say what reads messages that are not English, without loading it."""
    from catalog.embedding.multilingual_model import has_record

    if not settings.PEGBOARD_MULTILINGUAL:
        return f"{_BY_WORDS}: PEGBOARD_MULTILINGUAL is off."
    if find_spec(PACKAGE) is None:
        return f"{_BY_WORDS}: the package {PACKAGE} is not installed."
    if _failures:
        return f"{_BY_WORDS}: {_failures[-1]}"
    if not has_record(settings.PEGBOARD_MODEL_DIR):
        return f"{_BY_WORDS}: run `manage.py set_up`."
    return ""


_BY_WORDS = "Messages that are not English are read by the English model, with a glossary"
_lock = threading.Lock()
_loaded: list[MultilingualEmbedder] = []
_failures: list[str] = []


def _load() -> MultilingualEmbedder | None:
    """Load it once; a failure lasts until the process restarts."""
    from catalog.embedding.multilingual_model import MultilingualEncoder

    if not _loaded and not _failures:
        with _lock:
            if not _loaded and not _failures:
                try:
                    encoder = MultilingualEncoder(settings.PEGBOARD_MODEL_DIR)
                    _loaded.append(MultilingualEmbedder(encoder, shipped_map(), _map_version()))
                except EmbedderUnavailable as problem:
                    log.warning("messages are read as English only", reason=str(problem))
                    _failures.append(str(problem))
    return _loaded[0] if _loaded else None


@lru_cache(maxsize=1)
def shipped_map() -> "LanguageMap":
    """Return the shipped map."""
    from catalog.embedding.multilingual_model import read_map

    return read_map()


@lru_cache(maxsize=1)
def _map_version() -> str:
    from catalog.embedding.multilingual_model import MAP_FILE

    return hashlib.sha256(MAP_FILE.read_bytes()).hexdigest()[:8]
