"""Hosts of one's own network that admins allow from a page: in place, at once, never too far."""

import anyio
import httpx2
import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import Settings

from acl.models import AuditEntry
from catalog.models import PrivateHost
from catalog.servers.net.address_check import (
    AllowedHosts,
    EndpointNotAllowedError,
    NotReachableError,
    check_address,
)
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
from tests.net.network import OK, Names, RecordingNetwork, transport_on
from tests.web.conftest import client_with, new_key

API = "/api/v1/allowed-hosts"
JSON = "application/json"


def ask(url: str, network: RecordingNetwork, names: Names) -> None:
    async def send() -> None:
        transport = transport_on(network, names, allowed=AllowedHosts.from_settings())
        async with httpx2.AsyncClient(transport=transport) as client:
            await client.get(url)

    anyio.run(send)


@pytest.fixture
def as_root(db: None, settings: Settings) -> Client:
    plain = "django.contrib.staticfiles.storage.StaticFilesStorage"
    settings.STORAGES = {**settings.STORAGES, "staticfiles": {"BACKEND": plain}}
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


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

    ask("https://wiki.corp/", network, names)
    with pytest.raises(EndpointNotAllowedError):
        ask("https://wiki.corp/", network, names)
    forget_private_host(by=None, text="wiki.corp:443")
    with pytest.raises(EndpointNotAllowedError):
        ask("https://wiki.corp/", network, names)

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
    member = Client()
    member.force_login(people.charlie)
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
