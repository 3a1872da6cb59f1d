"""Boundaries of a cell: its files and hosts, and what admins are told without one."""

import asyncio
import json
import socket
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import httpcore2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest_django.fixtures import Settings

from catalog.formats.descriptors import IntegrationDescriptor
from catalog.models import Integration
from catalog.servers.cell import support
from catalog.servers.cell.allowed_hosts import HostRules, NotAHostError, parse_hosts
from catalog.servers.cell.command import Cell
from catalog.servers.cell.egress_proxy import CellProxy, parse_request
from catalog.servers.cell.report import CellReport, read_report
from catalog.servers.cell.visible_files import folder_options, named_folders, program_files
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.connections import params
from catalog.servers.connections.params import cell_of, check_cell
from catalog.servers.connections.server_requests import call_tool
from catalog.servers.net.address_check import AllowedHosts
from catalog.servers.net.guarded_transport import GuardedBackend
from catalog.servers.program_network import propose_hosts
from marketplace.operate.checkup.checks.content import cells
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


@pytest.fixture
def project(settings: Settings, tmp_path: Path) -> Path:
    """A source tree and its data folder, below a folder of other things."""
    settings.BASE_DIR = tmp_path / "opt" / "pegboard"
    settings.PEGBOARD_DATA_DIR = settings.BASE_DIR / ".pegboard"
    (settings.PEGBOARD_DATA_DIR / "servers" / "package").mkdir(parents=True)
    return Path(settings.BASE_DIR)


def test_pegboard_is_covered_where_a_program_sees_the_folder_above(project: Path) -> None:
    package = project / ".pegboard" / "servers" / "package"

    options = folder_options([project.parent, package], [])

    shown = [options.index(one) for one in (str(project.parent), str(package))]
    cover = options.index("--tmpfs")
    assert options[cover + 1] == str(project)
    assert shown[0] < cover
    mounts = [options[at : at + 2] for at, one in enumerate(options) if one == "--ro-bind"]
    assert mounts == [["--ro-bind", str(project.parent)], ["--ro-bind", str(package)]]
    assert options[-2:] == ["--remount-ro", str(project / ".pegboard")]


@pytest.mark.parametrize(
    ("named", "shown"),
    [
        ("srv/notes", True),
        ("srv/notes/2026/a.md", True),
        ("srv/notes/../other", False),
        ("srv", False),
        ("srv/notes-of-others", False),
    ],
)
def test_command_must_name_an_allowed_folder(
    project: Path, settings: Settings, tmp_path: Path, named: str, shown: bool
) -> None:
    folder = tmp_path / "srv" / "notes"
    folder.mkdir(parents=True)
    settings.PEGBOARD_CELL_FOLDERS = (f"{folder}:rw",)

    readable, writable = named_folders(["program", str(tmp_path / named)])

    assert (readable, writable) == ([], [folder] if shown else [])


def test_folder_with_pegboards_keys_is_never_shown(project: Path, settings: Settings) -> None:
    settings.PEGBOARD_CELL_FOLDERS = (str(project.parent), str(project))

    assert named_folders(["program", str(project / "x")]) == ([], [])


def test_script_of_the_source_tree_is_shown_alone_and_a_key_not_at_all(project: Path) -> None:
    script, key = project / "tools" / "server.py", project / ".pegboard" / "secret_key"
    script.parent.mkdir()
    for file in (script, key):
        file.touch()

    assert program_files(["/usr/bin/python3", str(script)]) == [script]
    assert program_files(["/usr/bin/python3", str(key)]) == []


PROBLEM = "The system refuses cells: no namespaces."
COMMAND = ("/usr/bin/python3", "/srv/server.py")


@pytest.fixture(params=["required", "preferred", "off"])
def mode(
    request: pytest.FixtureRequest, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> str:
    """Each mode on a machine that makes no cells."""
    settings.PEGBOARD_CELL = str(request.param)
    for module in (params, support):
        monkeypatch.setattr(module, "cell_problem", lambda: PROBLEM)
    return str(request.param)


def test_only_required_cells_stop_a_program(mode: str) -> None:
    integration = Integration(pk=1, transport="stdio")

    if mode == "required":
        with pytest.raises(ServerProblemError) as problem:
            cell_of(integration, COMMAND)
        assert (problem.value.reason, problem.value.detail) == (Reason.NO_CELL, PROBLEM)
    else:
        assert cell_of(integration, COMMAND) is None
    check_cell(("docker", "run", "image:1"))  # its engine isolates it


def test_web_tells_what_the_process_that_starts_programs_said(mode: str) -> None:
    support.tell()

    part = cells()

    assert read_report().mode == mode
    assert bool(part.problem) is (mode == "required")
    assert PROBLEM in part.problem + part.note or mode == "off"


@pytest.mark.parametrize(
    ("report", "words"),
    [
        (CellReport("preferred"), ""),
        (
            CellReport(),
            "Unknown: the connections process has not reported whether programs run in sandboxes.",
        ),
        (CellReport("off"), "Programs run without sandboxes (PEGBOARD_CELL=off)."),
        (CellReport("preferred", PROBLEM), f"Programs run without sandboxes. {PROBLEM}"),
        (CellReport("preferred", "", "No filter."), "No filter."),
    ],
)
def test_operators_read_one_sentence(report: CellReport, words: str) -> None:
    assert report.words == words
