"""The transport of 2024: a message that its server refuses is answered at once."""

import asyncio
import time
from contextlib import suppress
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.servers.client.mcp_session import ToolResult
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.client.targets import HttpServer
from catalog.servers.connections._session_pool import ConnectionPool
from catalog.servers.net.address_check import AllowedHosts
from tests.connections.http_limits import QUICK
from tests.connections.scripted import Reply, ScriptedServer, scripted_server
from tests.connections.sse_server import Message, sse_server

LOOPBACK = AllowedHosts.of([("127.0.0.1", None)])
# The connection closed before the answer, and redirects elsewhere, among them.
EXPECTED = {
    0: Reason.NOT_REACHABLE,
    302: Reason.REFUSED,
    400: Reason.REFUSED,
    401: Reason.SIGN_IN_NEEDED,
    403: Reason.NOT_PERMITTED,
    429: Reason.RATE_LIMITED,
    500: Reason.REFUSED,
    503: Reason.NOT_REACHABLE,
    202: None,
}


async def ask(pool: ConnectionPool, url: str, status: int, key: str) -> Reason | None:
    try:
        target = HttpServer(url, transport="sse")
        await pool.call(key, target, "echo", {"status": status}, seconds=4)
    except ServerProblemError as problem:
        return problem.reason
    return None


def by_arguments(message: Message) -> tuple[int, dict[str, str]] | None:
    if message["method"] != "tools/call":
        return None
    status = message["params"]["arguments"]["status"]
    return status, {"Location": "http://127.0.0.2/elsewhere"} if status == 302 else {}


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_refused_messages_are_answered_at_once_and_others_go_on(seed: int) -> None:
    random = Random(seed)
    statuses = random.choices(list(EXPECTED), k=8)

    async def run(url: str) -> list[Reason | None]:
        pool = ConnectionPool(limits=QUICK, allowed=LOOPBACK)
        try:
            return [
                # A key for each 429, so that its wait holds nobody.
                await ask(pool, url, status, "1/all" if status != 429 else f"{place}/all")
                for place, status in enumerate(statuses, 2)
            ]
        finally:
            await pool.close_all()

    with sse_server(by_arguments) as server:
        began = time.monotonic()
        reasons = asyncio.run(run(server.url))
        took = time.monotonic() - began

    assert reasons == [EXPECTED[status] for status in statuses]
    assert took < 3
    assert len(server.opened_at) == 1 + statuses.count(429)


@pytest.mark.parametrize("status", [404])
def test_session_that_the_server_forgot_is_begun_anew(status: int) -> None:
    forgotten = [status]

    def script(message: Message) -> tuple[int, dict[str, str]] | None:
        is_call = message["method"] == "tools/call"
        return (forgotten.pop(), {}) if is_call and forgotten else None

    async def run(url: str) -> ToolResult:
        pool = ConnectionPool(limits=QUICK, allowed=LOOPBACK)
        target = HttpServer(url, transport="sse")
        try:
            await pool.tools("1/all", target)
            return await pool.call("1/all", target, "echo", {})
        finally:
            await pool.close_all()

    with sse_server(script) as server:
        result = asyncio.run(run(server.url))

    assert result.content[0]["text"] == "done"
    assert server.calls == 1
    assert len(server.opened_at) == 2


@pytest.mark.parametrize("status", [401, 404, 500])
def test_refused_handshake_ends_at_once(status: int) -> None:
    async def run(url: str) -> None:
        pool = ConnectionPool(limits=QUICK, allowed=LOOPBACK)
        try:
            await pool.tools("1/all", HttpServer(url, transport="sse"))
        finally:
            await pool.close_all()

    began = time.monotonic()
    with (
        sse_server(lambda message: (status, {})) as server,
        pytest.raises(ServerProblemError) as problem,
    ):
        asyncio.run(run(server.url))

    assert time.monotonic() - began < 3
    expected = Reason.SIGN_IN_NEEDED if status == 401 else Reason.REFUSED
    assert problem.value.reason is expected


@pytest.mark.parametrize("retry", ["0", "-1", "99999999999", "soon"])
@pytest.mark.parametrize("begun_by", ["GET", "POST"])
def test_streams_that_end_at_once_are_opened_again_ever_more_slowly(
    retry: str, begun_by: str
) -> None:
    ends = Reply(200, f"id: 1\nretry: {retry}\ndata: \n\n".encode(), "text/event-stream")

    def script(server: ScriptedServer, message: Message) -> Reply | None:
        server.stream = ends
        is_call = message.get("method") == "tools/call"
        return ends if is_call and begun_by == "POST" else None

    async def run(url: str) -> None:
        pool = ConnectionPool(limits=QUICK, allowed=LOOPBACK)
        try:
            await pool.tools("1/all", HttpServer(url))
            if begun_by == "POST":
                with suppress(ServerProblemError):
                    await pool.call("1/all", HttpServer(url), "echo", {}, seconds=4)
            else:
                await asyncio.sleep(4)
        finally:
            await pool.close_all()

    with scripted_server(script) as server:
        asyncio.run(run(server.url))

    pauses = [later - at for at, later in pairwise(server.opened_at)]
    assert 1 <= len(pauses) <= 3  # after 1, 2 and 4 seconds, of all streams together
    assert all(pause >= 0.8 * 2**place for place, pause in enumerate(pauses)), pauses
