"""Servers over HTTP: both transports, and all their misbehaviour."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from typing import Any, Literal

import pytest

from catalog.servers.client import http_transport
from catalog.servers.client.mcp_session import Session
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.client.targets import HttpServer, ServerLimits
from catalog.servers.net.address_check import AllowedHosts
from tests.connections.addresses import EvilServer, evil_server, fine_server
from tests.connections.http_limits import QUICK

LOOPBACK = AllowedHosts.of([("127.0.0.1", None)])
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
        ("infinite", QUICK, Reason.WRONG_ANSWER, True),
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
