import time

import pytest
from celery import Celery, current_app
from django.db import transaction
from kombu.exceptions import OperationalError
from pytest_django.fixtures import DjangoCaptureOnCommitCallbacks, Settings

from acl.platform import task_names
from acl.platform.redis_circuit import redis_circuit
from acl.platform.task_names import INSTALL, REVOKE_TOKEN, send_each, send_now, send_on_commit

Sent = list[tuple[str, list[int]]]
PATIENCE = 1  # second: Celery's own is six


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """The tasks sent so far, by name and arguments."""
    redis_circuit.close()
    tasks: Sent = []
    monkeypatch.setattr(Celery, "send_task", lambda _, task, ids: tasks.append((task, ids)))
    return tasks


def test_task_goes_by_its_name(sent: Sent) -> None:
    assert send_now(INSTALL, 7)
    assert sent == [("servers.install", [7])]


def test_task_is_sent_once_for_each_row(sent: Sent) -> None:
    assert send_each(INSTALL, ([key] for key in (1, 2)))
    assert sent == [(INSTALL, [1]), (INSTALL, [2])]


def test_no_rows_are_no_tasks(sent: Sent) -> None:
    assert not send_each(INSTALL, [])
    assert sent == []


@pytest.mark.django_db
def test_task_waits_for_the_commit(
    sent: Sent, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    with django_capture_on_commit_callbacks(execute=True), transaction.atomic():
        send_on_commit(REVOKE_TOKEN, 3)
        before = list(sent)

    assert before == []
    assert sent == [(REVOKE_TOKEN, [3])]


def test_absent_redis_neither_fails_nor_delays(sent: Sent, settings: Settings) -> None:
    settings.REDIS_URL = "unix:///nowhere/redis.sock"
    began = time.monotonic()

    answers = {send_now(INSTALL, 1) for _ in range(10)}

    assert (answers, sent) == ({False}, [])
    assert time.monotonic() - began < PATIENCE


def test_queue_that_dies_after_the_ping_fails_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OperationalError("it was there a moment ago")

    monkeypatch.setattr(Celery, "send_task", refuse)

    assert not send_now(INSTALL, 1)


def test_every_name_is_the_name_of_a_task_and_every_task_has_one() -> None:
    import marketplace.config.celery_servers  # noqa: F401 - loads the tasks that go out

    current_app.loader.import_default_modules()
    names = {text for name, text in vars(task_names).items() if name.isupper()}

    assert names == {name for name in current_app.tasks if not name.startswith("celery.")}
