"""A server's 429, or 503 with an end, holds for the next calls by the same credential."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.formats.readers.openapi import read_api
from catalog.servers.client.conversation import SILENT
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.client.targets import ApiServer, HttpServer
from catalog.servers.connections._policy import Policy
from catalog.servers.connections._session_pool import ConnectionPool
from catalog.servers.connections.server_requests import _call_with_retry
from tests.connections.http_limits import LOOPBACK, QUICK
from tests.connections.scripted import Message, Reply, ScriptedServer, scripted_server
from tests.examples import EXAMPLES
from tests.openapi.calls import SECRETS
from tests.openapi.documents import library
from tests.openapi.mock import Answer, mock_api

KEYS = ("1/all", "1/7", "1/8", "2/all")  # an integration, and who has secrets of their own at it
LANES = ("", "/elicitation", "/roots#2")


class Limiter:
    """Script of a server with limits per credential; `sent` has the callers that reached it."""

    def __init__(self, *methods: str) -> None:
        self.methods = methods or ("tools/call",)
        self.limited: dict[str, str | None] = {}
        self.sent: list[str] = []
        self.sent_at: list[float] = []
        self.status = 429

    def __call__(self, server: ScriptedServer, message: Message) -> Reply | None:
        caller = server.headers.get("authorization", "")
        if message.get("method") not in self.methods:
            return None
        self.sent.append(caller)
        self.sent_at.append(time.monotonic())
        if caller not in self.limited:
            return None
        wait = self.limited[caller]
        return Reply(self.status, b"slow down", "text/plain", {"Retry-After": wait} if wait else {})


def in_pool(ask: Callable[[ConnectionPool], Awaitable[Any]], **policy: float) -> Any:
    async def run() -> Any:
        pool = ConnectionPool(policy=Policy(**policy), limits=QUICK, allowed=LOOPBACK)  # type: ignore[arg-type]
        try:
            return await ask(pool)
        finally:
            await pool.close_all()

    return asyncio.run(run())


async def problem_of(asked: Awaitable[Any]) -> ServerProblemError | None:
    try:
        await asked
    except ServerProblemError as problem:
        return problem
    return None


def target(server: ScriptedServer, credential: str) -> HttpServer:
    return HttpServer(server.url, {"authorization": credential})


async def calls_at(
    pool: ConnectionPool, server: ScriptedServer, limiter: Limiter, *, caller: str, seconds: float
) -> AsyncIterator[ServerProblemError | None]:
    """Call again and again; a call is sent exactly if the limit of `seconds` is over.

    A limit begins somewhere between the beginning and the end of the call that met it, however
    long that took on a busy machine.
    """
    began, ended = float("-inf"), float("-inf")
    while True:
        number, begins = limiter.sent.count(caller), time.monotonic()
        problem = await problem_of(pool.call("1/all", target(server, caller), "echo", {}))
        if limiter.sent.count(caller) > number:
            assert time.monotonic() >= began + seconds
            began, ended = begins, time.monotonic()
        else:
            assert begins < ended + seconds
        yield problem
        await asyncio.sleep(0.02)


@settings(max_examples=EXAMPLES, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_limit_of_one_credential_holds_for_its_calls_and_for_nobody_elses(seed: int) -> None:
    random, limiter = Random(seed), Limiter()
    credentials = {key: f"{key} {random.random()}" for key in KEYS}
    waits = {key: random.choice([None, "30", "90", "100000"]) for key in KEYS}
    blocked: set[str] = set()
    began = time.monotonic()
    limiter.status = random.choice([429, 503])
    reason = Reason.RATE_LIMITED if limiter.status == 429 else Reason.ASKS_TO_WAIT

    async def ask(pool: ConnectionPool) -> None:
        for _ in range(12):
            key = random.choice(KEYS)
            caller, wait = credentials[key], waits[key]
            if wait is not None and random.random() < 0.3:
                limiter.limited[caller] = wait
            sent = len(limiter.sent)
            lane = key + random.choice(LANES)
            problem = await problem_of(pool.call(lane, target(server, caller), "echo", {}))
            if caller in limiter.limited:
                assert problem is not None
                assert problem.reason is reason
                assert problem.retry_after is not None
                assert wait is not None
                passed = time.monotonic() - began
                longest = Policy().longest_limit
                assert min(float(wait), longest) - passed <= problem.retry_after <= float(wait)
                assert "again in" in problem.detail
            else:
                assert problem is None
            assert len(limiter.sent) - sent == (key not in blocked)
            blocked.update({key} if caller in limiter.limited else ())

    with scripted_server(limiter) as server:
        in_pool(ask)


def test_calls_go_on_when_the_wait_is_over_and_a_new_credential_never_waits() -> None:
    limiter = Limiter()
    limiter.limited["old"] = "1"

    async def ask(pool: ConnectionPool) -> list[bool]:
        limited: list[bool] = []
        async for problem in calls_at(pool, server, limiter, caller="old", seconds=1):
            if not limited:
                limiter.limited.clear()
                new = pool.call("1/all", target(server, "new"), "echo", {})
                assert await problem_of(new) is None
            limited.append(problem is not None)
            if problem is None:
                break
        return limited

    with scripted_server(limiter) as server:
        first, *_, last = in_pool(ask)
    assert (first, last) == (True, False)
    assert limiter.sent == ["old", "new", "old"]


@pytest.mark.parametrize("said", ["999999999", "Fri, 31 Dec 2200 23:59:59 GMT"])
def test_limit_is_remembered_for_a_bounded_time(said: str | None) -> None:
    limiter = Limiter()
    limiter.limited["me"] = said

    async def ask(pool: ConnectionPool) -> None:
        async for problem in calls_at(pool, server, limiter, caller="me", seconds=0.3):
            assert problem is not None
            if len(limiter.sent) == 3:
                break

    with scripted_server(limiter) as server:
        in_pool(ask, longest_limit=0.3)
    assert Policy().longest_limit <= 600


@pytest.mark.parametrize("said", [None, "soon", "-5"])
def test_limit_without_a_time_holds_back_the_next_call_for_a_moment(said: str | None) -> None:
    limiter = Limiter()
    limiter.limited["me"] = said

    async def ask(pool: ConnectionPool) -> None:
        for _ in range(3):
            problem = await problem_of(pool.call("1/all", target(server, "me"), "echo", {}))
            assert problem is not None
            assert problem.retry_after is None

    with scripted_server(limiter) as server:
        in_pool(ask, unsaid_limit=0.3)
    assert len(limiter.sent) == 3
    assert all(0.3 <= later - at < 2 for at, later in pairwise(limiter.sent_at))
    assert Policy().unsaid_limit <= 1


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("method", ["initialize", "tools/list"])
def test_limit_is_met_by_opening_and_by_listing_too(method: str, status: int) -> None:
    limiter = Limiter(*({"server/discover", "initialize"} if method == "initialize" else {method}))
    limiter.status = status
    limiter.limited["me"] = "60"

    async def ask(pool: ConnectionPool) -> list[ServerProblemError | None]:
        mine = target(server, "me")
        requests: list[Callable[[], Coroutine[Any, Any, Any]]] = [
            lambda: pool.tools("1/all", mine),
            lambda: pool.call("1/all", mine, "echo", {}),
            lambda: pool.request("1/all", mine, "resources/list", {}, seconds=5),
            lambda: pool.watch("1/all", mine, frozenset(), print, lambda: None),
        ]
        return [await problem_of(asyncio.wait_for(request(), 10)) for request in requests]

    with scripted_server(limiter) as server:
        problems = in_pool(ask)
    reason = Reason.RATE_LIMITED if status == 429 else Reason.ASKS_TO_WAIT
    assert [problem and problem.reason for problem in problems] == [reason] * 4
    assert all(problem.retry_after > 50 for problem in problems)
    assert len(set(limiter.sent)) == 1
    assert server.asked.count(method) <= 1


def test_call_that_meets_a_limit_waits_for_it_and_those_after_it_are_told_at_once() -> None:
    limiter = Limiter()
    limiter.limited["me"] = "2"

    async def ask(pool: ConnectionPool) -> tuple[ServerProblemError | None, float]:
        mine = target(server, "me")

        def call() -> Coroutine[Any, Any, Any]:
            return _call_with_retry(pool, "1/all", mine, "echo", {}, 5, 0, None, SILENT)

        first: asyncio.Task[Any] = asyncio.create_task(call())
        while not pool._rate_limits._limits:
            await asyncio.sleep(0.01)
        limiter.limited.clear()
        began = time.monotonic()
        problem = await problem_of(call())
        took = time.monotonic() - began
        assert not first.done()
        await first
        return problem, took

    with scripted_server(limiter) as server:
        problem, took = in_pool(ask)
    assert problem is not None
    assert problem.reason is Reason.RATE_LIMITED
    assert took < 0.5
    assert len(limiter.sent) == 2


def test_limit_of_an_operation_is_that_operations() -> None:
    async def ask(pool: ConnectionPool) -> list[bool]:
        document = read_api(api.raw, file="api", address=api.url)
        mine = ApiServer(api.url, document.integration.source_ref["security"], SECRETS)
        sending = {one.name: one.tool["annotations"]["http"] for one in document.operations}
        limited = []
        for name in ("list_books", "list_books", "list_books", "opening_hours_get"):
            asked = pool.call("1/all", mine, name, {}, sending=sending[name])
            limited.append(await problem_of(asked) is not None)
        return limited

    with mock_api(library(servers=[{"url": "/"}])) as api:
        api.answers = [Answer(429, headers={"Retry-After": "60"})]
        assert in_pool(ask) == [True, True, True, False]
        assert len(api.asked) == 2
