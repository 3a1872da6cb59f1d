"""Sessions that a server has forgotten are begun anew, and no call is made twice."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from catalog.servers.client.mcp_session import ToolResult
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.client.targets import HttpServer
from catalog.servers.connections._session_pool import ConnectionPool
from catalog.servers.net.address_check import AllowedHosts
from tests.connections.http_limits import QUICK
from tests.connections.scripted import Message, Reply, ScriptedServer, error, scripted_server

LOOPBACK = AllowedHosts.of([("127.0.0.1", None)])


def in_pool(ask: Callable[[ConnectionPool], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        connections = ConnectionPool(limits=QUICK, allowed=LOOPBACK)
        try:
            return await ask(connections)
        finally:
            await connections.close_all()

    return asyncio.run(run())


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
