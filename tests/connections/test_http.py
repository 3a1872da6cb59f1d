"""Servers over HTTP: all three transports, and all their misbehaviour."""

import asyncio
import contextlib
import json
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from http.server import ThreadingHTTPServer
from itertools import pairwise
from queue import Empty, Queue
from random import Random
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.servers.client import http_transport
from catalog.servers.client.mcp_session import Session, ToolResult
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.client.targets import HttpServer, ServerLimits
from catalog.servers.connections._session_pool import ConnectionPool
from catalog.servers.net.address_check import AllowedHosts
from tests.connections.addresses import EvilServer, evil_server, fine_server
from tests.connections.http_limits import LOOPBACK, QUICK
from tests.connections.scripted import Reply, ScriptedServer, scripted_server
from tests.local_servers import Handler, running

Message = dict[str, Any]
# A status and headers for a message, a closed connection for 0, or None for an ordinary answer.
Script = Callable[[Message], tuple[int, dict[str, str]] | None]


class SseServer(ThreadingHTTPServer):
    """A server with a `script`. `opened_at` has the moments at which streams were opened."""

    daemon_threads = True

    def __init__(self, script: Script) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script
        self.streams: dict[str, Queue[Message]] = {}
        self.opened_at: list[float] = []
        self.calls = 0
        self.ends = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/sse"


