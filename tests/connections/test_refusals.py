"""Refusals of requests that share a connection: each is that request's, and nobody else's."""

import asyncio
import time
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.servers.client.failure_classes import failure_class
from catalog.servers.client.mcp_session import ToolResult
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.client.targets import HttpServer
from catalog.servers.connections._session_pool import ConnectionPool
from catalog.servers.net.address_check import AllowedHosts
from tests.connections.http_limits import QUICK
from tests.connections.scripted import Message, Reply, ScriptedServer, error, scripted_server
from tests.examples import EXAMPLES

LOOPBACK = AllowedHosts.of([("127.0.0.1", None)])
EXPECTED = {
    "401": Reason.SIGN_IN_NEEDED,
    "403": Reason.NOT_PERMITTED,
    "429": Reason.RATE_LIMITED,
    "502": Reason.NOT_REACHABLE,
    "error": Reason.REFUSED,
    "500": Reason.REFUSED,
    "forgets": Reason.STOPPED,
    "fine": None,
}


def _script(server: ScriptedServer, message: Message) -> Reply | None:
    if message.get("method") != "tools/call":
        return None
    kind = message["params"]["arguments"]["kind"]
    time.sleep(message["params"]["arguments"]["wait"])
    if kind == "error":
        return error(message, -32000, "No such row.")
    if kind == "forgets":
        return Reply(404)
    return Reply(int(kind), b"no", "text/plain") if kind.isdigit() else None


async def _reason(pool: ConnectionPool, url: str, kind: str, wait: float) -> Reason | None:
    try:
        result = await pool.call("1/all", HttpServer(url), "echo", {"kind": kind, "wait": wait})
    except ServerProblemError as problem:
        return problem.reason
    assert isinstance(result, ToolResult)
    return None


@settings(max_examples=EXAMPLES, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_calls_at_once_are_each_told_what_their_own_request_met(seed: int) -> None:
    random = Random(seed)
    kinds = random.choices([one for one in EXPECTED if one != "forgets"], k=8)
    kinds += ["forgets"] if random.random() < 0.3 else []
    waits = [random.random() * 0.1 for _ in kinds]

    async def run(url: str) -> list[Reason | None]:
        pool = ConnectionPool(limits=QUICK, allowed=LOOPBACK)
        try:
            assert await _reason(pool, url, "fine", 0) is None
            calls = (_reason(pool, url, *call) for call in zip(kinds, waits, strict=True))
            return await asyncio.gather(*calls)
        finally:
            await pool.close_all()

    with scripted_server(_script) as server:
        reasons = asyncio.run(run(server.url))

    assert reasons == [EXPECTED[kind] for kind in kinds]


def test_a_tool_that_is_not_permitted_is_no_matter_of_the_integration() -> None:
    failure = failure_class(Reason.NOT_PERMITTED)

    assert not failure.of_call
    assert not failure.counts


@pytest.mark.parametrize("method", ["initialize", "tools/list"])
@pytest.mark.parametrize("status", [401, 403])
def test_a_credential_that_is_refused_for_everything_asks_for_a_sign_in(
    method: str, status: int
) -> None:
    def script(server: ScriptedServer, message: Message) -> Reply | None:
        first = ("server/discover", "initialize") if method == "initialize" else (method,)
        return Reply(status, b"no", "text/plain") if message.get("method") in first else None

    async def run(url: str) -> None:
        pool = ConnectionPool(limits=QUICK, allowed=LOOPBACK)
        try:
            await pool.tools("1/all", HttpServer(url))
        finally:
            await pool.close_all()

    with scripted_server(script) as server, pytest.raises(ServerProblemError) as problem:
        asyncio.run(run(server.url))

    assert problem.value.reason is Reason.SIGN_IN_NEEDED
