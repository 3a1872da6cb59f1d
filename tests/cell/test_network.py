"""Rules for hosts, and the proxy that keeps them."""

import asyncio
import json
import socket
from contextlib import suppress
from threading import Thread
from typing import Any

import httpcore2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest_django.fixtures import Settings

from catalog.formats.descriptors import IntegrationDescriptor
from catalog.models import Integration
from catalog.servers.cell.allowed_hosts import HostRules, NotAHostError, parse_hosts
from catalog.servers.cell.command import Cell
from catalog.servers.cell.egress_proxy import CellProxy, parse_request
from catalog.servers.connections.server_requests import call_tool
from catalog.servers.net.address_check import AllowedHosts
from catalog.servers.net.guarded_transport import GuardedBackend
from catalog.servers.program_network import propose_hosts
from tests.cell.escapes import CONNECT
from tests.connections.evil_server import text_of
from tests.examples import EXAMPLES_OF_TEXTS

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


@pytest.mark.parametrize(
    ("rule", "host", "port", "allowed"),
    [
        ("api.example.com", "api.example.com", 443, True),
        ("API.Example.com.", "api.example.COM.", 443, True),
        ("api.example.com", "api.example.com", 80, False),
        ("api.example.com:8443", "api.example.com", 8443, True),
        ("api.example.com", "evil.api.example.com", 443, False),
        ("api.example.com", "api.example.com.evil.example", 443, False),
        ("*.example.com", "a.b.example.com", 443, True),
        ("*.example.com", "example.com", 443, False),
        ("*.example.com", "badexample.com", 443, False),
    ],
)
def test_rule_names_exactly_its_hosts(rule: str, host: str, port: int, allowed: bool) -> None:
    assert HostRules(tuple(parse_hosts([rule]))).allow(host, port) is allowed


@pytest.mark.parametrize(
    "text",
    ["127.0.0.1", "127.1", "2130706433", "*.com", "**", "a..b", "https://a.example", "a.example:0",
     "a.example:65536", "[::1]", "a.example/path", "a b", "-a.example", "x" * 300,
     "*.", "*..", "*.:443", ".", "*.com.", "127.0.0.1.", "a.example..", "\u212aube.example"],
)  # fmt: skip
def test_what_names_no_host_is_refused(text: str) -> None:
    with pytest.raises(NotAHostError):
        parse_hosts([text])


@settings(max_examples=EXAMPLES_OF_TEXTS * 4)
@given(
    text=st.text("*.:-_aKb0189\u212a\u0130", max_size=12) | st.text(max_size=6),
    port=st.integers(1, 65_535),
)
def test_stored_rule_is_the_typed_one_and_is_judged_as_it_is(text: str, port: int) -> None:
    try:
        rules = parse_hosts([text])
    except NotAHostError:
        return

    assert parse_hosts(rules) == rules
    for rule in rules:
        typed = text.strip().lower()
        host, _, at = typed.partition(":")
        assert rule in (typed, f"{host.removesuffix('.')}:{int(at or 443)}", host.removesuffix("."))
        assert HostRules((rule,)).allow_public(port) == (host == "*" and port == int(at or 443))


FRAMINGS = [
    f"{name}: {value}"
    for name in ("Content-Length", "transfer-encoding", "Content_Length", "Transfer_Encoding")
    for value in ("0", "5", "+5", "5, 5", "chunked", "gzip, chunked", "identity", "\tchunked ", "")
]


@given(lines=st.lists(st.sampled_from(FRAMINGS), max_size=3))
def test_body_is_framed_in_one_way_or_the_request_goes_nowhere(lines: list[str]) -> None:
    head = "\r\n".join(["POST http://a.example/ HTTP/1.1", "X-A: 1", *lines, "", ""]).encode()

    target = parse_request(head)

    right = ("Content-Length: 0", "Content-Length: 5")
    chunked = ("transfer-encoding: chunked", "transfer-encoding: \tchunked ")
    is_plain = not lines or (len(lines) == 1 and lines[0] in (*right, *chunked))
    assert (target is not None) is is_plain
    if target is not None:
        assert all(line.encode() in target.head for line in lines)


@pytest.mark.parametrize(
    "head",
    [b"GET / HTTP/1.1", b"GET https://a.example/ HTTP/1.1", b"CONNECT a@b.example:443 HTTP/1.1",
     b"CONNECT a.example:99999 HTTP/1.1", b"CONNECT  HTTP/1.1", b"\x16\x03\x01", b"CONNECT a",
     b"GET http://a.example/ HTTP/1.1\r\nX: 1\nHost: b.example",
     b"GET http://a.example/ HTTP/1.1\r\nX: 1\r\n Host: b.example",
     b"GET http://a.example/ HTTP/1.1\r\nHost : b.example"],
)  # fmt: skip
def test_what_no_proxy_could_forward_is_refused(head: bytes) -> None:
    assert parse_request(head + b"\r\n\r\n") is None


