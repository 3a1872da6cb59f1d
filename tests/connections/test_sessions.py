"""Sessions and requests that share a connection: lost, refused, and answered as tasks."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.servers.client.mcp_session import Session, ToolResult
from catalog.servers.client.server_problems import Reason, ServerProblemError, failure_class
from catalog.servers.client.targets import DEFAULT_LIMITS, HttpServer, StdioServer
from catalog.servers.connections._session_pool import ConnectionPool
from tests.connections.evil_server import text_of
from tests.connections.http_limits import LOOPBACK, QUICK, in_pool
from tests.connections.scripted import Message, Reply, ScriptedServer, error, scripted_server
from tests.examples import EXAMPLES
from tests.mcp.node_client import FOLDER, NODE, SDK


def plain(text: str, status: int) -> Callable[[Message], Reply]:
    return lambda message: Reply(status, text.encode(), "text/plain")


# Ways in which servers say that they do not know a session.
WAYS: dict[str, Callable[[Message], Reply]] = {
    "as the specification says": lambda message: Reply(404),
    "404 with a code of time-outs": lambda message: error(
        message, -32001, "Session not found", 404
    ),
    "404 as an invalid request": lambda message: error(message, -32600, "Session not found", 404),
    "404 with a page": plain("<html>Not Found</html>", 404),
    "400 without a valid session": lambda message: error(
        message, -32000, "Bad Request: No valid session ID provided", 400
    ),
    "400 in text": plain("Bad Request: Session abc-1 does not exist", 400),
    "410": plain("session expired", 410),
    "an error in an answer": lambda message: error(message, -32001, "Session terminated"),
    "an invalid request in an answer": lambda message: error(message, -32600, "Unknown session id"),
    "another version": lambda message: error(message, -32022, "Unsupported protocol version"),
}


class Restarted:
    """The script of a restarted server: its earlier sessions are forgotten."""

    def __init__(self, way: Callable[[Message], Reply]) -> None:
        self.way = way
        self.forgotten: list[str] = []

    def __call__(self, server: ScriptedServer, message: Message) -> Reply | None:
        is_request = "id" in message and message["method"] != "initialize"
        return self.way(message) if is_request and server.session in self.forgotten else None


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_call_after_a_restart_is_made_once_in_a_new_session(
    way: Callable[[Message], Reply],
) -> None:
    script = Restarted(way)

    async def ask(connections: ConnectionPool) -> list[ToolResult]:
        target = HttpServer(server.url)
        answers = []
        for number in range(4):
            answers.append(await connections.call("a", target, "echo", {"number": number}))
            script.forgotten += server.sessions
        return answers

    with scripted_server(script) as server:
        answers = in_pool(ask)

    assert [answer.content[0]["text"] for answer in answers] == ["done"] * 4
    assert server.calls == [{"number": number} for number in range(4)]
    assert len(server.sessions) == 4


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_server_that_keeps_no_session_is_not_asked_for_ever(
    way: Callable[[Message], Reply],
) -> None:
    def script(server: ScriptedServer, message: Message) -> Reply | None:
        return way(message) if message.get("method") == "tools/call" else None

    with scripted_server(script) as server, pytest.raises(ServerProblemError) as problem:
        in_pool(lambda connections: connections.call("a", HttpServer(server.url), "echo", {}))

    assert problem.value.reason is Reason.STOPPED
    assert not problem.value.sent
    assert server.asked.count("tools/call") <= 2


def test_other_calls_of_the_lost_session_go_on() -> None:
    script = Restarted(WAYS["as the specification says"])
    released = asyncio.Event()

    def slow(server: ScriptedServer, message: Message) -> Reply | None:
        if message.get("method") == "tools/call" and message["params"]["arguments"].get("slow"):
            asyncio.run_coroutine_threadsafe(_wait(released), loop[0]).result(10)
            return None  # a replica that still knows the session
        return script(server, message)

    loop: list[asyncio.AbstractEventLoop] = []

    async def ask(connections: ConnectionPool) -> list[ToolResult]:
        loop.append(asyncio.get_running_loop())
        target = HttpServer(server.url)
        await connections.call("a", target, "echo", {})
        running = asyncio.create_task(connections.call("a", target, "echo", {"slow": True}))
        while server.asked.count("tools/call") < 2:
            await asyncio.sleep(0.01)
        script.forgotten += server.sessions
        other = await connections.call("a", target, "echo", {})
        released.set()
        return [other, await running]

    with scripted_server(slow) as server:
        answers = in_pool(ask)

    assert [answer.content[0]["text"] for answer in answers] == ["done", "done"]


async def _wait(event: asyncio.Event) -> None:
    await event.wait()


def test_error_of_a_tool_that_speaks_of_a_session_is_the_tools() -> None:
    def script(server: ScriptedServer, message: Message) -> Reply | None:
        if message.get("method") != "tools/call":
            return None
        server.calls.append({})
        return error(message, -32603, "Browser session closed while the page was sent")

    with scripted_server(script) as server, pytest.raises(ServerProblemError) as problem:
        in_pool(lambda connections: connections.call("a", HttpServer(server.url), "echo", {}))

    assert (problem.value.reason, problem.value.sent) == (Reason.REFUSED, True)
    assert len(server.calls) == 1


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


def test_task_is_polled_read_and_cancelled_at_the_calls_limit() -> None:
    if not SDK.is_dir():
        pytest.skip("npm could not fetch its server: run `make install-tests` with a registry")

    async def run() -> None:
        server = StdioServer((str(NODE), str(FOLDER / "task_server.mjs")), {})
        session = Session(server, limits=replace(DEFAULT_LIMITS, connect_seconds=60))
        await session.open()
        try:
            computed = await session.call("compute", {})
            failed = await session.call("fail", {})
            with pytest.raises(ServerProblemError) as given_up:
                await session.call("never", {}, seconds=3)
            statuses = await session.call("statuses", {})  # which is no task
        finally:
            await session.close()

        assert (text_of(computed), computed.is_error) == ("computed", False)
        assert (text_of(failed), failed.is_error) == ("failed", True)
        assert (given_up.value.reason, given_up.value.sent) == (Reason.NO_ANSWER, True)
        assert text_of(statuses) == "completed failed cancelled"

    asyncio.run(run())
