"""Example texts that come with Pegboard, embedded at most once per model and process.

They are the same for everyone: nothing here depends on a catalogue or a caller.
"""

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from django.conf import settings
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from acl.platform.redis_circuit import attempt
from catalog.embedding.configured_embedder import answering_embedder
from catalog.embedding.embedder import (
    Embedder,
    EmbedderUnavailable,
    Vectors,
    cosines_of,
    normalize_rows,
)
from catalog.embedding.multilingual_embedder import multilingual_embedder
from catalog.embedding.query_vectors import EmbeddedTexts
from discovery.select._glossary import add_english, is_foreign

# The shipped model's vectors of the example texts, which come with Pegboard as its weights do.
# Embedding 2,500 texts takes seconds, and nobody's first message should wait for that. A file by
# another model or of other texts is not used. On other processors the model's int8 arithmetic
# gives vectors that differ a little; that moves a cosine less than rewording an example would.

VECTORS_FILE = Path(__file__).parent / "example_vectors.safetensors"


def digest_of(texts: Sequence[str]) -> str:
    """Return what names the vectors of these examples, with the glosses that they get now."""
    return hashlib.sha256("\n".join(_with_glosses(texts)).encode()).hexdigest()


def _with_glosses(texts: Sequence[str]) -> list[str]:
    return [add_english((text,))[0] for text in texts]


def read_vectors(model: str, digest: str, file: Path = VECTORS_FILE) -> Vectors | None:
    """Return the vectors by the model, or None if the file has no such ones."""
    try:
        with safe_open(file, framework="numpy") as stored:
            digests = set(stored.keys())
            if (stored.metadata() or {}).get("model") != model or digest not in digests:
                return None
            return normalize_rows(stored.get_tensor(digest).astype(np.float32))
    except (OSError, SafetensorError):
        return None


def write_vectors(model: str, by_digest: Mapping[str, Vectors], file: Path = VECTORS_FILE) -> None:
    """Write vectors with half of their digits, which is more than a cosine shows."""
    halves = {digest: vectors.astype(np.float16) for digest, vectors in by_digest.items()}
    save_file(halves, file, metadata={"model": model})


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
        return [text for reader in self._readers for text in reader()]

    def _build(self, model: str) -> bool:
        texts = [reader() for reader in self._readers]
        try:
            embedder = answering_embedder()
            if embedder.name != model:
                return False
            vectors = _embed([text for examples in texts for text in examples], embedder)
        except EmbedderUnavailable:
            return False
        ends = np.cumsum([len(examples) for examples in texts])
        self._by_model[model] = self._make(np.split(vectors, ends[:-1]))
        return True


def read_examples(name: str) -> list[str]:
    """Read the lines of a file in this package."""
    return (files("discovery.select") / name).read_text(encoding="utf-8").splitlines()


def embed_examples(texts: Sequence[str], embedder: Embedder) -> Vectors:
    """Return one unit vector per example, read as a message would be.

    An English one gets glosses, and one in another language is read by the multilingual model,
    where there is one: examples that another model had read would be like no message.
    """
    vectors = embedder.embed(_with_glosses(texts))
    foreign = [place for place, text in enumerate(texts) if is_foreign(text)]
    if foreign and (multilingual := multilingual_embedder(embedder.name)):
        vectors[foreign] = multilingual.embed([texts[place] for place in foreign])
    return vectors


def _embed(texts: list[str], embedder: Embedder) -> Vectors:
    """Return the texts' vectors: shipped ones, those that Redis has, or new ones."""
    digest = digest_of(texts)
    shipped = read_vectors(embedder.name, digest)
    return _embed_once(texts, embedder, digest) if shipped is None else shipped


def _embed_once(texts: list[str], embedder: Embedder, digest: str) -> Vectors:
    key = f"pegboard:examples:{embedder.name}:{digest}"
    cached = attempt(lambda redis: redis.get(key), default=None)
    if isinstance(cached, bytes) and len(cached) == len(texts) * embedder.dimension * 4:
        return np.frombuffer(cached, dtype=np.float32).reshape(len(texts), embedder.dimension)
    vectors = embed_examples(texts, embedder)
    seconds = settings.PEGBOARD_QUERY_CACHE_SECONDS
    if seconds:
        attempt(lambda redis: redis.set(key, vectors.tobytes(), ex=seconds), default=None)
    return vectors


# The fixed background of evidence: some 700 things that tools commonly do, and 600 everyday
# things that they could do something with.
# A message that no usable tool serves is nearer to one of these than to any tool: "order a pizza"
# is nearer to "order food for delivery" than to a to-do list, and "fold the awning in" to
# "control, move or repair an awning". Raw cosines cannot tell, since an oddly worded message is
# far from its own tool, too. The list comes with Pegboard, so that what a caller may not see
# moves nothing.

# The mean of the nearest three is compared: a single one is there by chance too often.
NEAREST = 3
# Of the first eight, those do not count that a candidate has: where there is a web search, being
# near to "search the web" speaks against nothing.
COMPARED, SAME = 8, 0.5
ABILITIES, THINGS = "common_abilities.txt", "common_things.txt"


class NearAbilities(NamedTuple):
    """The abilities nearest to each text, in no order.

    `cosines` has a row for each text; `vectors` has a row for each ability, text by text.
    """

    cosines: Vectors
    vectors: Vectors

    def nearness(self, likeness: Sequence[float]) -> tuple[float, ...]:
        """Return each text's mean cosine with the nearest abilities that no candidate has.

        `likeness` has each ability's highest cosine with a candidate; empty without candidates.
        """
        cosines = self.cosines
        if len(likeness):
            has = np.reshape(likeness, cosines.shape) >= SAME
            cosines = np.where(has, cosines.min(axis=1, keepdims=True), cosines)
        nearest = np.partition(cosines, -NEAREST, axis=1)[:, -NEAREST:]
        return tuple(map(float, nearest.mean(axis=1)))


def near_abilities(texts: EmbeddedTexts | None) -> NearAbilities | None:
    """Return the abilities nearest to each text; None without their vectors."""
    abilities = _abilities.get(texts.model) if texts else None
    return nearest_of(abilities, texts.vectors) if texts and abilities is not None else None


def read_abilities() -> list[str]:
    """Return the texts of the background."""
    things = (f"Control, move or repair a {thing}" for thing in read_examples(THINGS))
    return [*read_examples(ABILITIES), *things]


def nearest_of(abilities: Vectors, texts: Vectors) -> NearAbilities:
    """Return those of the abilities that are nearest to each text."""
    cosines = cosines_of(abilities, texts)
    places = np.argpartition(cosines, -COMPARED, axis=1)[:, -COMPARED:]
    return NearAbilities(np.take_along_axis(cosines, places, axis=1), abilities[places.ravel()])


def warm_common_abilities() -> None:
    """Embed the abilities before the first request needs them."""
    _abilities.warm()


def _first(vectors: Sequence[Vectors]) -> Vectors:
    return vectors[0]


_abilities = PerModel((read_abilities,), _first)
