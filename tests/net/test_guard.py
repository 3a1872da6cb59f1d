"""SSRF-1 to SSRF-4: forbidden addresses are never connected to, allowed private hosts are."""

import anyio
import httpcore2
import httpx2
import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from acl.models import AuditEntry
from catalog.models import PrivateHost
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
from catalog.servers.net.private_hosts import (
    HostRefusedError,
    allow_private_host,
    closed_host,
    forget_private_host,
)
from marketplace.config_file.apply_service import apply_text
from marketplace.config_file.export_service import export_document
from marketplace.config_file.text import write_document
from marketplace.models import Addition
from tests.access.people import invite
from tests.factories import IntegrationFactory
from tests.net.addresses import NEVER_ADDRESSES, PRIVATE_ADDRESSES, WRITTEN
from tests.net.network import OK, SILENCE, Names, RecordingNetwork, transport_on
from tests.sessions import session_of
from tests.web.conftest import client_with, new_key

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


API = "/api/v1/allowed-hosts"
JSON = "application/json"


def ask_host(url: str, network: RecordingNetwork, names: Names) -> None:
    async def send() -> None:
        transport = transport_on(network, names, allowed=AllowedHosts.from_settings())
        async with httpx2.AsyncClient(transport=transport) as client:
            await client.get(url)

    anyio.run(send)


@pytest.fixture
def as_root(db: None) -> Client:
    return session_of(User.objects.create_superuser("root"))


@pytest.mark.parametrize("address", [one for one in NEVER_ADDRESSES if one != "no address"])
@pytest.mark.django_db
def test_no_admin_opens_what_is_never_connected_to(address: str) -> None:
    host = f"[{address}]" if ":" in address else address

    with pytest.raises(HostRefusedError):
        allow_private_host(by=None, text=f"{host}:80")
    assert closed_host(f"http://{host}/mcp") == ""
    assert not PrivateHost.objects.exists()


@pytest.mark.parametrize("address", PRIVATE_ADDRESSES)
@pytest.mark.django_db
def test_each_private_address_is_offered_allowed_and_closed_again(address: str) -> None:
    host = f"[{address}]" if ":" in address else address
    url, written = f"http://{host}:8205/mcp", f"{host}:8205"
    assert closed_host(url) == written

    allow_private_host(by=None, text=written)
    check_address(url, AllowedHosts.from_settings())
    for other in (f"http://{host}:8206/", "http://10.99.0.1:8205/"):
        with pytest.raises(EndpointNotAllowedError):
            check_address(other, AllowedHosts.from_settings())
    assert closed_host(url) == ""

    forget_private_host(by=None, text=written)
    with pytest.raises(EndpointNotAllowedError):
        check_address(url, AllowedHosts.from_settings())
    actions = AuditEntry.objects.filter(target=written).order_by("pk")
    assert [entry.action for entry in actions] == ["host.allow", "host.forget"]


@pytest.mark.parametrize("url", WRITTEN)
@pytest.mark.django_db
def test_what_is_offered_is_what_helps(url: str) -> None:
    offered = closed_host(url)

    if offered:
        allow_private_host(by=None, text=offered)
        check_address(url, AllowedHosts.from_settings())
    else:
        with pytest.raises(EndpointNotAllowedError):
            check_address(url, AllowedHosts.from_settings())


@pytest.mark.django_db(transaction=True)
def test_hosts_hold_in_event_loops_and_never_for_metadata() -> None:
    names = Names(wiki_corp=[["10.1.2.3"], ["169.254.169.254"], ["10.1.2.3"]])
    network = RecordingNetwork(OK)
    allow_private_host(by=None, text="wiki.corp:443")

    ask_host("https://wiki.corp/", network, names)
    with pytest.raises(EndpointNotAllowedError):
        ask_host("https://wiki.corp/", network, names)
    forget_private_host(by=None, text="wiki.corp:443")
    with pytest.raises(EndpointNotAllowedError):
        ask_host("https://wiki.corp/", network, names)

    assert network.connects == [("10.1.2.3", 443)]
    assert closed_host("https://wiki.corp/") == ""
    assert closed_host("https://wiki.corp/", was_refused=True) == "wiki.corp:443"


