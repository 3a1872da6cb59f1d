"""SSRF-1 and SSRF-2 at every place that accepts an address.

A NEW ENTRY POINT NEEDS A LINE IN `ENTRY_POINTS`: a function that submits an address as its user
would. Each is tried with every vector on a recording network. Only the one honest server may be
contacted, and answers reveal no more than that the address is not allowed.
"""

import contextlib
import json
from collections.abc import Callable, Iterator

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import User
from django.db import transaction
from pytest_django.fixtures import Settings

from acl.models import ClientDocument
from acl.rights.caller_lookup import Caller
from catalog.formats.descriptors import IntegrationDescriptor
from catalog.formats.files import RefusedError
from catalog.icons import find_or_add
from catalog.models import (
    Integration,
    OAuthClient,
    OAuthConnection,
    OAuthRevocation,
    OAuthSignIn,
)
from catalog.servers.client.server_problems import ServerProblemError
from catalog.servers.connections._session_pool import ConnectionPool
from catalog.servers.connections.server_requests import call_tool
from catalog.servers.icons.reader import read_icon
from catalog.servers.net import guarded_transport
from catalog.servers.net.address_check import AllowedHosts, OutgoingError
from catalog.servers.net.guarded_requests import fetch
from catalog.servers.net.guarded_transport import GuardedBackend
from catalog.servers.oauth._authorization_server import TOKEN, store_value
from catalog.servers.oauth.authorization_client import OAuthHttp
from catalog.servers.oauth.client_documents import read_client_document
from catalog.servers.oauth.sign_in import prepare
from catalog.servers.oauth.tokens import SOON, renew_token, revoke_token
from catalog.servers.proposals import ProposalRefusedError, propose_server
from catalog.servers.secrets.sealed_values import seal
from marketplace.installs.requests import start_install
from marketplace.offers.offer import LocationNotAllowedError
from marketplace.sources.refresh import refresh_source
from marketplace.sources.subscriptions import add_source
from tests.connection_loops import own_connections
from tests.connections.http_limits import QUICK
from tests.factories import GroupFactory, IntegrationFactory, ListingFactory, SourceFactory
from tests.net.addresses import WRITTEN
from tests.net.network import Names, RecordingNetwork
from tests.sessions import session_of

HONEST, ADDRESS = "https://server.example", "1.1.1.1"
# Names that resolve inwards: at once, beside a public address, and at the second query only.
NAMED = ("https://inner.example/", "https://mixed.example/", "https://cloud.example/")
VECTORS = (*WRITTEN, *NAMED)


REFUSALS = (
    *(OutgoingError, ServerProblemError),
    *(LocationNotAllowedError, ProposalRefusedError, RefusedError, ValueError),
)


class World:
    """People who enter addresses, and the fake network."""

    def __init__(self, root: User) -> None:
        self.root = root
        self.answers: list[bytes | Exception] = []
        self.connects: list[tuple[str, int]] = []

    def backend(self, allowed: AllowedHosts) -> GuardedBackend:
        """Build the guard as usual, but with a fake network and name service."""
        network = RecordingNetwork(*self.answers)
        network._answers, network.connects = self.answers, self.connects
        names = Names(
            server_example=[[ADDRESS]],
            example_com=[[ADDRESS]],
            inner_example=[["10.0.0.1"]],
            mixed_example=[[ADDRESS, "127.0.0.1"]],
            cloud_example=[["169.254.169.254"]],
        )
        return GuardedBackend(allowed, resolve=names, network=network)


