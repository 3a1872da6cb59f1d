"""A web server as in production answers by words while its embedding model still loads."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from catalog.models import EmbeddingModel
from tests.catalog.processes import PROJECT, database_url
from tests.factories import CapabilityFactory, GroupFactory, UserFactory, give
from tests.operate.deployment import wait_for
from tests.ports import free_port
from tests.web.conftest import new_key

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True)]
# Importing torch takes ten seconds of CPU; this one takes as long as the test lets it.
LIBRARY = """
import os, pathlib, time

while not pathlib.Path(os.environ["MODEL_IS_THERE"]).exists():
    time.sleep(0.05)

class SentenceTransformer:
    def __init__(self, *_, **__): pass
    def state_dict(self): return {}
    def encode(self, texts, **_): return [[1.0, 0.0, 0.0] for _ in texts]
"""
NAME = "slow-e3b0c44298fc"  # the folder's name, and the hash of no weights


@pytest.fixture
def key() -> str:
    """A key for alice, who may use one tool, embedded by the slow model."""
    EmbeddingModel.objects.create(name=NAME, dimension=3, active=True)
    tool = CapabilityFactory.create(action="dispatch_parcel", vector=[1, 0, 0])
    group = GroupFactory.create(name="support")
    UserFactory.create(username="alice", groups=[group])
    give(tool.integration, group)
    return new_key(group)


@pytest.fixture
def web(key: str, tmp_path: Path) -> Iterator[int]:
    """The port of a web server whose model loads until the file "there" exists."""
    (tmp_path / "sentence_transformers.py").write_text(LIBRARY)
    (tmp_path / "slow").mkdir()
    port = free_port()
    environment = os.environ | {
        "DATABASE_URL": database_url(),
        "MODEL_IS_THERE": str(tmp_path / "there"),
        "PEGBOARD_DATA_DIR": str(tmp_path),
        "PEGBOARD_EMBEDDER": "sentence-transformers",
        "PEGBOARD_EMBEDDING_MODEL": str(tmp_path / "slow"),
        "PEGBOARD_RATE_PER_KEY": "1000000",
        "PEGBOARD_RATE_PER_PERSON": "1000000",  # however long it is asked for
        "PEGBOARD_CPU_PER_KEY": "100000000",
        "PEGBOARD_CPU_PER_PERSON": "100000000",
        "PYTHONPATH": str(tmp_path),
        "WEB_CONCURRENCY": "1",
    }
    command = [*(sys.executable, "-m", "gunicorn", f"--bind=127.0.0.1:{port}")]
    command += ["--config=python:marketplace.operate.embedded.gunicorn_config"]
    with (
        (tmp_path / "log").open("wb") as log,
        subprocess.Popen(  # noqa: S603 - ourselves
            [*command, "marketplace.config.wsgi"],
            cwd=PROJECT,
            env=environment,
            stdout=log,
            stderr=log,
        ) as server,
    ):
        yield port
        server.terminate()


def test_requests_are_answered_by_words_until_the_model_is_there(
    web: int, key: str, tmp_path: Path
) -> None:
    wait_for(lambda: answers(web), "answering")

    first = select(web, key)
    (tmp_path / "there").touch()
    wait_for(lambda: not select(web, key)["degraded"], "the model")
    later = select(web, key)

    assert first["degraded_because"] == ["Ranked by words only: the embedding model is loading."]
    assert why(first) == ["Keywords: dispatch, parcel"]
    assert why(later) == ["Matches “dispatch the parcel”", "Keywords: dispatch, parcel"]


def answers(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/livez").status_code == 200
    except httpx.TransportError:
        return False


def select(port: int, key: str) -> Any:
    answer = httpx.post(
        f"http://127.0.0.1:{port}/api/v1/select",
        json={"message": "dispatch the parcel", "user": "alice"},
        headers={"Authorization": f"Bearer {key}"},
        timeout=60,
    )
    return answer.raise_for_status().json()


def why(answer: Any) -> Any:
    """Return the reasons for the only tool."""
    (tool,) = answer["selected"]
    return tool["reasons"]