def test_plain_request_goes_on_without_the_proxys_own_headers() -> None:
    target = parse_request(
        b"GET http://a.example:81/x?y HTTP/1.1\r\nhost: b.example\r\nAccept: a/b\r\n"
        b"Proxy-Authorization: x\r\nConnection: keep-alive\r\n\r\n"
    )

    assert target is not None
    assert (target.host, target.port) == ("a.example", 81)
    assert target.head == (
        b"GET /x?y HTTP/1.1\r\nHost: a.example:81\r\nAccept: a/b\r\nConnection: close\r\n\r\n"
    )


@pytest.mark.parametrize(
    ("target", "addresses", "status"),
    [
        ("allowed.example:443", ["127.0.0.1"], 502),  # a public name that leads here
        ("allowed.example:443", ["203.0.114.1", "10.0.0.1"], 502),  # mixed answers
        ("allowed.example:443", ["169.254.169.254"], 502),
        ("other.example:443", ["203.0.114.1"], 403),
        ("allowed.example:22", ["203.0.114.1"], 403),
        ("localhost:443", ["127.0.0.1"], 403),
        ("service.internal:443", ["127.0.0.1"], 403),
        ("127.0.0.1:443", [], 403),
    ],
)
def test_proxy_connects_to_nothing_else(target: str, addresses: list[str], status: int) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return addresses

    hosts = HostRules(("allowed.example", "service.internal", "localhost"))
    backend = GuardedBackend(AllowedHosts(), resolve=resolve, network=NoNetwork())
    proxy = CellProxy(Cell(hosts=hosts), backend, AllowedHosts())

    answer = asyncio.run(_ask(proxy, f"CONNECT {target} HTTP/1.1\r\n\r\n"))

    assert answer.startswith(f"HTTP/1.1 {status} ")


class NoNetwork(httpcore2.AsyncNetworkBackend):
    """A network without any connection."""

    async def connect_tcp(self, *args: Any, **options: Any) -> httpcore2.AsyncNetworkStream:
        raise AssertionError("It connected.")


async def _ask(proxy: CellProxy, request: str) -> str:
    server = await asyncio.start_server(proxy._answer, "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(request.encode())
        answer = await asyncio.wait_for(reader.read(), 20)
        writer.close()
    return answer.decode()


@pytest.mark.processes
def test_program_reaches_an_allowed_host_from_its_cell(
    hostile: Integration, settings: Settings
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = (("localhost", port),)
        hostile.allowed_hosts = [f"localhost:{port}"]
        hostile.save()
        Thread(target=_answer_twice, args=(listening,), daemon=True).start()

        tunnel = call_tool(hostile, "visit", {"request": f"CONNECT localhost:{port} {CONNECT}"})
        plain = call_tool(hostile, "visit", {"request": f"GET http://localhost:{port}/ {CONNECT}"})

    assert "hello" in json.loads(text_of(tunnel))
    assert "hello" in json.loads(text_of(plain))


def _answer_twice(listening: socket.socket) -> None:
    for _ in range(2):
        with suppress(OSError):
            connection, _ = listening.accept()
            with connection:
                connection.recv(1_000)
                connection.sendall(ANSWER)


def test_star_reaches_public_hosts_and_not_the_operators_private_ones() -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return ["10.0.0.1"]

    private = AllowedHosts.of([("wiki.example", None)])
    named, public = (
        GuardedBackend(hosts, resolve=resolve, network=NoNetwork())
        for hosts in (private, AllowedHosts())
    )
    proxy = CellProxy(Cell(hosts=HostRules(("*",))), named, private, public)
    targets = ("wiki.example:443", "wiki.example:80", "localhost:443", "127.0.0.1:443")

    answers = [asyncio.run(_ask(proxy, f"CONNECT {one} HTTP/1.1\r\n\r\n")) for one in targets]

    assert [answer.split()[1] for answer in answers] == ["502", "403", "403", "403"]


def test_addresses_that_a_listing_names_are_proposed() -> None:
    program = IntegrationDescriptor("x", "mcp", "X", transport="stdio", command=("uvx", "x==1"))
    texts = [
        "Token of https://api.example.com/v1 or wss://Live.example.com:8443/",
        "http://10.0.0.1/",
    ]

    assert propose_hosts(program, texts) == ["api.example.com", "live.example.com:8443"]
