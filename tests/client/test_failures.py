"""Failures: raised as exceptions, and retried only if nothing can happen twice."""

import logging
from typing import Any

import httpx
import pytest
from pegboard_client import (
    Conflict,
    InvalidInput,
    NoAnswer,
    NotAllowed,
    NotAuthenticated,
    NotFound,
    NotProcessable,
    Pegboard,
    Problem,
    Retries,
    TooManyRequests,
    Unavailable,
    text_of,
)
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from catalog.models import Capability
from discovery.models import Call, Turn
from tests.access.people import People
from tests.client.conftest import AT_ONCE, Connect, Losing
from tests.web.conftest import new_key

database = pytest.mark.django_db(transaction=True)


@database
@pytest.mark.usefixtures("_worker")
def test_refusals_are_exceptions_with_the_problem(
    people: People, key: str, notes: Capability, settings: Settings, connect: Connect
) -> None:
    pegboard = connect(key)
    turn = pegboard.plan("hello", user="alice")["turn_id"] or ""
    pegboard.outcome(turn, status="failed")
    pegboard.execute("notes__echo", {"text": "a"}, user="alice", idempotency_key="k")

    with pytest.raises(InvalidInput) as invalid:
        pegboard.select("hello", user="alice", max_tools=51)
    with pytest.raises(NotAuthenticated):
        connect("pb_wrong").select("hello")
    with pytest.raises(NotAllowed) as stranger:
        pegboard.select("hello", user="charlie")
    with pytest.raises(NotAllowed):
        connect(new_key(people.support, "select")).execute("notes__echo", {}, user="alice")
    with pytest.raises(NotFound):
        pegboard.capability("payroll__pay", user="alice")
    with pytest.raises(Conflict) as ended:
        pegboard.outcome(turn, score=1)
    with pytest.raises(NotProcessable):
        pegboard.execute("notes__echo", {"text": "b"}, user="alice", idempotency_key="k")
    settings.PEGBOARD_RATE_PER_KEY = 1
    busy = connect(new_key(people.support, "discover"))
    busy.meta_tools()
    with pytest.raises(TooManyRequests) as many:
        busy.meta_tools()

    problem = invalid.value
    assert (problem.status, problem.field) == (400, "max_tools")
    assert problem.type == "urn:pegboard:problem:invalid-input"
    assert (problem.errors[0].field, problem.errors[0].reason) == (
        "max_tools", "Ensure this value is less than or equal to 50.",
    )  # fmt: skip
    assert problem.request_id
    assert problem.request_id in str(problem)
    assert problem.detail in str(problem)
    assert "errored" in ended.value.detail or "failed" in ended.value.detail
    assert (stranger.value.errors, stranger.value.field) == ((), None)
    assert many.value.retry_after is not None
    assert Turn.objects.count() == 1


@database
@pytest.mark.usefixtures("_worker")
def test_lost_answer_is_asked_for_again_and_nothing_is_done_twice(
    key: str, notes: Capability, ledger: Capability, live_server: LiveServer
) -> None:
    with Pegboard(live_server.url, key, retries=AT_ONCE, transport=Losing(1)) as pegboard:
        call = pegboard.execute("notes__echo", {"text": "once"}, user="alice")
    with Pegboard(live_server.url, key, retries=AT_ONCE, transport=Losing(1)) as pegboard:
        asked = pegboard.execute("ledger__echo", {"text": "once"}, user="alice")
    with Pegboard(live_server.url, key, retries=AT_ONCE, transport=Losing(3)) as pegboard:
        with pytest.raises(NoAnswer, match="POST /api/v1/plan"):
            pegboard.plan("hello", user="alice")
        turn = pegboard.plan("hello", user="alice")["turn_id"] or ""
    losing = Losing(1)
    with Pegboard(live_server.url, key, retries=AT_ONCE, transport=losing) as pegboard:
        with pytest.raises(NoAnswer):
            pegboard.outcome(turn, status="success")
        with pytest.raises(Conflict):
            pegboard.outcome(turn, status="success")

    assert text_of(call) == "1: once"
    assert asked["status"] == "approval_needed"
    assert Call.objects.count() == 2
    assert losing.asked == [f"POST /api/v1/turns/{turn}/outcome"] * 2


