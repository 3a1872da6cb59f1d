"""Clients whose id is the address of their document: read by the worker, checked, and shown."""

import asyncio
import json
import ssl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpcore2
import pytest
from celery import current_app
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from django.db.models import F
from django.db.models.functions import Now
from django.test import Client
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from acl.models import AuditEntry, ClientConnection, ClientDocument, RegisteredClient
from acl.oauth import client_registration, pages
from acl.platform.task_names import READ_CLIENT_DOCUMENT
from catalog.servers.net import guarded_transport
from catalog.servers.net.address_check import AllowedHosts
from catalog.servers.net.guarded_transport import GuardedBackend
from catalog.servers.oauth.client_documents import read_client_document, sweep_client_documents
from tests.access.people import People
from tests.factories import UserFactory
from tests.local_servers import Handler, running
from tests.mcp.asking import ask
from tests.mcp.sdk_client import Person, Storage, drive, provider
from tests.mcp.sdk_client import _settings_of_sign_in as _settings_of_sign_in
from tests.mcp.sdk_client import address as address
from tests.mcp.signing_in import (
    HOST,
    REDIRECT,
    browser,
    consent,
    exchange,
    refresh,
    request_of,
    sent_back,
    sign_in,
)
from tests.net.network import Names
from tests.worker_parts import in_worker

PUBLIC = "1.1.1.1"
NAME = "client.example"
ADDRESS = f"https://{NAME}/mcp.json"
Answer = tuple[int, dict[str, str], bytes]


def document(**changed: Any) -> dict[str, Any]:
    """Return a good document; None leaves a member out."""
    told = {"client_id": ADDRESS, "client_name": "Harbour", "redirect_uris": [REDIRECT], **changed}
    return {name: value for name, value in told.items() if value is not None}


@dataclass
class Publisher:
    """Answers by path, the paths that were asked for, and the client's way to it."""

    port: int = 0
    trust: ssl.SSLContext = field(default_factory=lambda: ssl.create_default_context())
    answers: dict[str, Answer] = field(default_factory=dict)
    hits: list[str] = field(default_factory=list)

    def publish(self, told: Any = None, status: int = 200, **headers: str) -> None:
        """Publish a document, or the body of one."""
        body = told if isinstance(told, bytes) else json.dumps(told or document()).encode()
        head = {"Content-Type": "application/json"}
        head |= {name.replace("_", "-"): value for name, value in headers.items()}
        self.answers["/mcp.json"] = (status, head, body)

    def backend(self, allowed: AllowedHosts) -> GuardedBackend:
        """Return the real guard on a network where the name is a public address."""
        return GuardedBackend(
            allowed, resolve=Names(client_example=[[PUBLIC]]), network=_Way(self.port)
        )


class _Way(httpcore2.AnyIOBackend):
    def __init__(self, port: int) -> None:
        self._port = port

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        assert (host, port) == (PUBLIC, 443)
        return await super().connect_tcp("127.0.0.1", self._port, timeout)


@contextmanager
def published(folder: Path) -> Iterator[Publisher]:
    """Run the publisher; the folder keeps its key and certificate."""
    served = Publisher()

    class Documents(Handler):
        def do_GET(self) -> None:
            served.hits.append(self.path)
            status, headers, body = served.answers.get(self.path, (404, {}, b"{}"))
            self.reply(status, body, headers)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Documents)
    file = _certify(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    server.socket = context.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    served.port = server.server_address[1]
    served.trust.load_verify_locations(file)
    with running(server):
        yield served


def _certify(folder: Path) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    now = datetime.now(UTC)
    built = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    built = built.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    built = built.add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
    built = built.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    file = folder / "publisher.pem"
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + built.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    )
    return file


State = ClientDocument.State


