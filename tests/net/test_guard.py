"""SSRF-1 to SSRF-4: forbidden addresses in all their forms are never connected to."""

import httpcore2
import pytest

from catalog.servers.net.address_check import (
    AddressClass,
    AllowedHosts,
    AnswerTooLargeError,
    EndpointNotAllowedError,
    NotReachableError,
    OutgoingError,
    TooManyRedirectsError,
    check_address,
    classify_address,
)
from catalog.servers.net.guarded_requests import Bounds, FetchedDocument, fetch
from catalog.servers.net.guarded_transport import resolve_host
from tests.net.addresses import NEVER_ADDRESSES, PRIVATE_ADDRESSES, WRITTEN
from tests.net.network import OK, SILENCE, Names, RecordingNetwork, transport_on

PUBLIC_ADDRESSES = (
    "1.1.1.1", "100.63.255.255", "172.15.0.1", "172.32.0.1", "192.167.1.1", "223.255.255.255",
    "2606:4700::1111", "2a00:1450::1", "64:ff9b::101:101", "::ffff:1.1.1.1",
)  # fmt: skip


def ask(url: str, network: RecordingNetwork, names: Names, **more: object) -> FetchedDocument:
    return fetch(
        url,
        transport=transport_on(network, names, allowed=more.get("allowed")),  # type: ignore[arg-type]
        allowed=more.pop("allowed", AllowedHosts()),  # type: ignore[arg-type]
        **more,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("reach", "addresses"),
    [
        (AddressClass.NEVER, NEVER_ADDRESSES),
        (AddressClass.PRIVATE, PRIVATE_ADDRESSES),
        (AddressClass.PUBLIC, PUBLIC_ADDRESSES),
    ],
)
def test_table_of_ranges(reach: AddressClass, addresses: tuple[str, ...]) -> None:
    assert {address: classify_address(address) for address in addresses} == dict.fromkeys(
        addresses, reach
    )


@pytest.mark.parametrize("url", WRITTEN)
def test_what_is_written_is_refused_before_anything_is_asked(url: str) -> None:
    network = RecordingNetwork()

    with pytest.raises(EndpointNotAllowedError) as refusal:
        # An address that slipped through would resolve to a public one.
        ask(url, network, Names(example_com=[["1.1.1.1"]]))

    assert network.connects == []
    assert str(refusal.value) == EndpointNotAllowedError.words


@pytest.mark.parametrize("address", [*NEVER_ADDRESSES[:-1], *PRIVATE_ADDRESSES])
def test_name_of_such_an_address_is_refused_at_the_connection(address: str) -> None:
    network = RecordingNetwork()

    with pytest.raises(EndpointNotAllowedError):
        ask("https://example.com/", network, Names(example_com=[["1.1.1.1", address]]))

    assert network.connects == []


def test_system_name_service_is_judged_too() -> None:
    network = RecordingNetwork()

    with pytest.raises(EndpointNotAllowedError):
        # A name that resolves locally, as by /etc/hosts.
        ask("https://localhost/", network, resolve_host, allowed=AllowedHosts())  # type: ignore[arg-type]

    assert network.connects == []


def test_connects_to_the_address_that_was_judged() -> None:
    network = RecordingNetwork()
    changing = Names(example_com=[["1.1.1.1"], ["127.0.0.1"]])
    transport = transport_on(network, changing)

    document = fetch("https://example.com/x", transport=transport, allowed=AllowedHosts())
    with pytest.raises(EndpointNotAllowedError):
        fetch(
            "https://example.com/x",
            transport=transport_on(network, changing),
            allowed=AllowedHosts(),
        )

    assert document.body == b"ok"
    assert network.connects == [("1.1.1.1", 443)]
    assert network.certificates_of == ["example.com"]
    assert b"Host: example.com\r\n" in network.sent


@pytest.mark.parametrize(
    "target",
    [
        "https://169.254.169.254/x",
        "https://inner.example/x",
        "http://example.com/x",
        "file:///x",
        "//[",
        "https://a:b@example.com/",
    ],
)
def test_redirect_is_judged_anew(target: str) -> None:
    network = RecordingNetwork(
        f"HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n".encode()
    )

    with pytest.raises(EndpointNotAllowedError):
        ask(
            "https://example.com/",
            network,
            Names(example_com=[["1.1.1.1"]], inner_example=[["10.0.0.1"]]),
        )

    assert network.connects == [("1.1.1.1", 443)]


