"""Cached vectors of messages: the latest in this process, and all in Redis.

Redis holds a hash of the text and the vector, never the text.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from django.conf import settings
from redis import Redis

from acl.platform.redis_circuit import attempt
from catalog.embedding.configured_embedder import answering_embedder
from catalog.embedding.embedder import Embedder, Vectors
from catalog.embedding.multilingual_embedder import multilingual_embedder

Vector = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class EmbeddedTexts:
    """Vectors in the order of their texts, and the model that made them."""

    model: str
    vectors: Vectors


def embed_queries(texts: Sequence[str], *, foreign: Sequence[str] = ()) -> EmbeddedTexts:
    """Return the texts' vectors by the answering model, embedding new texts in one call.

    `foreign` are the same texts as written, if they are not English: the multilingual model reads
    them, where there is one for the answering model. Raises EmbedderUnavailable.
    """
    embedder = answering_embedder()
    model = embedder.name
    if foreign and (multilingual := multilingual_embedder(model)):
        embedder, texts = multilingual, foreign
    keys = [_key(embedder.name, text) for text in texts]
    vectors = _cache.get_all(dict(zip(keys, texts, strict=True)), embedder)
    return EmbeddedTexts(model, np.stack([vectors[key] for key in keys]))


class QueryCache:
    """The latest vectors by key, with request coalescing across threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._vectors: OrderedDict[str, Vector] = OrderedDict()
        self._in_flight: dict[str, Future[Vector]] = {}

    def get_all(self, texts: dict[str, str], embedder: Embedder) -> dict[str, Vector]:
        """Return a vector per key, embedding missing texts and waiting for other threads' ones."""
        with self._lock:
            vectors = {key: self._vectors[key] for key in texts if key in self._vectors}
            for key in vectors:
                self._vectors.move_to_end(key)
            awaited = {key: self._in_flight[key] for key in texts if key in self._in_flight}
            new = [key for key in texts if key not in vectors and key not in awaited]
            self._in_flight.update({key: Future() for key in new})
        if new:
            vectors |= self._fetch({key: texts[key] for key in new}, embedder)
        return vectors | {key: future.result() for key, future in awaited.items()}

    def clear(self) -> None:
        """Drop all vectors of this process."""
        with self._lock:
            self._vectors.clear()

    def _fetch(self, texts: dict[str, str], embedder: Embedder) -> dict[str, Vector]:
        """Fetch vectors from Redis or the embedder, and resolve the futures of waiting threads."""
        try:
            # Outside the lock: embedding is slow, and other texts must not wait for it.
            vectors = _from_redis(texts, embedder.dimension)
            missing = [key for key in texts if key not in vectors]
            if missing:
                new = dict(
                    zip(missing, embedder.embed([texts[key] for key in missing]), strict=True)
                )
                _to_redis(new)
                vectors |= new
        # Also for KeyboardInterrupt and the like: other threads wait for these futures.
        except BaseException as problem:
            for future in self._pop_futures(texts):
                future.set_exception(problem)
            raise
        self._remember(vectors)
        for key, future in zip(texts, self._pop_futures(texts), strict=True):
            future.set_result(vectors[key])
        return vectors

    def _pop_futures(self, keys: Iterable[str]) -> list[Future[Vector]]:
        with self._lock:
            return [self._in_flight.pop(key) for key in keys]

    def _remember(self, vectors: dict[str, Vector]) -> None:
        with self._lock:
            self._vectors.update(vectors)
            while len(self._vectors) > settings.PEGBOARD_QUERY_CACHE_SIZE:
                self._vectors.popitem(last=False)


_cache = QueryCache()


def _key(model: str, text: str) -> str:
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
    return f"pegboard:query:{model}:{digest}"


def _from_redis(keys: Iterable[str], dimension: int) -> dict[str, Vector]:
    key_list = list(keys)
    nothing: list[bytes | str | None] = []
    answers = attempt(lambda redis: list(redis.mget(key_list)), default=nothing)
    size = dimension * np.dtype(np.float32).itemsize
    return {
        key: np.frombuffer(answer, dtype=np.float32)
        for key, answer in zip(key_list, answers, strict=False)
        if isinstance(answer, bytes) and len(answer) == size
    }


def _to_redis(vectors: dict[str, Vector]) -> None:
    seconds = settings.PEGBOARD_QUERY_CACHE_SECONDS

    def write(redis: Redis) -> None:
        with redis.pipeline(transaction=False) as pipeline:
            for key, vector in vectors.items():
                pipeline.set(key, vector.tobytes(), ex=seconds)
            pipeline.execute()

    if seconds:
        attempt(write, default=None)
