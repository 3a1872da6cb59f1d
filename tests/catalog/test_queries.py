import socket
import threading
import time
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from django.conf import settings as django_settings
from pytest_django import Settings

from acl.platform.redis_circuit import redis_circuit, redis_client
from catalog.embedding import query_vectors
from catalog.embedding.embedder import EmbedderUnavailable, Vectors
from catalog.embedding.query_vectors import embed_queries
from tests.catalog.builders import AbsentEmbedder, WordyEmbedder, store, tool
from tests.catalog.conftest import use

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def empty_redis() -> Iterator[None]:
    yield
    redis_circuit.close()
    for key in redis_client().scan_iter("pegboard:query:*"):
        redis_client().delete(key)


class SlowEmbedder(WordyEmbedder):
    def embed(self, texts: Sequence[str]) -> Vectors:
        time.sleep(0.05)
        return super().embed(texts)


def test_only_new_texts_are_embedded_in_one_call(embedder: WordyEmbedder) -> None:
    embed_queries(["one", "two"])

    answer = embed_queries(["two", "three", "one", "four", "three"])

    assert (embedder.calls, embedder.texts) == (2, ["one", "two", "three", "four"])
    assert answer.model == "wordy"
    texts = ["two", "three", "one", "four", "three"]
    assert np.array_equal(answer.vectors, WordyEmbedder().embed(texts))


def test_other_processes_find_the_vector_in_redis(
    embedder: WordyEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = embed_queries(["hello"])
    monkeypatch.setattr(query_vectors, "_cache", query_vectors.QueryCache())

    second = embed_queries(["hello"])

    assert embedder.calls == 1
    assert np.array_equal(first.vectors, second.vectors)


def test_redis_holds_no_words_and_forgets_in_time() -> None:
    embed_queries(["my salary is secret"])

    (key,) = redis_client().scan_iter("pegboard:query:*")
    assert "salary" not in f"{key!r} {redis_client().get(key)!r}"
    assert 0 < redis_client().ttl(key) <= django_settings.PEGBOARD_QUERY_CACHE_SECONDS


def test_another_model_has_vectors_of_its_own(
    embedder: WordyEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = embed_queries(["hello"])
    use(WordyEmbedder("newer"), monkeypatch)

    new = embed_queries(["hello"])

    assert new.model == "newer"
    assert not np.array_equal(old.vectors, new.vectors)


def test_process_keeps_only_the_latest(
    settings: Settings, embedder: WordyEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PEGBOARD_QUERY_CACHE_SIZE = 2
    settings.PEGBOARD_QUERY_CACHE_SECONDS = 0
    embed_queries(["one"])
    embed_queries(["two"])
    embed_queries(["one"])
    embed_queries(["three"])

    embed_queries(["one"])
    embed_queries(["two"])

    assert embedder.texts == ["one", "two", "three", "two"]


def test_hundred_at_once_embed_the_text_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """REL-15: the vector was cached, and has been evicted here and from Redis."""
    slow = SlowEmbedder()
    use(slow, monkeypatch)
    store(tool("send_email"))
    embed_queries(["hot"])  # caches the model, so that no thread queries the database
    query_vectors._cache.clear()
    redis_client().delete(query_vectors._key(slow.name, "hot"))
    answers: list[Vectors] = []
    threads = [
        threading.Thread(target=lambda: answers.append(embed_queries(["hot"]).vectors))
        for _ in range(100)
    ]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (slow.texts, len(answers)) == (["hot", "hot"], 100)


def test_waiters_hear_why_it_failed_and_the_next_one_tries_again(
    monkeypatch: pytest.MonkeyPatch, embedder: WordyEmbedder
) -> None:
    use(AbsentEmbedder(), monkeypatch)
    with pytest.raises(EmbedderUnavailable, match="nobody answers"):
        embed_queries(["hello"])

    use(embedder, monkeypatch)

    assert len(embed_queries(["hello"]).vectors) == 1


def test_redis_that_never_answers_is_asked_three_times_and_then_left_alone(
    settings: Settings, embedder: WordyEmbedder
) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=64) as black_hole:
        settings.REDIS_URL = f"redis://127.0.0.1:{black_hole.getsockname()[1]}/0"
        for number in range(20):
            embed_queries([f"text {number}"])
        black_hole.settimeout(0.2)
        connections = _accepted(black_hole)

    assert embedder.calls == 20
    assert connections == 3


def _accepted(server: socket.socket) -> int:
    count = 0
    while True:
        try:
            server.accept()[0].close()
        except TimeoutError:
            return count
        count += 1