def answering(*statuses: int, **headers: str) -> tuple[httpx.MockTransport, list[str]]:
    """Return a transport with these answers, like a proxy before a restarting Pegboard."""
    left, asked = list(statuses), list[str]()

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        return httpx.Response(left.pop(0), headers=headers, json={})

    return httpx.MockTransport(answer), asked


@pytest.mark.parametrize(
    ("statuses", "headers", "call", "times", "error"),
    [
        ((503, 502, 200), {}, "plan", 3, None),
        ((503, 503, 503), {}, "plan", 3, Unavailable),
        ((503,), {}, "outcome", 1, Unavailable),
        ((500,), {}, "plan", 1, Problem),
        ((302,), {"Location": "http://elsewhere.example/"}, "plan", 1, Problem),
        ((429, 200), {"Retry-After": "0"}, "outcome", 2, None),
        ((429,), {"Retry-After": "60"}, "plan", 1, TooManyRequests),
        ((401,), {}, "plan", 1, NotAuthenticated),
    ],
)
def test_what_is_tried_again(
    statuses: tuple[int, ...],
    headers: dict[str, str],
    call: str,
    times: int,
    error: type[Problem] | None,
) -> None:
    transport, asked = answering(*statuses, **headers)
    with Pegboard("http://pegboard.example", "pb_1", retries=AT_ONCE, transport=transport) as it:
        ask: Any = getattr(it, call)
        if error:
            with pytest.raises(error) as raised:
                ask("x")
            assert raised.value.status == statuses[-1]
        else:
            ask("x")

    assert len(asked) == times


def test_pauses_grow_are_bounded_and_obey_the_server() -> None:
    from pegboard_client.api_request import plan

    retries, ask = Retries(times=6, first_pause=1, longest_pause=8), plan("x", {})
    away = Unavailable(503, {}, None)

    pauses = [retries.pause_after(away, ask, tried) or 0 for tried in range(1, 7)]

    for pause, most in zip(pauses, [1, 2, 4, 8, 8, 8], strict=True):
        assert most / 2 <= pause <= most
    assert retries.pause_after(away, ask, 7) is None
    assert retries.pause_after(Unavailable(503, {}, 3), ask, 1) == 3
    assert retries.pause_after(Unavailable(503, {}, 9), ask, 1) is None


def test_patience_is_counted_for_each_status() -> None:
    from pegboard_client.wait_limits import WaitLimits

    now = [0.0]
    patience = WaitLimits({"running": 30, "approval_needed": 5}, clock=lambda: now[0])

    looks = []
    for at, status in [(0, "approval_needed"), (4, "approval_needed"), (9, "running"),
                       (34, "running"), (39, "running"), (39, "completed")]:  # fmt: skip
        now[0] = at
        looks.append(patience.next_wait(status))  # type: ignore[arg-type]

    assert looks == [5, 1, 20, 5, 0, 0]


def test_requests_take_so_long_and_what_pegboard_waits() -> None:
    asked: dict[str, dict[str, float]] = {}

    def answer(request: httpx.Request) -> httpx.Response:
        asked[request.url.path] = request.extensions["timeout"]
        return httpx.Response(200, json={"status": "completed", "call_id": "c"})

    transport = httpx.MockTransport(answer)
    with Pegboard("http://pegboard.example/", "pb_1", timeout=10, transport=transport) as pegboard:
        pegboard.plan("hello")
        pegboard.execute("notes__echo")
        pegboard.call("c", wait=20)

    assert {path: timeout["read"] for path, timeout in asked.items()} == {
        "/api/v1/plan": 10,
        "/api/v1/execute": 70,
        "/api/v1/calls/c": 30,
    }
    assert {timeout["connect"] for timeout in asked.values()} == {5}


def test_nobody_there_is_told_without_the_key(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with Pegboard("http://127.0.0.1:9", "pb_canary", retries=AT_ONCE) as pegboard:
        with pytest.raises(NoAnswer) as raised:
            pegboard.plan("hello")
        told = f"{raised.value!r} {raised.value.__cause__!r} {pegboard!r} {pegboard.__dict__}"
    with pytest.raises(ValueError, match="visible ASCII") as refused:
        Pegboard("http://127.0.0.1:9", "pb_canary\nX-Other: 1")

    assert caplog.text
    assert "canary" not in f"{told} {refused.value!r} {caplog.text}"
