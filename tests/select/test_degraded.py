"""Selection without the model, Redis, or the worker.

Real processes are used where their absence would be noticed in production.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test import override_settings

from acl.platform.redis_circuit import redis_circuit
from catalog.embedding import configured_embedder
from catalog.embedding.shipped_model import model_folder
from catalog.models import Embedding
from discovery.select.selection import SelectRequest
from discovery.select.selector import select_capabilities
from tests.select.conftest import Shop, names

MESSAGE = "what is the weather in Lisbon?"


@pytest.fixture(autouse=True)
def _closed_circuit() -> Iterator[None]:
    redis_circuit.close()
    yield
    redis_circuit.close()


def _remove(model: Path) -> None:
    model.unlink()


def _truncate(model: Path) -> None:
    model.write_bytes(model.read_bytes()[:100_000])


def _flip_a_bit(model: Path) -> None:
    content = bytearray(model.read_bytes())
    content[len(content) // 2] ^= 1
    model.write_bytes(content)


@pytest.fixture
def damaged(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Damage a copy of the model, and begin to load it as a new process would."""
    shutil.copytree(settings.PEGBOARD_MODEL_DIR, tmp_path / "model")
    request.param(model_folder(tmp_path / "model", trained=True) / "model.onnx")
    fresh = configured_embedder.LazyEmbedder(configured_embedder._onnx)
    monkeypatch.setitem(configured_embedder._providers, "onnx", fresh)
    return tmp_path


@pytest.mark.parametrize("damaged", [_remove, _truncate, _flip_a_bit], indirect=True)
def test_without_a_sound_model_words_answer_and_rights_still_hold(
    shop: Shop, damaged: Path
) -> None:
    with override_settings(PEGBOARD_MODEL_DIR=damaged / "model"):
        selection = shop.ask(MESSAGE)
        charlies = select_capabilities(SelectRequest(MESSAGE, shop.charlie))

    assert "weather" in names(selection)
    assert any("words only" in note for note in selection.degraded)
    assert charlies.selected == ()
    assert charlies.tokens_all == 0
    assert any("words only" in note for note in charlies.degraded)


@pytest.mark.processes
@pytest.mark.django_db(transaction=True)
def test_process_without_a_model_answers_too(shop: Shop, tmp_path: Path) -> None:
    selection = _select_in_a_new_process(tmp_path)

    assert "weather" in [item["full_name"] for item in selection["selected"]]
    assert any("words only" in note for note in selection["degraded"])


def test_redis_gone_is_said_and_answered(shop: Shop, tmp_path: Path) -> None:
    with override_settings(REDIS_URL=f"unix://{tmp_path}/nobody.sock"):
        selection = shop.ask("is it going to rain in Porto?")

    assert "weather" in names(selection)
    assert any("Redis is unavailable" in note for note in selection.degraded)


def test_black_holed_redis_is_left_alone_after_three_failures(shop: Shop) -> None:
    with _black_hole() as (url, calls), override_settings(REDIS_URL=url):
        answers = [shop.ask(f"is it going to rain in Porto, question {n}?") for n in range(12)]

    assert all("weather" in names(answer) for answer in answers)
    assert len(calls) <= 4  # three failures open the circuit; a client may connect once more


def test_what_no_worker_has_embedded_is_found_by_its_words(shop: Shop) -> None:
    Embedding.objects.filter(capability__full_name="weather").update(vector=None, vector_hash="")

    selection = shop.ask("weather forecast please")

    assert "weather" in names(selection)
    assert any("no vector" in note for note in selection.degraded)


def _select_in_a_new_process(data: Path) -> dict[str, Any]:
    database = os.environ["DATABASE_URL"].rsplit("/", 1)[0] + f"/{connection.settings_dict['NAME']}"
    environment = os.environ | {"PEGBOARD_DATA_DIR": str(data), "DATABASE_URL": database}
    answer = subprocess.run(  # noqa: S603
        [sys.executable, "manage.py", "select", MESSAGE, "--user", "alice", "--json"],
        env=environment, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    selection: dict[str, Any] = json.loads(answer.stdout)
    return selection


class _black_hole:
    """Run a server that accepts connections and never answers."""

    def __enter__(self) -> tuple[str, list[Any]]:
        self._server = socket.create_server(("127.0.0.1", 0))
        self._calls: list[Any] = []
        threading.Thread(target=self._accept, daemon=True).start()
        return f"redis://127.0.0.1:{self._server.getsockname()[1]}", self._calls

    def __exit__(self, *_: object) -> None:
        self._server.close()
        for call in self._calls:
            call.close()

    def _accept(self) -> None:
        while True:
            try:
                self._calls.append(self._server.accept()[0])
            except OSError:
                return