@pytest.fixture
def world(db: None, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    settings.PEGBOARD_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    world = World(User.objects.create_superuser("root"))
    monkeypatch.setattr(guarded_transport, "GuardedBackend", world.backend)
    with own_connections(lambda: ConnectionPool(limits=QUICK)):
        yield world


def answer(value: object, status: str = "200 OK", more: str = "") -> bytes:
    body = json.dumps(value)
    head = f"HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {len(body)}\r\n{more}"
    return f"{head}Content-Type: application/json\r\n\r\n{body}".encode()


def challenge(hint: str = f"{HONEST}/resource") -> bytes:
    return answer({}, "401 No", f'WWW-Authenticate: Bearer resource_metadata="{hint}"\r\n')


def resource(**instead: object) -> bytes:
    return answer({"resource": f"{HONEST}/mcp", "authorization_servers": [HONEST], **instead})


def metadata(**instead: object) -> bytes:
    told = {
        "issuer": HONEST,
        "authorization_endpoint": f"{HONEST}/authorize",
        "token_endpoint": f"{HONEST}/token",
        "registration_endpoint": f"{HONEST}/register",
        "code_challenge_methods_supported": ["S256"],
    }
    return answer({**told, **instead})


def install(world: World, url: str) -> str:
    described = IntegrationDescriptor(
        slug="new", kind="mcp", title="New", transport="http", endpoint=url
    )
    start_install(by=world.root, descriptor=described)
    return "installed"


def call_what_is_stored(world: World, url: str) -> str:
    """Call a server whose row was changed directly in the database."""
    for kind in ("sse", "http") if url in NAMED else ("http",):
        row = IntegrationFactory.create(transport=kind, endpoint=url[:500])
        call_tool(row, "x", {})
    return "called"


def propose_a_server(world: World, url: str) -> str:
    group = GroupFactory.create()
    propose_server(caller=Caller(world.root.pk, group.pk), name="New", endpoint=url)
    return "added"


def add_a_source(world: World, url: str) -> str:
    add_source(by=world.root, kind="registry", location=url)
    return "added"


def read_a_source(world: World, url: str) -> str:
    source = SourceFactory.create(location=url[:500], state="queued")
    refresh_source(source.pk)
    source.refresh_from_db()
    return str(source.state) if source.state != "failed" else str(source.message)


def read_an_icon_of_a_server(world: World, url: str) -> str:
    row = find_or_add([url])[url]
    ListingFactory.create(icon=row)
    read_icon(row.pk)
    row.refresh_from_db()
    return row.problem if row.state == row.State.FAILED else "fetched"


def read_a_clients_document(world: World, url: str) -> str:
    row = ClientDocument.objects.create(address=url[:500])
    read_client_document(row.pk)
    row.refresh_from_db()
    return row.problem if row.state == row.State.FAILED else "fetched"


def fetch_a_document(world: World, url: str) -> str:
    fetch(url, allowed=AllowedHosts())
    return "fetched"


def follow_a_redirect(world: World, url: str) -> str:
    world.answers[:] = [answer({}, "302 Found", f"Location: {url}\r\n")]
    fetch(HONEST, allowed=AllowedHosts())
    return ""


def sign_in_at(world: World, url: str) -> str:
    return _prepared(world, url)


def follow_the_hint(world: World, url: str) -> str:
    world.answers[:] = [challenge(url)]
    return _prepared(world)


def ask_the_named_authorization_server(world: World, url: str) -> str:
    world.answers[:] = [challenge(), resource(authorization_servers=[url])]
    return _prepared(world)


def use_an_endpoint(name: str) -> Callable[[World, str], str]:
    def use(world: World, url: str) -> str:
        world.answers[:] = [challenge(), resource(), metadata(**{name: url})]
        return _prepared(world)

    return use


def renew_at_the_stored_endpoint(world: World, url: str) -> str:
    row = IntegrationFactory.create(transport="http", endpoint=HONEST)
    OAuthClient.objects.create(integration=row, client_id="x", issuer=HONEST)
    store_value(row, None, TOKEN, {"access": "x", "refresh": "x"})
    account = OAuthConnection.objects.create(
        integration=row, endpoint=HONEST, issuer=HONEST, token_endpoint=url[:500],
        can_refresh=True, expires_at="2020-01-01T00:00Z",
    )  # fmt: skip
    renew_token(account.pk, within=SOON, http=OAuthHttp(AllowedHosts()))
    return ""


def revoke_at_the_stored_endpoint(world: World, url: str) -> str:
    row = OAuthRevocation(endpoint=url[:500], client_id="x", auth_method="none", token_purpose="x")
    row.sealed_token = seal(json.dumps({"access": "x", "refresh": "x"}), purpose="x")
    row.save()
    revoke_token(row.pk, http=OAuthHttp(AllowedHosts()))
    return ""


def _prepared(world: World, endpoint: str = f"{HONEST}/mcp") -> str:
    row = IntegrationFactory.create(transport="http", endpoint=endpoint[:500])
    begun = OAuthSignIn.objects.create(
        integration=row, by=world.root, ticket_digest=str(row.pk), redirect_uri="https://p.example/"
    )
    prepare(begun.pk)
    begun.refresh_from_db()
    assert begun.authorization_url == ""
    return begun.message


ENTRY_POINTS = [
    install,
    propose_a_server,
    call_what_is_stored,
    add_a_source,
    read_a_source,
    read_an_icon_of_a_server,
    read_a_clients_document,
    fetch_a_document,
    follow_a_redirect,
    sign_in_at,
    follow_the_hint,
    ask_the_named_authorization_server,
    use_an_endpoint("authorization_endpoint"),
    use_an_endpoint("token_endpoint"),
    use_an_endpoint("registration_endpoint"),
    use_an_endpoint("revocation_endpoint"),
    renew_at_the_stored_endpoint,
    revoke_at_the_stored_endpoint,
]


@pytest.mark.parametrize("entry", ENTRY_POINTS, ids=lambda entry: entry.__qualname__)
def test_no_address_leads_inwards(world: World, entry: Callable[[World, str], str]) -> None:
    wrong = []
    for url in VECTORS:
        world.answers.clear()
        world.connects.clear()
        told = _tried(world, entry, url)
        strange = [where for where in world.connects if where != (ADDRESS, 443)]
        tells = any(secret in told for secret in ("10.0.0.1", "169.254", "refused", ":22", ":6379"))
        # Names are resolved when connecting, so these may be stored.
        kept = told in ("installed", "added") and url in NAMED
        passed = told in ("installed", "added", "called", "fetched") and not kept
        if strange or tells or passed:
            wrong.append((url, strange, told))

    assert wrong == []


def _tried(world: World, entry: Callable[[World, str], str], url: str) -> str:
    """Try the address; return the result, with the database rolled back."""
    told = ""
    with contextlib.suppress(_Undone), transaction.atomic():
        try:
            told = entry(world, url)
        except REFUSALS as refusal:
            told = f"{refusal} {getattr(refusal, 'detail', '')}"
        raise _Undone
    return told


class _Undone(Exception):
    """Roll back what was stored."""


def test_admin_changes_no_address(world: World) -> None:
    row = IntegrationFactory.create(transport="http", endpoint=HONEST)
    client = session_of(world.root)

    address = f"/admin/catalog/integration/{row.pk}/change/"
    inlines = [one.formset.prefix for one in client.get(address).context["inline_admin_formsets"]]
    empty = {f"{one}-{count}_FORMS": "0" for one in inlines for count in ("TOTAL", "INITIAL")}

    told = client.post(
        address,
        {"endpoint": NAMED[0], "command": "x", "enabled": "", "state": "approved", **empty},
    )

    row.refresh_from_db()
    assert told.status_code == 302
    assert (row.endpoint, row.command, row.enabled) == (HONEST, [], False)  # it was stored


def test_honest_addresses_pass(world: World) -> None:
    """Validates the harness: addresses refused above are refused for the address alone."""
    registered = answer({"client_id": "x", "redirect_uris": ["https://p.example/"]}, "201 Made")
    world.answers[:] = [challenge(), resource(), metadata(), registered]
    row = IntegrationFactory.create(transport="http", endpoint=f"{HONEST}/mcp")
    begun = OAuthSignIn.objects.create(
        integration=row, by=world.root, ticket_digest="x", redirect_uri="https://p.example/"
    )

    prepare(begun.pk)

    begun.refresh_from_db()
    assert begun.authorization_url.startswith(f"{HONEST}/authorize?")
    assert world.connects == [(ADDRESS, 443)] * 4
    assert Integration.objects.count() == 1