@pytest.mark.django_db
def test_public_addresses_ask_no_table() -> None:
    with CaptureQueriesContext(
        connection,
    ) as queries:
        check_address("https://example.com/mcp", AllowedHosts.from_settings())
        assert closed_host("https://example.com/mcp") == ""

    assert len(queries) == 0


def test_list_that_cannot_be_read_allows_nothing() -> None:
    with pytest.raises((EndpointNotAllowedError, NotReachableError)):
        check_address("http://localhost:8205/", AllowedHosts.from_settings())


def test_admin_allows_a_host_where_it_was_refused(as_root: Client) -> None:
    pasted = {"what": "http://localhost:8205/mcp"}

    asked = as_root.post("/marketplace/add/", pasted)
    other = as_root.post("/marketplace/add/", {**pasted, "allow": "localhost:22"})
    assert asked.status_code == other.status_code == 422
    assert "Allow localhost:8205 and add" in asked.content.decode()
    assert not PrivateHost.objects.exists()
    added = as_root.post("/marketplace/add/", {**pasted, "allow": "localhost:8205"})

    assert added.status_code == 302
    assert Addition.objects.get().address == pasted["what"]
    entry = AuditEntry.objects.get(action="host.allow")
    assert entry.target == "localhost:8205"
    assert "root" in str(vars(entry))
    page = as_root.get("/allowed-hosts/").content.decode()
    assert "localhost:8205" in page
    as_root.post("/allowed-hosts/", {"forget": "localhost:8205"})
    assert not PrivateHost.objects.exists()


def test_page_of_an_integration_offers_its_host(as_root: Client) -> None:
    row = IntegrationFactory.create(slug="wiki", transport="http", endpoint="http://10.0.0.8:3/mcp")

    page = as_root.get("/integrations/wiki/").content.decode()
    sent = as_root.post("/allowed-hosts/", {"host": "10.0.0.8:3", "integration": row.slug})

    assert "Allow 10.0.0.8:3" in page
    assert sent["Location"] == "/integrations/wiki/"
    assert "Allow 10.0.0.8:3" not in as_root.get("/integrations/wiki/").content.decode()


@pytest.mark.django_db
def test_only_admins_of_everything_change_the_list(as_root: Client) -> None:
    people = invite()
    User.objects.filter(pk=people.alice.pk).update(is_staff=True)
    people.alice.refresh_from_db()
    of_group = new_key(people.support, "admin", owner=people.alice)
    member = session_of(people.charlie)
    body = {"host": "localhost:8205"}

    for client in (client_with(of_group), member):
        answers = [client.get(API), client.post(API, body, JSON), client.delete(f"{API}?host=a:1")]
        assert {answer.status_code for answer in answers} == {403}
    assert member.post("/allowed-hosts/", body).status_code == 404
    assert not PrivateHost.objects.exists()

    assert as_root.post(API, body, JSON).json()["host"] == "localhost:8205"
    assert [row["by"] for row in as_root.get(API).json()] == ["root"]
    for wrong in ("localhost", "http://localhost:1", "*:80", "a b:1", "x:0", "x:70000"):
        assert as_root.post(API, {"host": wrong}, JSON).status_code == 400
    assert as_root.delete(f"{API}?host=localhost:8205").status_code == 204
    assert as_root.get(API).json() == []


@pytest.mark.django_db
def test_configuration_file_brings_hosts_and_prunes_them() -> None:
    allow_private_host(by=None, text="localhost:8205")
    allow_private_host(by=None, text="[::1]:8080")
    exported = write_document(export_document())
    forget_private_host(by=None, text="localhost:8205")
    allow_private_host(by=None, text="10.0.0.1:80")

    apply_text(by=None, text=exported, source="file", prune=True)

    assert sorted(map(str, PrivateHost.objects.all())) == ["[::1]:8080", "localhost:8205"]
    assert apply_text(by=None, text=exported, source="file", prune=True).changes == ()