def test_redirects_carry_no_credentials_away_and_have_an_end() -> None:
    there = (
        b"HTTP/1.1 307 T\r\nLocation: https://other.example/\r\nConnection: close\r\n"
        b"Content-Length: 0\r\n\r\n"
    )
    names = Names(example_com=[["1.1.1.1"]], other_example=[["1.0.0.1"]])
    network, round_and_round = RecordingNetwork(there), RecordingNetwork(*[there] * 10)
    secret = {"Authorization": "Bearer canary", "X-Key": "canary", "Accept": "text/html"}

    document = ask("https://example.com/", network, names, headers=secret)
    with pytest.raises(TooManyRedirectsError):
        ask("https://example.com/", round_and_round, names, bounds=Bounds(redirects=3))

    first, second = network.sent.split(b"Host: other.example")
    assert (first.count(b"canary"), second.count(b"canary")) == (2, 0)
    assert b"text/html" in second
    assert document.url == "https://other.example/"
    assert len(round_and_round.connects) == 4


def test_all_failures_look_alike() -> None:
    names = Names(example_com=[["1.1.1.1"]])
    failures = (
        RecordingNetwork(httpcore2.ConnectError("refused by 1.1.1.1")),
        RecordingNetwork(httpcore2.ConnectTimeout("1.1.1.1:443")),
        RecordingNetwork(b""),
        RecordingNetwork(SILENCE),
        RecordingNetwork(b"SSH-2.0-x\r\n"),
        RecordingNetwork(
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nxx"
        ),
    )
    told = set()
    for network in failures:
        with pytest.raises(OutgoingError) as failure:
            ask("https://example.com/", network, names, bounds=Bounds(seconds=0.2))
        told.add((type(failure.value), str(failure.value), failure.value.code))
    with pytest.raises(OutgoingError) as failure:
        ask("https://unknown.example/", RecordingNetwork(), Names())
    told.add((type(failure.value), str(failure.value), failure.value.code))

    assert told == {(NotReachableError, NotReachableError.words, "endpoint_not_reachable")}


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n" + b"x" * 11,
        b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + b"x" * 11,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        + b"1\r\nx\r\n" * 11
        + b"0\r\n\r\n",
    ],
)
def test_answer_has_a_limit(answer: bytes) -> None:
    transport = transport_on(
        RecordingNetwork(answer), Names(a_example=[["1.1.1.1"]]), most_bytes=10
    )

    with pytest.raises(AnswerTooLargeError):
        fetch("https://a.example/", transport=transport, allowed=AllowedHosts())


def test_allowed_host_may_be_private_and_plain_and_nothing_more() -> None:
    allowed = AllowedHosts.of(
        [("mcp.internal", None), ("10.0.0.5", 8080), ("169.254.169.254", None)]
    )
    names = Names(mcp_internal=[["10.1.2.3"], ["169.254.169.254"]], **{"10_0_0_5": [["10.0.0.5"]]})
    network = RecordingNetwork(OK, OK)

    ask("http://mcp.internal:9000/", network, names, allowed=allowed)
    ask("http://10.0.0.5:8080/", network, names, allowed=allowed)
    for url in (
        "http://mcp.internal/",
        "http://10.0.0.5:8081/",
        "http://169.254.169.254/",
        "http://10.0.0.6:8080/",
    ):
        with pytest.raises(EndpointNotAllowedError):
            ask(url, network, names, allowed=allowed)

    assert network.connects == [("10.1.2.3", 9000), ("10.0.0.5", 8080)]


def test_environment_names_no_way_around(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    network = RecordingNetwork()

    ask("https://example.com/", network, Names(example_com=[["1.1.1.1"]]))

    assert network.connects == [("1.1.1.1", 443)]


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/mcp?x=1",
        "https://EXAMPLE.com:8443/",
        "https://bücher.example/",
        "https://1.1.1.1/",
        "https://[2606:4700::1111]/",
    ],
)
def test_ordinary_addresses_pass(url: str) -> None:
    assert check_address(url, AllowedHosts()).scheme == "https"
