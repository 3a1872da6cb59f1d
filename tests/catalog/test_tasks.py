import threading
import time

import pytest
from celery import Celery
from django.db import connection
from kombu.exceptions import OperationalError
from pytest_django import Settings

from acl.platform.redis_circuit import redis_circuit
from catalog.embedding import jobs
from catalog.embedding.jobs import send_embeddings
from catalog.models import Capability, Embedding
from catalog.tasks import embed_capabilities
from tests.catalog.builders import store, tool

QUEUE_PATIENCE = 1  # seconds, in place of Celery's six


def test_many_ids_go_as_several_tasks(sent: list[list[int]]) -> None:
    send_embeddings(range(4_500))

    assert [len(ids) for ids in sent] == [2_000, 2_000, 500]


def test_small_server_does_not_wait_for_a_thousand_tools_of_another(
    sent: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    embedded: list[int] = []
    monkeypatch.setattr(jobs, "embed_capabilities", embedded.extend)
    large, small = list(range(1_000)), [5_001, 5_002]

    for ids in (large, small):
        send_embeddings(ids)
    while sent:  # one worker
        embed_capabilities(sent.pop(0))

    assert sorted(embedded) == [*large, *small]
    assert embedded.index(small[-1]) < 30


def test_absent_queue_neither_fails_nor_delays(sent: list[list[int]], settings: Settings) -> None:
    settings.REDIS_URL = "unix:///nowhere/redis.sock"
    redis_circuit.close()
    began = time.monotonic()

    for _ in range(10):
        send_embeddings([1, 2, 3])

    assert sent == []
    assert time.monotonic() - began < QUEUE_PATIENCE


def test_queue_that_dies_at_the_wrong_moment_fails_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OperationalError("it was there a moment ago")

    monkeypatch.setattr(Celery, "send_task", refuse)

    send_embeddings([1, 2, 3])


@pytest.mark.django_db(transaction=True)
def test_imports_at_the_same_time_store_each_capability_once() -> None:
    store(tool("first"))
    problems: list[Exception] = []

    def import_all() -> None:
        try:
            store(*(tool(f"tool_{number}") for number in range(50)), tool("first", "Changed."))
        except Exception as problem:
            problems.append(problem)
        finally:
            connection.close()

    threads = [threading.Thread(target=import_all) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert problems == []
    assert Capability.objects.count() == Embedding.objects.count() == 51