@pytest.fixture(autouse=True)
def _no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set no limit, so that all tests may ask as one person."""
    monkeypatch.setattr(pages, "MOST_DOCUMENTS", 10_000)


@pytest.fixture(scope="module")
def _publisher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Publisher]:
    with published(tmp_path_factory.mktemp("publisher")) as served:
        yield served


@pytest.fixture
def publisher(_publisher: Publisher, monkeypatch: pytest.MonkeyPatch) -> Publisher:
    """A publisher with a good document, and the way to it."""
    monkeypatch.setattr(guarded_transport, "GuardedBackend", _publisher.backend)
    monkeypatch.setattr(guarded_transport, "_certificates", lambda: _publisher.trust)
    _publisher.answers.clear()
    _publisher.hits.clear()
    _publisher.publish()
    return _publisher


def open_page(people: People, client_id: str = ADDRESS, **changed: Any) -> Any:
    return browser(people.alice).get("/oauth/authorize", request_of(client_id, **changed))


def work() -> ClientDocument:
    """Do the worker's part, and return the row."""
    read_client_document(ClientDocument.objects.get().pk)
    return ClientDocument.objects.get()


def expire() -> None:
    ClientDocument.objects.update(kept_until=Now() - timedelta(minutes=30))


def test_person_waits_for_the_worker_and_sees_who_publishes_the_client(
    people: People, publisher: Publisher
) -> None:
    waiting = open_page(people)

    assert (waiting.status_code, waiting["Refresh"]) == (200, "2")
    assert "One moment" in waiting.content.decode()
    assert NAME in waiting.content.decode()
    assert publisher.hits == []  # the web fetches nothing

    work()
    text = open_page(people).content.decode()

    assert "Harbour" in text
    assert f"<code>{NAME}</code>" in text
    assert "Any program on this computer" in text
    assert "Refresh" not in open_page(people)
    assert publisher.hits == ["/mcp.json"]


def test_client_connects_refreshes_and_is_listed_with_its_host(
    people: People, publisher: Publisher
) -> None:
    open_page(people)
    work()
    tokens = sign_in(people.alice, ADDRESS)
    expire()

    renewed = refresh(tokens).json()["access_token"]  # reads nothing again

    assert ask(renewed, "tools/list").status_code == 200
    assert publisher.hits == ["/mcp.json"]
    entry = AuditEntry.objects.get(action="client.connected")
    assert entry.details["published_by"] == NAME
    listed = browser(people.alice).get("/account/assistants/").content.decode()
    assert f"<code>{NAME}</code>" in listed
    Client().post("/oauth/revoke", {"token": renewed, "client_id": ADDRESS})
    assert ask(renewed, "tools/list").status_code == 401


HOSTILE: list[Any] = [
    document(client_id=f"{ADDRESS}?x"),
    document(client_id=None),
    document(client_name=None),
    document(client_name=" "),
    document(client_name="H\u0430rbour"),
    document(redirect_uris=None),
    document(redirect_uris=[]),
    document(redirect_uris=REDIRECT),
    document(redirect_uris=["app://callback", 1, "http://client.example/cb"]),
    document(redirect_uris=[f"{REDIRECT}/{number}" for number in range(11)]),
    document(client_secret="x"),
    document(token_endpoint_auth_method="client_secret_basic"),
    document(token_endpoint_auth_method="private_key_jwt"),
    document(token_endpoint_auth_method=None, client_secret_expires_at=0),
    document(grant_types=["client_credentials"]),
    document(response_types="code"),
    document(more={"a": {"b": {"c": {"d": 1}}}}),
    document(more="x" * 6_000),
    [document()],
    b'{"client_id": 1, "client_id": 2}',
    b"<html>",
    b"",
]


def test_hostile_document_is_refused_and_explained(people: People, publisher: Publisher) -> None:
    for told in HOSTILE:
        publisher.publish(told)
        open_page(people)

        row = work()

        page = open_page(people)
        assert (row.state, page.status_code) == (State.FAILED, 400), told
        assert row.problem in page.content.decode().replace("&#x27;", "'")
        expire()
    assert not RegisteredClient.objects.exists()
    publisher.publish()
    open_page(people)
    assert work().state == State.READY  # the same, without a fault


