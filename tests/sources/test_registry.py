"""The MCP registry over HTTP, read and served: pages, versions, rights and misbehaviour."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from acl.models import AuditEntry
from catalog.models import Integration
from marketplace.models import Listing, ListingVersion
from tests.access.people import People, client_of, invite
from tests.factories import CapabilityFactory, IntegrationFactory, give
from tests.sources.conftest import Read
from tests.sources.places import MB, SAMPLES, Place, registry_servers

pytestmark = pytest.mark.django_db

META = "io.modelcontextprotocol.registry/official"


def entry(name: str, version: str, *, latest: bool = True, status: str = "active") -> Any:
    package = {"registryType": "pypi", "identifier": name, "version": version}
    server = {"name": f"io.example/{name}", "description": "It.", "version": version}
    official = {"status": status, "isLatest": latest, "publishedAt": "2026-01-02T03:04:05Z"}
    return {"server": server | {"packages": [package]}, "_meta": {META: official}}


def listed() -> dict[str, str]:
    return dict(Listing.objects.values_list("key", "version"))


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the folder shared is not beside the project")
def test_sample_pages_are_read_to_the_end_with_all_versions(server: Place, read: Read) -> None:
    server.registries["/v0.1/servers"] = registry_servers()

    source = read("registry", server.at("/"))
    again = read("registry", server.at("/"))

    names = {one["server"]["name"] for one in registry_servers()}
    versions = {(one["server"]["name"], one["server"].get("version")) for one in registry_servers()}
    assert source.report["defects"] == []
    assert (Listing.objects.count(), ListingVersion.objects.count()) == (len(names), len(versions))
    assert ListingVersion.objects.filter(is_latest=True).count() == len(names)
    assert [hit.partition("cursor=")[2] for hit in server.hits[:3]] == ["", "40", "80"]
    assert (again.report["created"], again.report["changed"], again.report["vanished"]) == (0, 0, 0)
    assert again.done == len(registry_servers())


def test_older_registry_and_every_way_to_write_its_address(server: Place, read: Read) -> None:
    server.registries["/old/v0/servers"] = [entry("clock", "1.0")]
    server.documents["/all.json"] = json.dumps({"servers": [entry("map", "2.0")]}).encode()

    for path in ("/old", "/old/", "/old/v0", "/old/v0/servers", "/all.json"):
        assert read("registry", server.at(path)).state == "ready", path

    assert server.hits[:2] == ["/old/v0.1/servers?limit=100", "/old/v0/servers?limit=100"]
    assert len(server.hits) == 7
    clock = Listing.objects.filter(key="io.example/clock").order_by("pk")
    assert [one.slug for one in clock] == ["io-example-clock"] + [
        f"io-example-clock-s{n}" for n in (1, 2, 3)
    ]
    assert clock[0].command == ["uvx", "clock@1.0"]


def test_latest_version_is_shown_whatever_page_it_is_on(server: Place, read: Read) -> None:
    others = [entry(f"n{number}", "1") for number in range(50)]
    pages = [entry("clock", "2.0"), *others, entry("clock", "1.0", latest=False)]
    server.registries["/v0.1/servers"] = pages

    read("registry", server.at("/"))

    clock = Listing.objects.get(key="io.example/clock")
    assert clock.version == "2.0"
    assert [one.version for one in clock.versions.all()] == ["2.0", "1.0"]
    assert clock.versions.get(version="1.0").descriptor["command"] == ["uvx", "clock@1.0"]


def test_what_vanishes_is_marked_where_it_is_installed_and_comes_back(
    server: Place, read: Read
) -> None:
    whole = [entry("clock", "1.0"), entry("map", "1.0"), entry("radio", "1.0")]
    server.registries["/v0.1/servers"] = whole
    read("registry", server.at("/"))
    Integration.objects.create(slug="radio", kind="mcp", title="R", listing="io-example-radio")
    deleted = entry("map", "1.0", status="deleted")
    server.registries["/v0.1/servers"] = [entry("clock", "2.0"), deleted]

    source = read("registry", server.at("/"))

    assert listed() == {"io.example/clock": "2.0", "io.example/radio": "1.0"}
    radio = Listing.objects.get(key="io.example/radio")
    assert radio.vanished_at is not None
    assert (source.report["changed"], source.report["vanished"]) == (1, 2)
    assert [one["reason"] for one in source.report["defects"]] == ["1.0 is deleted by its registry"]

    server.registries["/v0.1/servers"] = whole
    read("registry", server.at("/"))
    radio.refresh_from_db()
    assert radio.vanished_at is None


def test_file_is_asked_for_again_only_when_it_has_changed(server: Place, read: Read) -> None:
    server.documents["/all.json"] = json.dumps([entry("map", "2.0")]).encode()

    first = read("registry", server.at("/all.json"))
    second = read("registry", server.at("/all.json"))
    server.documents["/all.json"] = json.dumps([entry("map", "3.0")]).encode()
    third = read("registry", server.at("/all.json"))

    assert server.statuses == [200, 304, 200]
    assert first.refreshed_at is not None
    assert second.refreshed_at is not None
    assert second.refreshed_at > first.refreshed_at
    assert "Nothing has changed" in second.message
    assert second.report == first.report
    assert third.report["changed"] == 1
    assert listed() == {"io.example/map": "3.0"}


@pytest.mark.parametrize("changing", [True, False])
def test_cursor_without_end_is_not_followed(changing: bool, server: Place, read: Read) -> None:
    server.endless["/v0.1/servers"] = changing
    known = read("registry", server.at("/"))
    Listing.objects.create(slug="known", key="known", source=known, kind="mcp", title="Known")

    source = read("registry", server.at("/"))

    assert len(server.hits) <= 8
    assert source.state == "ready"
    assert source.report["complete"] is False
    assert "its cursor repeats" in source.report["defects"][0]["reason"]
    assert listed() == {"known": ""}


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"<html>no</html>", "not_json"),
        (b"[" * 100_000, "not_json"),
        (b'{"servers": 7}', ""),
        (b"\xff\xfe", "not_json"),
        (b'{"servers": [1, null, {"name": 7}, {"server": []}, {"name": "io.example/x"}]}', ""),
        (b" " * (21 * MB), "answer_too_large"),
    ],
)
def test_garbage_is_told_and_takes_nothing_away(
    answer: bytes, reason: str, server: Place, read: Read
) -> None:
    server.registries["/v0.1/servers"] = [entry("clock", "1.0")]
    first = read("registry", server.at("/"))
    Integration.objects.create(slug="clock", kind="mcp", title="C", listing="io-example-clock")
    del server.registries["/v0.1/servers"]
    server.documents["/v0.1/servers"] = answer

    source = read("registry", server.at("/"))

    assert first.state == "ready"
    assert source.reason == reason
    assert source.state == ("failed" if reason else "ready")
    assert source.message
    assert bool(source.report["defects"]) is not bool(reason)
    assert "io.example/clock" in listed()


def test_failing_page_keeps_what_was_read_before(server: Place, read: Read) -> None:
    server.registries["/v0.1/servers"] = [entry(f"n{number}", "1") for number in range(50)]
    read("registry", server.at("/"))
    server.per_page = 10
    entries = server.registries["/v0.1/servers"]
    entries[5] = entry("n5", "2")
    entries[25] = {"server": {"name": "io.example/deep", "packages": [_nested(200)]}}

    source = read("registry", server.at("/"))

    assert source.reason == "not_json"
    assert "20 entries were read before" in source.message
    assert len(listed()) == 50
    server.per_page = 40


def _nested(depth: int) -> Any:
    return [_nested(depth - 1)] if depth else []


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
