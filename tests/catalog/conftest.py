"""Fixtures: an embedder for tests that are not about the model, and the sent tasks."""

from typing import Any

import pytest
from celery import Celery
from django.conf import settings

from acl.platform.redis_circuit import redis_circuit
from acl.platform.task_names import EMBED_CAPABILITIES
from catalog.embedding import configured_embedder, query_vectors
from tests.catalog.builders import WordyEmbedder


@pytest.fixture(autouse=True)
def embedder(monkeypatch: pytest.MonkeyPatch) -> WordyEmbedder:
    """The embedder named in the settings."""
    wordy = WordyEmbedder()
    use(wordy, monkeypatch)
    return wordy


def use(wordy: WordyEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Configure this embedder, as in a fresh process."""
    provider = configured_embedder.LazyEmbedder(lambda: wordy)
    monkeypatch.setitem(configured_embedder._providers, settings.PEGBOARD_EMBEDDER, provider)
    monkeypatch.setattr(configured_embedder, "_answering", configured_embedder._Answering())
    monkeypatch.setattr(query_vectors, "_cache", query_vectors.QueryCache())
    redis_circuit.close()


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """Embedding tasks sent by the product so far; tests with a worker send their own."""
    tasks: list[list[int]] = []
    really_send = Celery.send_task

    def send(app: Celery, task: str, arguments: list[list[int]], *more: Any, **options: Any) -> Any:
        if options:
            return really_send(app, task, arguments, *more, **options)
        assert task == EMBED_CAPABILITIES
        return tasks.append(arguments[0])

    monkeypatch.setattr(Celery, "send_task", send)
    return tasks