class _Handler(Handler):
    protocol_version = "HTTP/1.1"
    server: SseServer

    def do_GET(self) -> None:
        self.server.opened_at.append(time.monotonic())
        session = str(len(self.server.opened_at))
        answers = self.server.streams[session] = Queue()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self._tell("endpoint", f"/messages?session_id={session}")
        while not self.server.ends.is_set():
            try:
                self._tell("message", json.dumps(answers.get(timeout=0.05)))
            except Empty:
                continue
            except OSError:
                return

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, headers = self.server.script(message) or (202, {})
        if status == 0:
            self.close_connection = True
            return
        if status == 202 and "id" in message:
            session = self.path.partition("session_id=")[2]
            self.server.streams[session].put(self._answer(message))
        self.send_response(status)
        for name, value in {"Content-Length": "0", **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def _answer(self, message: Message) -> Message:
        about = {"name": "events", "version": "1"}
        content: Message = {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}
        if message["method"] == "initialize":
            version = message["params"]["protocolVersion"]
            content = {"protocolVersion": version, "capabilities": {"tools": {}}}
            content["serverInfo"] = about
        elif message["method"] == "tools/call":
            self.server.calls += 1
            content = {"content": [{"type": "text", "text": "done"}]}
        return {"jsonrpc": "2.0", "id": message["id"], "result": content}

    def _tell(self, event: str, data: str) -> None:
        self.wfile.write(f"event: {event}\ndata: {data}\n\n".encode())
        self.wfile.flush()


@contextmanager
def sse_server(script: Script) -> Iterator[SseServer]:
    """Run a server until the block ends."""
    with running(SseServer(script)) as server:
        try:
            yield server
        finally:
            server.ends.set()


Ask = Callable[[Session], Awaitable[Any]]


@pytest.fixture(scope="module")
def evil() -> Iterator[EvilServer]:
    with evil_server() as server:
        yield server


def with_session(
    server: HttpServer, ask: Ask, limits: ServerLimits = QUICK, allowed: AllowedHosts = LOOPBACK
) -> Any:
    async def run() -> Any:
        session = Session(server, limits=limits, allowed=allowed)
        try:
            await session.open()
            return await ask(session)
        finally:
            await session.close()

    return asyncio.run(run())


@pytest.mark.parametrize(("transport", "protocol"), [("http", "2026-07-28"), ("sse", "2025-11-25")])
def test_speaks_with_servers_of_the_sdk(transport: Literal["http", "sse"], protocol: str) -> None:
    async def ask(session: Session) -> None:
        tools = await session.tools()
        sums = [await session.call("add", {"first": 2, "second": n}) for n in (3, 4)]
        wrong = await session.call("add", {"first": "x"})
        unknown = await session.call("no such tool", {})

        assert session.protocol == protocol
        assert {tool["name"] for tool in tools.tools} == {"add", "headers"}
        assert [result.structured for result in sums] == [{"result": 5}, {"result": 6}]
        assert wrong.is_error
        assert unknown.is_error

    with fine_server(transport) as url:
        with_session(HttpServer(url, transport=transport), ask)


def test_watches_of_many_leave_room_for_calls() -> None:
    async def watch_and_call(session: Session) -> ToolResult:
        agreements = [asyncio.Event() for _ in range(30)]
        watches = [
            asyncio.create_task(session.watch(frozenset({"test://a"}), lambda *_: None, event.set))
            for event in agreements
        ]
        try:
            for event in agreements:
                await asyncio.wait_for(event.wait(), 30)
            return await session.call("add", {"first": 1, "second": 2})
        finally:
            for watch in watches:
                watch.cancel()

    with fine_server() as url:
        result = with_session(HttpServer(url), watch_and_call)

    assert result.structured == {"result": 3}


def test_each_server_gets_its_own_headers_and_no_others(evil: EvilServer) -> None:
    async def ask(session: Session) -> Any:
        return (await session.call("headers", {})).structured

    with fine_server() as url:
        told = with_session(HttpServer(url, {"Authorization": "Bearer first"}), ask)
    evil.asked.clear()
    with_session(
        HttpServer(f"http://127.0.0.1:{evil.server_port}/fine"), lambda session: session.tools()
    )

    assert told["authorization"] == "Bearer first"
    assert "cookie" not in told
    assert [headers for _, headers in evil.asked if "Authorization" in headers] == []


@pytest.mark.parametrize(
    ("mode", "limits", "reason", "sent"),
    [
        ("silent", replace(QUICK, connect_seconds=0.4), Reason.NO_ANSWER, False),
        ("hang_at_call", replace(QUICK, call_seconds=0.3), Reason.NO_ANSWER, True),
        ("crash", QUICK, Reason.NOT_REACHABLE, True),
        ("drip", replace(QUICK, call_seconds=0.3), Reason.NO_ANSWER, True),
        ("garbage", QUICK, Reason.WRONG_ANSWER, True),
        ("page", QUICK, Reason.WRONG_ANSWER, True),
        ("huge", QUICK, Reason.TOO_LARGE, True),
        ("flood", QUICK, Reason.FLOODING, True),
        ("locked", QUICK, Reason.SIGN_IN_NEEDED, False),
        ("loop", QUICK, Reason.REFUSED, False),
    ],
)
def test_evil_server_is_told_apart(
    evil: EvilServer, mode: str, limits: ServerLimits, reason: Reason, sent: bool
) -> None:
    server = HttpServer(f"http://127.0.0.1:{evil.server_port}/{mode}")

    with pytest.raises(ServerProblemError) as problem:
        with_session(server, lambda session: session.call("echo", {}), limits)

    assert (problem.value.reason, problem.value.sent) == (reason, sent)


def test_flapping_server_answers_in_between(evil: EvilServer) -> None:
    server = HttpServer(f"http://127.0.0.1:{evil.server_port}/flap")

    async def ask(session: Session) -> Any:
        assert (await session.call("echo", {})).content == [{"type": "text", "text": "fine"}]
        with pytest.raises(ServerProblemError) as problem:
            await session.call("echo", {})
        return problem.value.reason

    assert [with_session(server, ask) for _ in range(2)] == [Reason.NOT_REACHABLE] * 2


def test_call_that_hangs_costs_only_itself(evil: EvilServer) -> None:
    server = HttpServer(f"http://127.0.0.1:{evil.server_port}/hang_at_call")

    async def ask(session: Session) -> list[str]:
        with pytest.raises(ServerProblemError):
            await session.call("echo", {}, seconds=0.2)
        return [tool["name"] for tool in (await session.tools()).tools]

    assert with_session(server, ask) == ["echo"]


def test_server_that_takes_not_even_notifications_ends_its_session(
    evil: EvilServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_transport, "_NOTIFICATION_SECONDS", 0.1)
    server = HttpServer(f"http://127.0.0.1:{evil.server_port}/deaf")

    with pytest.raises(ServerProblemError) as problem:
        with_session(server, lambda session: session.tools())

    assert problem.value.reason in (Reason.NOT_REACHABLE, Reason.STOPPED)


@pytest.mark.parametrize("mode", ["away", "upgrade"])
def test_redirect_to_somewhere_else_is_not_followed(evil: EvilServer, mode: str) -> None:
    evil.asked.clear()

    with pytest.raises(ServerProblemError):
        with_session(
            HttpServer(f"http://127.0.0.1:{evil.server_port}/{mode}"),
            lambda session: session.tools(),
        )

    assert {path for path, _ in evil.asked} == {f"/{mode}"}


@pytest.mark.parametrize("transport", ["http", "sse"])
def test_private_address_is_not_asked(evil: EvilServer, transport: Literal["http", "sse"]) -> None:
    evil.asked.clear()
    server = HttpServer(f"http://127.0.0.1:{evil.server_port}/fine", transport=transport)

    with pytest.raises(ServerProblemError) as problem:
        with_session(server, lambda session: session.tools(), allowed=AllowedHosts())

    assert problem.value.reason is Reason.NOT_ALLOWED
    assert str(evil.server_port) not in f"{problem.value} {problem.value.detail}"
    assert evil.asked == []


def test_closed_port_is_not_told_from_a_cut_connection() -> None:
    with evil_server() as gone:
        port = gone.server_port

    with pytest.raises(ServerProblemError) as problem:
        with_session(HttpServer(f"http://127.0.0.1:{port}/x"), lambda session: session.tools())

    assert (problem.value.reason, problem.value.detail) == (Reason.NOT_REACHABLE, "")


def test_address_and_headers_are_not_shown() -> None:
    server = HttpServer("https://example.com/?token=canary", {"Authorization": "canary"})

    assert "canary" not in repr(server)
    for value in ("a\r\nX: y", "ü", "x" * 20_000):
        with pytest.raises(ValueError, match="cannot be sent"):
            HttpServer("https://example.com/", {"X-Key": value})


@pytest.mark.parametrize("mode", ["fine", "garbage", "crash", "locked"])
def test_logs_hold_no_secrets_and_no_arguments(
    evil: EvilServer, caplog: pytest.LogCaptureFixture, mode: str
) -> None:
    caplog.set_level(logging.DEBUG)
    url = f"http://127.0.0.1:{evil.server_port}/{mode}?token=canary-in-address"
    server = HttpServer(url, {"Authorization": "Bearer canary-in-header"})

    with contextlib.suppress(ServerProblemError):
        with_session(server, lambda session: session.call("echo", {"text": "canary-in-argument"}))

    assert "canary" not in caplog.text


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
