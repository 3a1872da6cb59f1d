"""An embedder for the tests that are not about the model, and what was sent to the queue."""

import pytest
from celery import Celery
from django.conf import settings

from acl.platform.jobs.task_names import EMBED_CAPABILITIES
from acl.platform.redis_circuit import redis_circuit
from catalog.embedding import configured_embedder, query_vectors
from tests.catalog.builders import WordyEmbedder


@pytest.fixture(autouse=True)
def embedder(monkeypatch: pytest.MonkeyPatch) -> WordyEmbedder:
    """The embedder that the settings name."""
    wordy = WordyEmbedder()
    use(wordy, monkeypatch)
    return wordy


def use(wordy: WordyEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the settings name this one, in a process that has just started."""
    provider = configured_embedder.LazyEmbedder(lambda: wordy)
    monkeypatch.setitem(configured_embedder._providers, settings.PEGBOARD_EMBEDDER, provider)
    monkeypatch.setattr(configured_embedder, "_answering", configured_embedder._Answering())
    monkeypatch.setattr(query_vectors, "_cache", query_vectors.QueryCache())
    redis_circuit.close()


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """What the workers were asked to embed."""
    tasks: list[list[int]] = []

    def send(_: Celery, task: str, arguments: list[list[int]]) -> None:
        assert task == EMBED_CAPABILITIES
        tasks.append(arguments[0])

    monkeypatch.setattr(Celery, "send_task", send)
    return tasks