def test_only_a_plain_answer_counts(people: People, publisher: Publisher) -> None:
    publisher.answers["/other.json"] = (200, {"Content-Type": "application/json"}, b"{}")
    answers: list[tuple[int, dict[str, str]]] = [
        (200, {"Content_Type": "text/html"}),
        (200, {"Content_Type": "application/jsonx"}),
        (404, {}),
        (201, {}),
        (302, {"Location": f"https://{NAME}/other.json"}),
        (200, {"Content_Encoding": "gzip"}),
    ]
    for status, headers in answers:
        publisher.publish(document(), status, **headers)
        open_page(people)

        assert work().state == State.FAILED, (status, headers)
        expire()
    assert set(publisher.hits) == {"/mcp.json"}


@pytest.mark.parametrize(
    "client_id",
    [
        "http://client.example/mcp.json",
        "HTTPS://client.example/mcp.json",
        "https://client.example",
        "https://client.example/",
        "https://client.example/a/../mcp.json",
        "https://client.example/./mcp.json",
        "https://client.example/mcp.json#x",
        "https://me@client.example/mcp.json",
        "https://client.example:0/mcp.json",
        "https://client.example:99999/mcp.json",
        "https://cli\u0435nt.example/mcp.json",
        "https://client.example/mcp json",
        "https:///mcp.json",
        "https://[client.example/mcp.json",
        "https://client.example/" + "x" * 500,
        "file:///etc/passwd",
    ],
)
def test_what_is_no_address_of_a_document_is_refused(client_id: str) -> None:
    with pytest.raises(client_registration.DocumentRefused):
        client_registration.check_document_address(client_id)
    assert client_registration.is_document_address(client_id)


def test_private_addresses_stay_closed_where_an_admin_has_opened_them(
    people: People, settings: Settings
) -> None:
    settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = (("127.0.0.1", None),)
    refused = open_page(people, "https://me@127.0.0.1/mcp.json")
    assert (refused.status_code, ClientDocument.objects.count()) == (400, 0)
    open_page(people, "https://127.0.0.1/mcp.json")

    row = work()

    assert (row.state, row.problem[:29]) == (State.FAILED, "The address could not be read")


def test_operator_without_internet_turns_documents_off(people: People, settings: Settings) -> None:
    settings.PEGBOARD_OAUTH_DOCUMENTS = False

    told = Client().get("/.well-known/oauth-authorization-server").json()

    assert told["client_id_metadata_document_supported"] is False
    assert open_page(people).status_code == 400
    assert not ClientDocument.objects.exists()


def test_nobody_has_anything_read_without_signing_in(people: People) -> None:
    assert Client().get("/oauth/authorize", request_of(ADDRESS)).status_code == 302
    assert exchange(ADDRESS, "none").status_code == 400
    assert not ClientDocument.objects.exists()


def test_document_is_kept_as_its_headers_say_within_limits(
    people: People, publisher: Publisher
) -> None:
    lifetimes = {
        "": 60, "max-age=1": 5, "no-store": 5, "public, max-age=1800": 30,
        "max-age=99999999": 24 * 60, "x-max-age=1": 60,
    }  # fmt: skip
    for told, minutes in lifetimes.items():
        publisher.publish(document(), Cache_Control=told)
        open_page(people)

        work()

        left = ClientDocument.objects.annotate(left=F("kept_until") - Now()).get().left
        assert timedelta(minutes=minutes - 1) < left <= timedelta(minutes=minutes), told
        expire()


def test_changed_document_counts_once_the_old_one_has_expired(
    people: People, publisher: Publisher
) -> None:
    open_page(people)
    work()
    tokens = sign_in(people.alice, ADDRESS)
    publisher.publish(document(client_name="Port", redirect_uris=["https://port.example/cb"]))
    assert "Harbour" in open_page(people).content.decode()
    expire()
    posted = consent(people.alice, ADDRESS)  # on a page that showed the old one
    assert posted["Location"].startswith("/oauth/authorize?")

    work()

    assert open_page(people).status_code == 400  # the old redirect URI is gone
    now = open_page(people, redirect_uri="https://port.example/cb").content.decode()
    assert "Port" in now
    assert "Any program on this computer" not in now
    assert refresh(tokens).status_code == 200
    publisher.publish(document(client_id="https://evil.example/"))
    expire()
    open_page(people)
    assert work().state == State.FAILED
    assert open_page(people, redirect_uri="https://port.example/cb").status_code == 400
    assert ClientConnection.objects.get().client.name == "Port"


