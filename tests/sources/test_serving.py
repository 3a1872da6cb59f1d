"""Pegboard as an MCP registry: limited by rights, paged, and readable by its own reader."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from acl.models import AuditEntry
from catalog.models import Integration
from marketplace.models import Listing
from tests.access.people import People, client_of, invite
from tests.factories import CapabilityFactory, IntegrationFactory, give
from tests.sources.conftest import Read
from tests.sources.places import Place

pytestmark = pytest.mark.django_db


@pytest.fixture
def people() -> People:
    """Everybody of the tests of access, whose servers can be connected to."""
    people = invite()
    Integration.objects.filter(kind="mcp").update(transport="http")
    return people


def names(client: Client, **query: Any) -> list[str]:
    answer = client.get("/v0.1/servers", {"user": "alice", **query}).json()
    return [one["server"]["name"] for one in answer["servers"]]


def test_caller_is_told_what_they_may_use_and_nothing_behind_it(
    people: People, server: Place, read: Read
) -> None:
    secret = {"command": ["/opt/canary/run", "--key=canary"], "endpoint": "https://canary.internal"}
    Integration.objects.filter(slug="gmail").update(
        transport="stdio", version="1.2", required_secrets=["CANARY"], description="Mail.", **secret
    )
    client = client_of(people.support)

    listed = client.get("/v0.1/servers", {"user": "alice"})
    one = client.get("/v0.1/servers/pegboard%2Fgmail/versions/latest", {"user": "alice"})
    versions = client.get("/v0.1/servers/pegboard/gmail/versions", {"user": "alice"})

    assert [each["server"]["name"] for each in listed.json()["servers"]] == [
        "testserver/gmail",
        "testserver/wiki",
    ]
    assert one.json() == listed.json()["servers"][0] == versions.json()["servers"][0]
    assert one.json()["server"]["remotes"] == [
        {"type": "streamable-http", "url": "http://testserver/mcp/gmail"}
    ]
    assert "canary" not in listed.content.decode().lower()
    server.documents["/ours.json"] = listed.content
    source = read("registry", server.at("/ours.json"))
    assert source.report["defects"] == []
    assert {one.title for one in Listing.objects.all()} == {"Gmail", "Wiki"}


def test_pages_searches_and_changes(people: People) -> None:
    for number in range(5):
        integration = IntegrationFactory.create(
            slug=f"a{number}", version=f"{number}.0", transport="http"
        )
        CapabilityFactory.create(integration=integration)
        give(integration, people.support)
    client = client_of(people.support)
    old = timezone.now() - timedelta(days=9)
    Integration.objects.exclude(slug="a3").update(updated_at=old)
    paged, cursor = [], ""

    while True:
        query: dict[str, Any] = {"user": "alice", "limit": 2} | (
            {"cursor": cursor} if cursor else {}
        )
        page = client.get("/v0.1/servers", query).json()
        paged += [one["server"]["name"].removeprefix("testserver/") for one in page["servers"]]
        assert page["metadata"]["count"] == len(page["servers"])
        if not (cursor := page["metadata"].get("nextCursor", "")):
            break

    assert paged == ["a0", "a1", "a2", "a3", "a4", "gmail", "wiki"]
    since = (timezone.now() - timedelta(days=1)).isoformat()
    assert names(client, updated_since=since) == ["testserver/a3"]
    assert names(client, search="GMA") == ["testserver/gmail"]
    assert names(client, version="2.0") == ["testserver/a2"]
    assert len(names(client, version="latest")) == 7
    assert client.get("/v0.1/servers?user=alice&updated_since=x").status_code == 400


def test_foreign_unknown_and_odd_servers_are_answered_alike(people: People) -> None:
    client = client_of(people.support)

    def answer(name: str, version: str = "latest") -> tuple[int, Any]:
        found = client.get(f"/v0.1/servers/{name}/versions/{version}", {"user": "alice"})
        return found.status_code, found.json() | {"request_id": ""}

    answers = [answer(f"pegboard%2F{slug}") for slug in ("payroll", "nothing", "gmail%2Fx")]

    assert answers == [answer("other%2Fgmail")] * 3
    assert answers[0][0] == 404
    assert answer("pegboard%2Fgmail", "9.9") == answers[0]
    assert client.post("/v0.1/servers").status_code == 405
    assert Client().get("/v0.1/servers").status_code == 401


def test_admins_publish_drafts_and_deprecate(people: People) -> None:
    client, admin = client_of(people.support), Client()
    admin.force_login(User.objects.create_superuser("root"))
    before = Integration.objects.get(slug="gmail")

    def change(status: str, server: str = "pegboard%2Fgmail", version: str = "latest") -> Any:
        address = f"/v0.1/servers/{server}/versions/{version}/status"
        return admin.patch(address, {"status": status}, content_type="application/json")

    def status() -> Any:
        found = client.get("/v0.1/servers/pegboard%2Fgmail/versions/latest", {"user": "alice"})
        official = found.json().get("_meta", {}).get("io.modelcontextprotocol.registry/official")
        return official["status"] if official else found.status_code

    told = [(change(each).json(), status()) for each in ("deprecated", "draft", "draft", "active")]

    assert told == [
        ({"status": "deprecated"}, "deprecated"),
        ({"status": "draft"}, 404),
        ({"status": "draft"}, 404),
        ({"status": "active"}, "active"),
    ]
    change("draft", version="0.0.0")
    assert names(client) == ["testserver/wiki"]
    asked = {"user": "alice", "message": "send an email"}
    found = client.post("/api/v1/select", asked, content_type="application/json").json()
    assert "gmail__send_email" in str(found)
    assert Integration.objects.get(slug="gmail").updated_at > before.updated_at
    entries = AuditEntry.objects.filter(target="gmail", action__startswith="registry.")
    assert sorted(entry.action for entry in entries) == [
        "registry.active",
        "registry.deprecated",
        "registry.draft",
        "registry.draft",
    ]
    wrong = [change("gone"), change("draft", "other%2Fgmail"), change("draft", version="9.9")]
    assert [answer.status_code for answer in wrong] == [400, 404, 404]
    assert wrong[0].json()["errors"][0]["field"] == "status"
