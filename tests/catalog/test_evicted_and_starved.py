"""REL-10: a Redis that evicts, and a worker that gets no time: what was accepted is done later."""

import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from catalog.embedding.jobs import pending_embeddings
from catalog.models import Embedding
from marketplace.operate.embedded.data_folder import open_data_folder
from tests.catalog.builders import store, tool
from tests.catalog.processes import Deployment, wait_for
from tests.catalog.vectors import assert_every_vector_is_of_its_text, ids

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True)]
EVICTING = {"maxmemory": "3mb", "maxmemory-policy": "allkeys-lru"}
QUEUE = "celery"


@pytest.fixture
def deployment() -> Iterator[Deployment]:
    folder = Path(tempfile.mkdtemp(prefix="pegboard-"))
    open_data_folder(folder)
    made = Deployment(folder)
    made.queue._settings = {**made.queue._settings, **EVICTING}
    made.queue.start()
    yield made
    made.stop()
    shutil.rmtree(folder)


def crowd(client: redis.Redis, number: int) -> None:
    """Write what others keep in Redis, so that it evicts."""
    for place in range(number):
        client.set(f"crowd-{place}", b"x" * 4_000)


def test_redis_that_evicts_loses_tasks_and_no_work(deployment: Deployment) -> None:
    store(*(tool(f"tool_{number}") for number in range(40)))
    with redis.Redis.from_url(deployment.queue.url) as client:
        deployment.send(ids())
        assert client.exists(QUEUE)
        time.sleep(1.5)  # Redis counts whole seconds, and takes what was used longest ago
        crowd(client, 5_000)
        assert not client.exists(QUEUE)
        assert client.info("stats")["evicted_keys"] > 0

        deployment.start_worker_and_beat()

        def is_done() -> bool:
            crowd(client, 20)
            return not pending_embeddings().exists()

        wait_for(is_done, "embedding beside evictions")
    assert Embedding.objects.count() == 40
    assert_every_vector_is_of_its_text()


def test_worker_without_a_share_of_the_processor_does_its_work_once_it_runs(
    deployment: Deployment,
) -> None:
    store(tool("first"))
    worker = deployment.start_worker_and_beat()
    deployment.send(ids())
    wait_for(lambda: not pending_embeddings().exists(), "the first")

    worker.send_signal(signal.SIGSTOP)
    try:
        store(*(tool(f"tool_{number}") for number in range(10)))
        deployment.send(ids())
        assert pending_embeddings().count() == 10
    finally:
        worker.send_signal(signal.SIGCONT)

    wait_for(lambda: not pending_embeddings().exists(), "the rest")
    assert Embedding.objects.count() == 11
    assert_every_vector_is_of_its_text()
    assert worker.poll() is None