def test_refusal_is_shown_first_and_then_tried_again(people: People, publisher: Publisher) -> None:
    publisher.publish(b"")
    open_page(people)
    work()
    assert open_page(people).status_code == 400
    publisher.publish()
    expire()

    assert open_page(people)["Refresh"] == "2"

    assert work().state == State.READY
    assert "Harbour" in open_page(people).content.decode()


def test_page_says_that_the_worker_is_gone_and_goes_on_when_it_is_back(
    people: People, publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_page(people)
    long_ago = Now() - timedelta(minutes=2)
    ClientDocument.objects.update(asked_at=long_ago, sent_at=long_ago, state=State.READING)

    late = open_page(people)

    assert late["Refresh"] == "10"
    assert "is not responding" in late.content.decode()
    sent: list[Any] = []
    monkeypatch.setattr(current_app, "send_task", lambda *told: sent.append(told))
    sweep_client_documents()
    sweep_client_documents()
    [(task, [pk])] = sent
    assert task == READ_CLIENT_DOCUMENT
    read_client_document(pk)
    read_client_document(pk)  # delivered twice
    assert publisher.hits == ["/mcp.json"]
    assert "Harbour" in open_page(people).content.decode()


def test_what_ends_the_worker_every_time_is_given_up(people: People, publisher: Publisher) -> None:
    open_page(people)
    ClientDocument.objects.update(attempts=3)

    row = work()

    assert (row.state, row.problem) == (State.FAILED, "It ended the worker every time.")
    assert publisher.hits == []


def test_nobody_scans_addresses_through_pegboard(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "MOST_DOCUMENTS", 2)
    scanner = browser(UserFactory.create(pk=9_000_017))  # whom no other test has counted
    asked = [request_of(f"{ADDRESS}?{number}") for number in range(4)]
    answers = [scanner.get("/oauth/authorize", one).status_code for one in asked]
    assert answers == [200, 200, 429, 429]
    assert ClientDocument.objects.count() == 2

    monkeypatch.setattr(client_registration, "MOST_UNCONNECTED", 1)
    newest = client_registration.ask_for_document(f"{ADDRESS}?5")
    client_registration.forget_unconnected_documents()
    assert list(ClientDocument.objects.all()) == [newest]
    ClientDocument.objects.update(asked_at=Now() - timedelta(days=2))
    sweep_client_documents()
    assert not ClientDocument.objects.exists()


def test_connected_client_is_not_forgotten(people: People, publisher: Publisher) -> None:
    open_page(people)
    work()
    code = sent_back(consent(people.alice, ADDRESS))["code"]
    assert exchange(ADDRESS, code).status_code == 200
    ClientDocument.objects.update(asked_at=Now() - timedelta(days=40))

    sweep_client_documents()

    assert RegisteredClient.objects.get().client_id == ADDRESS
    told = Client().get("/.well-known/oauth-authorization-server").json()
    assert told["client_id_metadata_document_supported"] is True
    assert told["issuer"] == HOST


class PatientPerson(Person):
    """A person whose browser waits for the worker."""

    def _agree(self, path: str, host: str) -> str:
        page = browser(self._people.alice, headers={"Host": host}).get(path)
        assert page["Refresh"] == "2"
        in_worker(work)
        return super()._agree(path, host)


@pytest.mark.processes
def test_the_sdks_client_signs_in_by_its_document(
    people: People, publisher: Publisher, address: str, live_server: LiveServer
) -> None:
    uri = "http://localhost:3030/callback"
    publisher.publish(document(client_name="SDK", redirect_uris=[uri]))
    storage, person = Storage(), PatientPerson(people)
    auth = provider(address, storage, person, client_metadata_url=ADDRESS)

    listed = asyncio.run(drive(address, auth, "search_tools", {"query": "send an e-mail"}))

    assert "search_tools" in listed["tools"]
    assert not listed["called"].is_error
    assert storage.client is not None
    assert storage.client.client_id == ADDRESS
    assert RegisteredClient.objects.get().client_id == ADDRESS  # it did not register
