"""Concurrency with real rows and threads: one key is one call, one approval is one call."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import cycle
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from pytest_django.fixtures import Settings

from acl.platform.database_work import retry_on_lost_connection
from acl.platform.redis_circuit import redis_client
from acl.rights.caller_lookup import Caller
from catalog.models import Capability
from discovery.calls import channel, tasks
from discovery.calls.approvals import CannotDecideError, approve_call
from discovery.calls.arguments import digest_of
from discovery.calls.channel import ChannelListener, ListenerThread
from discovery.calls.execution import execute
from discovery.calls.quotas import QuotaExceededError, set_quota
from discovery.calls.state import QUEUE
from discovery.calls.tasks import Listener
from discovery.calls.worker import start_call
from discovery.models import Call
from tests.access.people import People, invite
from tests.calls.conftest import Tool
from tests.factories import UserFactory
from tests.web.conftest import client_with, new_key

pytestmark = pytest.mark.django_db(transaction=True)
TIMES = 20


@pytest.fixture
def people(transactional_db: None) -> People:
    return invite()


@pytest.fixture
def worker(people: People) -> Iterator[list[UUID]]:
    """Run the call listener; yield the calls that it has started."""
    redis_client().delete(QUEUE)
    begun: list[UUID] = []

    def begin(pk: UUID) -> None:
        begun.append(pk)
        start_call(pk)
        connection.close()

    listener = Listener(begin)
    listener.start()
    yield begun
    listener.stop()


def closing(work: Callable[[], Any]) -> Callable[[], Any]:
    def worked() -> Any:
        try:
            return work()
        finally:
            connection.close()

    return worked


def at_once(work: Callable[[], Any]) -> list[Any]:
    gate = threading.Barrier(TIMES)

    def together() -> Any:
        gate.wait()
        return work()

    with ThreadPoolExecutor(TIMES) as threads:
        return [each.result() for each in [threads.submit(closing(together)) for _ in range(TIMES)]]


def test_one_key_is_one_call(
    people: People, tool: Tool, worker: list[UUID], settings: Settings, monkeypatch: Any
) -> None:
    settings.PEGBOARD_CALL_WAIT_SECONDS = 20
    monkeypatch.setattr(channel, "_LONG_POLLS", threading.BoundedSemaphore(TIMES))
    name, key = tool().full_name, new_key(people.support, "execute")
    body = {"user": "alice", "name": name, "arguments": {"text": "hello"}}

    def post(idempotency_key: str = "k1", **more: Any) -> Any:
        client = client_with(key)
        return client.post(
            "/api/v1/execute",
            body | more,
            "application/json",
            headers={"Idempotency-Key": idempotency_key},
        )

    answers = at_once(post)
    other = post(arguments={"text": "another"})
    Call.objects.update(state="running", ended_at=None)
    settings.PEGBOARD_CALL_WAIT_SECONDS = 0
    early, wrong = post(), post("two words")

    assert {(answer.status_code, answer.content) for answer in answers} == {
        (200, answers[0].content)
    }
    assert (
        answers[0].json()["result"]["content"][0]["text"] == "1: hello"
    )  # the server counts its calls
    assert (len(worker), Call.objects.count()) == (1, 1)
    assert (other.status_code, early.status_code, wrong.status_code) == (422, 409, 400)
    assert str(Call.objects.get().pk) in early.json()["detail"]


def test_one_yes_is_one_call(people: People, tool: Tool, worker: list[UUID]) -> None:
    capability = tool()
    Capability.objects.filter(pk=capability.pk).update(ai_access="propose")
    done = execute(caller=people.caller, full_name=capability.full_name, arguments={"text": "x"})
    root = UserFactory.create(is_staff=True)
    call = Call.objects.get(pk=done.call_id)

    def approve() -> str:
        own = Call.objects.get(pk=call.pk)
        try:
            approve_call(by=root, call=own, digest=digest_of(own))
        except CannotDecideError:
            return "late"
        return "approved"

    decisions = Counter(at_once(approve))
    at_once(lambda: start_call(call.pk))
    call = channel.wait_for_end(call, 10)

    assert decisions == {"approved": 1, "late": TIMES - 1}
    assert (call.state, call.attempts) == ("completed", 1)
    assert call.result is not None
    assert call.result["content"][0]["text"] == "1: x"


def test_calls_at_once_do_not_exceed_a_quota(people: People, tool: Tool) -> None:
    name = tool().full_name
    set_quota(by=None, measure="calls", soft=None, hard=7)  # all people together
    set_quota(by=None, measure="calls", soft=None, hard=30, each_person=True)
    callers = cycle([people.caller, Caller(people.bob.pk, people.support.pk)])
    lock = threading.Lock()

    def call() -> str:
        with lock:
            caller = next(callers)
        try:
            execute(caller=caller, full_name=name, arguments={"text": "x"})
        except QuotaExceededError:
            return "refused"
        return "taken"

    assert Counter(at_once(call)) == {"taken": 7, "refused": TIMES - 7}
    assert Call.objects.count() == 7


def test_end_is_heard_of_without_redis_too(people: People, tool: Tool, monkeypatch: Any) -> None:
    done = execute(caller=people.caller, full_name=tool().full_name, arguments={"text": "x"})
    call = Call.objects.get(pk=done.call_id)
    early = channel.wait_for_end(call, 0.1)
    monkeypatch.setattr(channel, "_listen", lambda pk, seconds: False)

    with ThreadPoolExecutor(1) as threads:
        waited = threads.submit(closing(lambda: channel.wait_for_end(call, 20)))
        start_call(call.pk)
        heard = waited.result()

    assert (early.state, heard.state) == ("queued", "completed")


@pytest.mark.parametrize("state", ["queued", "running"])
def test_nobody_waits_for_a_queue_that_redis_does_not_move(
    people: People, tool: Tool, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    done = execute(caller=people.caller, full_name=tool().full_name, arguments={"text": "x"})
    Call.objects.update(state=state)
    waits: list[float] = []

    def wait(call: Call, seconds: float) -> Call:
        waits.append(seconds)
        return call

    monkeypatch.setattr(channel, "_wait", wait)
    monkeypatch.setattr(channel, "redis_circuit", SimpleNamespace(failing=True))

    channel.wait_for_end(Call.objects.get(pk=done.call_id), 20)

    assert sum(waits) == (1 if state == "queued" else 20)


def test_a_connection_that_postgres_has_ended_is_replaced(people: People, tool: Tool) -> None:
    name, hello = tool().full_name, {"text": "hello"}
    pk = UUID(execute(caller=people.caller, full_name=name, arguments=hello).call_id)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        [backend] = cursor.fetchone()
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [backend])
    other.close()

    retry_on_lost_connection(partial(start_call, pk))

    call = channel.wait_for_end(Call.objects.get(pk=pk), 10)
    assert call.state == Call.State.COMPLETED


@pytest.mark.parametrize("kind", ["calls", "requests", "clients"])
def test_a_listener_that_waits_for_long_stops_at_once(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    for module in (channel, tasks):
        # A stop that waited for the end of a read would outlast the test.
        monkeypatch.setattr(module, "LISTEN_SECONDS", 900)
    listener = (
        ChannelListener(lambda _pk, _message: None)
        if kind == "clients"
        else Listener(lambda _pk: None, f"a queue of {kind}")
    )
    listener.start()
    while not _is_blocked(listener):
        assert listener._thread.is_alive()

    listener.stop()

    assert not listener._thread.is_alive()


def _is_blocked(listener: ListenerThread) -> bool:
    """Return True once its connection waits in Redis."""
    if isinstance(listener, ChannelListener):
        return listener.listening.is_set()
    queue = getattr(listener, "_queue", "")
    heard = f"test {queue}"
    redis_client().rpush(queue, heard)
    return not redis_client().lrange(queue, 0, -1)
