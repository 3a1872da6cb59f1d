"""Pegboard as a registry: names, caps, statuses, other origins, and anyone where allowed."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st
from pytest_django.fixtures import Settings

from catalog.models import Integration
from marketplace.listings.registry_api import RegistryReader
from tests.factories import CapabilityFactory, GroupFactory, IntegrationFactory, UserFactory, give
from tests.sessions import session_of

pytestmark = pytest.mark.django_db
PATH = "/v0.1/servers"
OFFICIAL = "io.modelcontextprotocol.registry/official"
STATES: dict[str, dict[str, Any]] = {
    "served": {},
    "old": {"registry_status": "deprecated"},
    "draft": {"registry_status": "draft"},
    "restricted": {"restricted": True},
    "off": {"enabled": False},
    "pending": {"state": "pending"},
    "unconfirmed": {"unconfirmed": True},
    "described": {"transport": ""},
    "builtin": {"kind": "builtin"},
}


@pytest.fixture
def group() -> Group:
    return GroupFactory.create()


@pytest.fixture
def client(group: Group) -> Client:
    """Return a member of a group that was given integrations in every state, signed in."""
    for slug, facts in STATES.items():
        row = IntegrationFactory.create(
            **{"slug": slug, "kind": "mcp", "transport": "http", "connection": "connected", **facts}
        )
        CapabilityFactory.create(integration=row)
        give(row, group)
    person = UserFactory.create(groups=[group])
    return session_of(person)


def listed(client: Client, **query: Any) -> dict[str, str]:
    """Return the status of each listed entry, by name."""
    answer = client.get(PATH, query)
    assert answer.status_code == 200, answer.content
    return {
        entry["server"]["name"]: entry["_meta"][OFFICIAL]["status"]
        for entry in answer.json()["servers"]
    }


def test_entries_can_be_connected_to_and_say_their_status(client: Client) -> None:
    entries = client.get(PATH).json()["servers"]
    statuses = listed(client)

    assert statuses == {
        **{f"testserver/{slug}": "active" for slug in ("restricted", "served", "unconfirmed")},
        "testserver/old": "deprecated",
    }
    assert listed(client, include_deleted="true") == statuses | {"testserver/draft": "deleted"}
    for entry in entries:
        slug = entry["server"]["name"].rpartition("/")[2]
        assert entry["server"]["remotes"] == [
            {"type": "streamable-http", "url": f"http://testserver/mcp/{slug}"}
        ]
        assert entry["server"]["$schema"].endswith("/2025-12-11/server.schema.json")
        for name in (f"testserver/{slug}", f"pegboard/{slug}"):
            assert client.get(f"{PATH}/{name}/versions/latest").json() == entry
        assert client.get(f"{PATH}/elsewhere.example/{slug}/versions/latest").status_code == 404


@given(host=st.from_regex(r"[a-z0-9-]{1,9}(\.[a-z0-9-]{1,9}){0,3}", fullmatch=True))
def test_names_are_the_host_reversed(host: str) -> None:
    reader = RegistryReader(None, f"https://{host}:8443/mcp")

    assert ".".join(reversed(reader.namespace.split("."))) == host
    assert reader.named(f"{reader.namespace}/hub") == reader.named("pegboard/hub") == "hub"
    assert RegistryReader(None, "http://[::1]:8000/mcp").namespace == "pegboard"


@pytest.mark.parametrize(
    ("query", "number"),
    [
        ({"limit": 1_000_000}, 4),
        ({"limit": 0}, 1),
        ({"limit": -5}, 1),
        ({"limit": "many"}, 4),
        ({"limit": ""}, 4),
        ({"search": "x" * 5_000}, 0),
        ({"cursor": "z" * 5_000}, 0),
        ({"filter": "anything", "registry": "other"}, 4),
    ],
    ids=str,
)
def test_what_is_too_much_is_cut_and_what_is_unknown_ignored(
    client: Client, query: dict[str, Any], number: int
) -> None:
    assert len(listed(client, **query)) == number


def test_pages_of_other_origins_may_read(client: Client, settings: Settings) -> None:
    elsewhere = {"Origin": "https://vscode.dev"}
    asked = Client(headers=elsewhere).options(PATH)
    answers = [way.get(PATH, headers=elsewhere) for way in (client, Client())]
    changing = client.patch(f"{PATH}/pegboard/served/versions/latest/status", headers=elsewhere)

    assert (asked.status_code, [answer.status_code for answer in answers]) == (204, [200, 401])
    for answer in (asked, *answers):
        assert answer["Access-Control-Allow-Origin"] == "*"
        assert answer["Access-Control-Allow-Methods"] == "GET, OPTIONS"
        assert "Authorization" in answer["Access-Control-Allow-Headers"]
        assert "Access-Control-Allow-Credentials" not in answer
    assert "Access-Control-Allow-Origin" not in changing


def test_anyone_reads_only_where_an_admin_says_so(client: Client, settings: Settings) -> None:
    anyone = Client()
    refused = [anyone.get(path).status_code for path in (PATH, f"{PATH}/pegboard/served/versions")]
    settings.PEGBOARD_REGISTRY_ANONYMOUS = True

    entries = anyone.get(PATH).json()["servers"]

    assert refused == [401, 401]
    assert listed(anyone) == {"testserver/old": "deprecated", "testserver/served": "active"}
    assert set(entries[0]["_meta"]) == {OFFICIAL}  # readiness is a caller's
    assert anyone.get(f"{PATH}/pegboard/served/versions/latest").json() in entries
    for slug in set(STATES) - {"old", "served"}:
        assert anyone.get(f"{PATH}/pegboard/{slug}/versions/latest").status_code == 404
    wrong = Client(headers={"Authorization": "Bearer pb_wrong"}).get(PATH)
    assert wrong.status_code == 401  # a wrong key is not nobody's
    status = f"{PATH}/pegboard/served/versions/latest/status"
    assert anyone.patch(status, {"status": "draft"}, "application/json").status_code == 401
    assert (
        anyone.get(PATH, {"user": User.objects.all()[0].username}).status_code == 200
    )  # who it names is ignored
    assert Integration.objects.get(slug="served").registry_status == "active"
