"""Killed workers, stopped and emptied queues: nothing is lost, and everything is embedded."""

import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from django.db.models import F
from django.test import Client
from pytest_django import Settings

from acl.platform.processes import KEY
from catalog.embedding.jobs import CRASHED, failed_embeddings, pending_embeddings
from catalog.models import Embedding, EmbeddingModel
from marketplace.operate.embedded.data_folder import open_data_folder
from tests.catalog.builders import store, tool
from tests.catalog.processes import PATIENCE, Deployment, wait_for
from tests.catalog.vectors import assert_every_vector_is_of_its_text, ids

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True)]
POINTS = ("before_claim", "before_model", "after_model", "after_write")
SKILL = "---\nname: {name}\ndescription: Does the work of {name}.\n---\nWork well.\n"


@pytest.fixture
def deployment() -> Iterator[Deployment]:
    folder = Path(tempfile.mkdtemp(prefix="pegboard-"))
    open_data_folder(folder)
    deployment = Deployment(folder)
    deployment.queue.start()
    yield deployment
    deployment.stop()
    shutil.rmtree(folder)


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    """A folder with twenty skills."""
    for number in range(20):
        folder = tmp_path / f"skill-{number}"
        folder.mkdir()
        (folder / "SKILL.md").write_text(SKILL.format(name=folder.name))
    return tmp_path


def test_killed_processes_and_lost_queues_lose_nothing(
    deployment: Deployment, skills: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Share one worker among all steps: each start takes seconds of processor time."""
    deaths = tmp_path_factory.mktemp("deaths")
    store(*(tool(f"tool_{number}") for number in range(40)))

    worker_that_is_killed_loses_nothing(deployment, deaths)
    queue_that_is_deleted_loses_nothing(deployment)
    process_that_is_killed_loses_nothing_wherever_it_was(deployment, deaths)
    import_while_the_queue_is_away_is_embedded_when_it_is_back(deployment, skills)


def worker_that_is_killed_loses_nothing(deployment: Deployment, deaths: Path) -> None:
    (deaths / "before_model").touch()
    deployment.send(ids())
    dying = deployment.start_worker("--pool=solo", KILL_AT=str(deaths))

    assert dying.wait(PATIENCE) == -signal.SIGKILL
    assert pending_embeddings().count() == 40


def queue_that_is_deleted_loses_nothing(deployment: Deployment) -> None:
    deployment.send(ids())
    with redis.Redis.from_url(deployment.queue.url) as client:
        assert client.delete("celery") == 1


def process_that_is_killed_loses_nothing_wherever_it_was(
    deployment: Deployment, deaths: Path
) -> None:
    for point in POINTS:
        (deaths / point).touch()

    deployment.start_worker_and_beat(KILL_AT=str(deaths))

    wait_for(lambda: not pending_embeddings().exists(), "the sweep")
    assert list(deaths.iterdir()) == []
    assert Embedding.objects.count() == 40
    assert_every_vector_is_of_its_text()


def import_while_the_queue_is_away_is_embedded_when_it_is_back(
    deployment: Deployment, skills: Path
) -> None:
    deployment.queue.stop()
    deployment.manage("import_catalog", str(skills))
    assert pending_embeddings().count() == 20
    deployment.queue.start()

    wait_for(lambda: not pending_embeddings().exists(), "the sweep")
    assert Embedding.objects.count() == 60
    assert_every_vector_is_of_its_text()


def test_text_that_kills_is_given_up_after_five_deliveries_and_the_others_are_embedded(
    deployment: Deployment, admin_client: Client
) -> None:
    """REL-10: SIGKILL ends the worker's child each time, with the product's own limit."""
    store(tool("deadly"), *(tool(f"tool_{number}") for number in range(100)))
    worker = deployment.start_worker_and_beat()
    deployment.send(ids())

    wait_for(lambda: failed_embeddings().filter(failure=CRASHED).exists(), "giving up")
    wait_for(lambda: not pending_embeddings().exists(), "the rest")

    given_up = failed_embeddings().get()
    assert (given_up.capability.action, given_up.attempts) == ("deadly", 5)
    assert Embedding.objects.filter(vector_hash=F("text_hash")).count() == 100
    assert worker.poll() is None  # only its children were killed
    page = admin_client.get("/admin/catalog/embedding/", {"vector": "failed"}).content.decode()
    assert CRASHED in page
    assert page.count("gmail__deadly") == 1
    told = admin_client.get("/readyz").json()["parts"]["embeddings"]
    assert (told["failed"], told["problem"]) == (1, "1 entry could not be embedded.")


def test_worker_embeds_by_the_model_that_comes_with_the_install(
    deployment: Deployment, settings: Settings
) -> None:
    shutil.copytree(settings.PEGBOARD_MODEL_DIR, deployment.data / "model")
    store(tool("send_email"))
    EmbeddingModel.objects.all().delete()

    deployment.start_worker_and_beat(app="marketplace.config.celery")

    wait_for(lambda: Embedding.objects.filter(vector__isnull=False).exists(), "the first vector")
    row = Embedding.objects.select_related("model").get()
    assert row.model.active
    assert row.vector is not None
    assert len(row.vector) == row.model.dimension == 384
    with redis.Redis.from_url(deployment.queue.url) as client:
        assert client.exists(KEY)


EVICTING = {"maxmemory": "3mb", "maxmemory-policy": "allkeys-lru"}
QUEUE = "celery"


@pytest.fixture
def evicting(deployment: Deployment) -> Deployment:
    """A deployment whose Redis evicts keys."""
    deployment.queue.stop()
    deployment.queue._settings = {**deployment.queue._settings, **EVICTING}
    deployment.queue.start()
    return deployment


def crowd(client: redis.Redis, number: int) -> None:
    """Write what others keep in Redis, so that it evicts."""
    for place in range(number):
        client.set(f"crowd-{place}", b"x" * 4_000)


def test_redis_that_evicts_loses_tasks_and_no_work(evicting: Deployment) -> None:
    store(*(tool(f"tool_{number}") for number in range(40)))
    with redis.Redis.from_url(evicting.queue.url) as client:
        evicting.send(ids())
        assert client.exists(QUEUE)
        time.sleep(1.5)  # Redis counts whole seconds, and takes what was used longest ago
        crowd(client, 5_000)
        assert not client.exists(QUEUE)
        assert client.info("stats")["evicted_keys"] > 0

        evicting.start_worker_and_beat()

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
