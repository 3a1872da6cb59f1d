"""Servers of people's own: their calls only, by the same gate, and hidden from all others."""

import json
from collections.abc import Iterator

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import Group, User
from django.db import IntegrityError, transaction
from django.test import Client
from pytest_django import Settings

from acl.keys.lifecycle import create_key
from acl.models import AuditEntry, Space
from acl.rights.caller_lookup import Caller
from catalog.access.grants import grant, set_requestable, set_restricted
from catalog.access.rules import add_rule
from catalog.models import Capability, Integration, Rule, Secret
from catalog.registration.embedding_models import register_configured_model
from marketplace.installs.own_servers import (
    MOST_OWN_SERVERS,
    OwnServerRefusedError,
    add_own_server,
    allow_own_servers,
    are_own_servers_allowed,
    list_own_servers,
    remove_own_server,
)
from marketplace.models import Installation
from tests.connections.addresses import fine_server
from tests.factories import GroupFactory, UserFactory
from tests.installs.installs import worked

pytestmark = pytest.mark.django_db(transaction=True)
TOKEN = "only-for-alice-1"


@pytest.fixture
def support() -> Group:
    return GroupFactory.create(name="Support", open=True)


@pytest.fixture
def alice(support: Group) -> User:
    return UserFactory.create(username="alice", groups=[support])


@pytest.fixture
def bob(support: Group) -> User:
    """A colleague of alice, and an admin."""
    return UserFactory.create(username="bob", groups=[support], is_staff=True, is_superuser=True)


@pytest.fixture
def _allowed(settings: Settings, quick_connections: None) -> None:
    settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = frozenset({("127.0.0.1", None)})
    register_configured_model()
    allow_own_servers(by=None, allowed=True)


@pytest.fixture
def server(_allowed: None, alice: User) -> Iterator[Integration]:
    """Alice's own server, installed from its address."""
    with fine_server() as address:
        added = add_own_server(by=alice, address=address, title="Sums", token=TOKEN)
        worked(added)
        assert added.state == Installation.State.READY, added.message
        yield Integration.objects.get(pk=added.integration_id)


def tools_of(user: User, group: Group) -> set[str]:
    usable = Capability.objects.usable_by(Caller(user.pk, group.pk))
    return {name.rpartition("__")[2] for name in usable.values_list("full_name", flat=True)}


def test_only_its_owner_uses_it_whatever_else_gives_it(
    server: Integration, alice: User, bob: User, support: Group
) -> None:
    grant(by=bob, target=server, group=support)
    grant(by=bob, target=server, user=bob)
    root = Space.objects.get(group=support, parent=None)
    add_rule(by=bob, space=root, effect=Rule.Effect.ALLOW, integration=server)

    assert not set_restricted(by=bob, integration=server, restricted=False)
    assert not set_requestable(by=bob, integration=server, requestable=True)
    assert tools_of(alice, support) == {"add", "headers"}
    assert tools_of(bob, support) == set()
    with pytest.raises(IntegrityError), transaction.atomic():
        Integration.objects.filter(pk=server.pk).update(restricted=False)


def test_pages_of_others_say_nothing_of_it_and_admins_see_whose_it_is(
    server: Integration, alice: User, bob: User, client: Client
) -> None:
    charlie = UserFactory.create(username="charlie", groups=list(alice.groups.all()))
    client.force_login(charlie)
    paths = ("/tools/", "/tools/connections/", "/marketplace/", "/find/?q=sums", "/?message=add")
    pages = [client.get(path).text for path in paths]
    hidden = client.get(f"/tools/{server.slug}__add/").status_code
    client.force_login(alice)
    mine = client.get("/tools/own-servers/").text
    client.force_login(bob)
    listed, seen = client.get("/own-servers/").text, client.get("/integrations/").text
    matrix = client.get("/access/").text

    assert not any("Sums" in page or server.slug in page for page in pages)
    assert hidden == 404
    assert "Sums" in mine
    assert "Sums" in listed
    assert "alice" in listed
    assert "Sums" in seen
    assert "Sums" not in matrix
    assert TOKEN not in mine + listed + seen


def test_switched_off_it_is_gone_for_its_owner_too(
    server: Integration, alice: User, support: Group
) -> None:
    Integration.objects.filter(pk=server.pk).update(enabled=False)

    assert tools_of(alice, support) == set()


def test_it_ends_by_its_owner_or_with_them(server: Integration, alice: User, bob: User) -> None:
    assert not remove_own_server(by=bob, slug=server.slug)
    assert remove_own_server(by=alice, slug=server.slug)

    assert not list_own_servers(alice).exists()
    assert not Secret.objects.filter(integration=server.pk).exists()
    actions = AuditEntry.objects.values_list("action", flat=True)
    assert {"own_servers.allow", "install.start", "integration.uninstall"} <= set(actions)
    assert TOKEN not in json.dumps(list(AuditEntry.objects.values("details", "target")))


def test_account_that_is_deleted_takes_its_servers_along(server: Integration, alice: User) -> None:
    alice.delete()

    assert not Integration.objects.filter(pk=server.pk).exists()


def test_nobody_adds_one_unless_an_admin_allows_it(alice: User, client: Client) -> None:
    client.force_login(alice)

    assert client.get("/tools/own-servers/").status_code == 404
    with pytest.raises(OwnServerRefusedError):
        add_own_server(by=alice, address="https://sums.example/mcp")
    assert client.post("/own-servers/", {"allowed": "on"}).status_code == 404
    assert not are_own_servers_allowed()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"address": "https://10.0.0.1/mcp"}, "10.0.0.1"),
        ({"address": "file:///etc/passwd"}, "https"),
        ({"address": "not an address"}, ""),
        ({"address": "https://sums.example/mcp", "title": "Gіthub"}, ""),  # noqa: RUF001
        ({"address": ""}, ""),
    ],
)
def test_what_cannot_be_added_is_told_beside_the_field(
    alice: User, client: Client, settings: Settings, fields: dict[str, str], said: str
) -> None:
    settings.PEGBOARD_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    allow_own_servers(by=None, allowed=True)
    client.force_login(alice)

    page = client.post("/tools/own-servers/", {**fields, "token": TOKEN})

    assert page.status_code == 422
    assert 'class="wrong"' in page.text
    assert said in page.text
    assert TOKEN not in page.text
    assert not Integration.objects.exists()


def test_names_of_others_cannot_be_found_out(alice: User, bob: User, settings: Settings) -> None:
    settings.PEGBOARD_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    allow_own_servers(by=None, allowed=True)

    for person in (alice, bob):
        add_own_server(by=person, address="https://sums.example/mcp", title="Sums")
    for _ in range(MOST_OWN_SERVERS - 1):
        add_own_server(by=alice, address="https://sums.example/mcp")

    assert list_own_servers(bob).get().title == "Sums"
    assert set(list_own_servers(alice).values_list("title", flat=True)) == {"Sums", "sums.example"}
    with pytest.raises(OwnServerRefusedError):
        add_own_server(by=alice, address="https://sums.example/mcp")


def test_api_switches_it_with_an_admins_key(bob: User) -> None:
    _, raw = create_key(by=bob, name="ops", all_groups=True, owner=bob, scopes=["admin"])
    client = Client(headers={"Authorization": f"Bearer {raw}"})

    before = client.get("/api/v1/own-servers").json()
    after = client.put(
        "/api/v1/own-servers", {"allowed": True}, content_type="application/json"
    ).json()

    assert (before, after) == (
        {"allowed": False, "servers": 0},
        {"allowed": True, "servers": 0},
    )
    assert are_own_servers_allowed()
