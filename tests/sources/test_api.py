"""The sources API for admins, and forbidden addresses (SSRF)."""

import ast
import json
import subprocess
import sys
from datetime import timedelta
from functools import partial
from typing import Any

import httpx2
import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import DjangoCaptureOnCommitCallbacks, Settings

from acl.keys.lifecycle import create_key
from acl.models import AuditEntry
from acl.platform.jobs import claim_overdue
from acl.platform.task_names import REFRESH_SOURCE, SWEEP_SOURCES
from catalog.models import Integration
from catalog.servers.net.address_check import AllowedHosts
from catalog.servers.net.guarded_requests import FetchedDocument, fetch
from marketplace.models import Listing, Source
from marketplace.offers.kinds.registry import ADDED_KINDS
from marketplace.sources.refresh import MOST_ATTEMPTS, due_sources, refresh_source
from tests.factories import GroupFactory, ListingFactory, SourceFactory, UserFactory
from tests.net.addresses import NEVER_ADDRESSES, PRIVATE_ADDRESSES, WRITTEN
from tests.net.network import Names, RecordingNetwork, transport_on
from tests.sources.places import tar_of

pytestmark = pytest.mark.django_db
REDIRECT = "HTTP/1.1 302 Found\r\nLocation: {0}\r\nContent-Length: 0\r\n\r\n"


@pytest.fixture
def root() -> User:
    return UserFactory.create(username="root", is_staff=True)


@pytest.fixture
def admin(client: Client, root: User) -> Client:
    client.force_login(root)
    return client


def send(client: Client, method: str, path: str, **body: Any) -> Any:
    call = getattr(client, method)
    return call(f"/api/v1/sources{path}", json.dumps(body), content_type="application/json")


def add(client: Client, location: str, kind: str = "registry", **more: Any) -> Any:
    return send(client, "post", "", kind=kind, location=location, **more)


def test_source_is_added_looked_at_changed_and_removed(
    admin: Client, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    with django_capture_on_commit_callbacks() as sent:
        added = add(admin, "https://registry.example/", title="Our registry", schedule_hours=6)
    twice = add(admin, "https://registry.example/v0", title="Our registry")
    own = Source.objects.get(slug="our-registry")
    ListingFactory.create(source=own, slug="kept")
    ListingFactory.create(source=own, slug="gone")
    Integration.objects.create(slug="kept", kind="mcp", title="Kept", listing="kept")

    again = send(admin, "post", "/our-registry/refresh")
    changed = send(admin, "patch", "/our-registry", enabled=False)
    listed = admin.get("/api/v1/sources").json()
    removed = send(admin, "delete", "/our-registry")

    assert (added.status_code, again.status_code, removed.status_code) == (201, 202, 204)
    assert len(sent) == 1
    assert added.json() | {"state": "queued", "kind": "registry", "report": {
        "created": 0, "changed": 0, "unchanged": 0, "held": 0, "vanished": 0, "complete": False,
        "defects": [],
    }} == added.json()  # fmt: skip
    assert twice.json()["slug"] == "our-registry-2"
    assert (changed.json()["enabled"], changed.json()["schedule_hours"]) == (False, 6)
    assert [(one["slug"], one["listings"]) for one in listed] == [
        ("our-registry", 2),
        ("our-registry-2", 0),
    ]
    (kept,) = Listing.objects.all()
    assert (kept.slug, kept.source, kept.vanished_at is None) == ("kept", None, False)
    recorded = AuditEntry.objects.order_by("pk").values_list("action", flat=True)
    assert list(recorded) == [
        "source.add", "source.refresh", "source.add", "source.refresh", "source.change",
        "source.remove",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "location", "reason"),
    [
        ("skills", "https://example.com/page", "is neither an archive"),
        ("skills", "/etc", "location_not_allowed"),
        ("mcp_json", "https://example.com/x.json?token=abc", "contains a secret"),
        ("import", "https://example.com", "not a valid choice"),
        ("starter", "https://example.com", "not a valid choice"),
    ],
)
def test_source_that_cannot_be_is_refused(
    kind: str, location: str, reason: str, admin: Client
) -> None:
    answer = add(admin, location, kind)

    assert answer.status_code == 400
    assert reason in answer.json()["errors"][0]["reason"]
    assert not Source.objects.exists()


def test_what_is_ours_stays_and_others_may_not(admin: Client, client: Client, root: User) -> None:
    starter = SourceFactory.create(slug="starter", kind="starter")
    loaded = SourceFactory.create(slug="import", kind="import")
    group: Group = GroupFactory.create()
    member = UserFactory.create(groups=[group])
    admin_of_group: dict[str, Any] = {"group": group, "scopes": ["admin"], "by": None, "name": "k"}
    _, nobodys = create_key(**admin_of_group)
    root.groups.add(group)
    _, of_one_group = create_key(**admin_of_group, owner=root)
    everywhere = {**admin_of_group, "group": None, "all_groups": True}
    _, own = create_key(**everywhere, owner=root)

    assert send(admin, "delete", "/starter").status_code == 403
    assert send(admin, "patch", "/import", enabled=False).status_code == 403
    assert send(admin, "post", "/import/refresh").status_code == 403
    assert send(admin, "post", "/starter/refresh").status_code == 202
    client.logout()
    bearer = partial(client.post, "/api/v1/sources/starter/refresh")
    assert bearer(headers={"authorization": f"Bearer {nobodys}"}).status_code == 403
    assert bearer(headers={"authorization": f"Bearer {of_one_group}"}).status_code == 403
    assert bearer(headers={"authorization": f"Bearer {own}"}).status_code == 202
    client.force_login(member)
    assert client.get("/api/v1/sources").status_code == 403
    assert {starter.pk, loaded.pk} == set(Source.objects.values_list("pk", flat=True))


def test_no_written_address_becomes_a_source(admin: Client) -> None:
    # Texts longer than a column are rejected before.
    answers = {url: add(admin, url) for url in WRITTEN if url and not url.startswith("/etc")}

    wrong = {
        url: answer.json()
        for url, answer in answers.items()
        if answer.status_code != 400
        or not (
            len(url) > 500 or "_not_allowed" in answer.json()["errors"][0]["reason"] or "\0" in url
        )
    }
    assert wrong == {}
    assert not Source.objects.exists()


def read_with(source: Source, network: RecordingNetwork, names: Names) -> Source:
    """Read the source with a worker on a fake network."""

    def fetched(url: str, **more: Any) -> FetchedDocument:
        transport = transport_on(network, names)
        return fetch(url, transport=transport, allowed=AllowedHosts(), **more)

    Source.objects.filter(pk=source.pk).update(state="queued")
    refresh_source(source.pk, fetch=fetched)
    source.refresh_from_db()
    return source


@pytest.mark.parametrize("kind", [name for name, _ in ADDED_KINDS])
def test_name_of_a_private_address_is_never_connected_to(kind: str) -> None:
    network = RecordingNetwork()
    at = {"plugins": "https://example.com/x.json", "registry": "https://example.com"}
    source = SourceFactory.create(kind=kind, location=at.get(kind, "https://example.com/x.zip"))
    told = set()

    for address in (*NEVER_ADDRESSES[:-1], *PRIVATE_ADDRESSES):
        names = Names(example_com=[["1.1.1.1", address]])
        told.add((read_with(source, network, names).reason, source.message))

    assert network.connects == []
    assert len(told) == 1
    assert source.reason == "endpoint_not_allowed"


@pytest.mark.parametrize(
    "target", ["https://169.254.169.254/x", "http://example.com/x", "https://inner.example/x"]
)
def test_redirect_and_cursor_of_a_registry_lead_nowhere_else(target: str) -> None:
    page = json.dumps({"servers": [], "metadata": {"nextCursor": target}}).encode()
    ok = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(page)
    names = {"example_com": [["1.1.1.1"]], "inner_example": [["10.0.0.1"]]}
    source = SourceFactory.create(location="https://example.com")
    redirected = RecordingNetwork(REDIRECT.format(target).encode())
    paged = RecordingNetwork(*[ok + page] * 9)

    first = read_with(source, redirected, Names(**names)).reason
    second = read_with(source, paged, Names(**names))

    assert first == "endpoint_not_allowed"
    assert redirected.connects == [("1.1.1.1", 443)]
    assert {host for host, _ in paged.connects} == {"1.1.1.1"}
    assert second.report["complete"] is False


def test_archives_of_a_marketplace_are_judged_as_its_own_address_is() -> None:
    plugins = [
        {"name": f"p{number}", "description": "x", "source": source}
        for number, source in enumerate(
            (
                {"source": "url", "url": "https://127.0.0.1/a.tar.gz", "sha": "1" * 40},
                {"source": "git-subdir", "url": "https://inner.example/a.zip", "path": "x"},
                {"source": "url", "url": "file:///etc/a.tar.gz"},
                {"source": "url", "url": "https://[fd00:ec2::254]/a.tar.gz"},
                {"source": "url", "url": "http://example.com/a.tar.gz"},
                {"source": "github", "repo": "x@169.254.169.254/y"},
                {"source": "url", "url": "https://github.com@127.0.0.1/o/r.git"},
            )
        )
    ]
    body = tar_of({"r/.claude-plugin/marketplace.json": json.dumps({"plugins": plugins})})
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
    network = RecordingNetwork(head + body)
    names = Names(example_com=[["1.1.1.1"]], inner_example=[["10.0.0.1"]])
    source = SourceFactory.create(kind="plugins", location="https://example.com/shop.tar.gz")

    read_with(source, network, names)

    assert network.connects == [("1.1.1.1", 443)]
    assert source.state == "ready"
    assert Listing.objects.count() == len(plugins)
    assert {one["file"] for one in source.report["defects"]} == {one["name"] for one in plugins}


def test_schedule_lost_tasks_and_what_ends_its_worker(settings: Settings) -> None:
    settings.PEGBOARD_SWEEP_AFTER_SECONDS = 60
    now = timezone.now()
    ago = {hours: now - timedelta(hours=hours) for hours in (0, 2, 25)}
    due = SourceFactory.create(schedule_hours=24, tried_at=ago[25])
    never = SourceFactory.create(schedule_hours=1, state="new")
    failed = SourceFactory.create(schedule_hours=24, tried_at=ago[2], state="failed")
    lost = SourceFactory.create(state="queued", sent_at=ago[2], schedule_hours=0)
    dead = SourceFactory.create(state="refreshing", sent_at=ago[2], tried_at=now)
    SourceFactory.create(schedule_hours=24, tried_at=ago[2])
    SourceFactory.create(schedule_hours=0, tried_at=ago[25])
    SourceFactory.create(schedule_hours=1, tried_at=ago[25], enabled=False)
    SourceFactory.create(state="queued", sent_at=now)
    SourceFactory.create(state="refreshing", sent_at=now, tried_at=now)

    first, second = (claim_overdue(due_sources(), state="queued") for _ in range(2))

    assert set(first) == {one.pk for one in (due, never, failed, lost, dead)}
    assert second == []
    Source.objects.filter(pk=dead.pk).update(attempts=MOST_ATTEMPTS)
    refresh_source(dead.pk)
    dead.refresh_from_db()
    assert (dead.state, dead.reason) == ("failed", "gave_up")


@pytest.mark.long
def test_process_that_goes_out_has_the_tasks_and_the_clock_asks_for_them() -> None:
    due = [one["task"] for one in django_settings.CELERY_BEAT_SCHEDULE.values()]
    code = (
        "import marketplace.config.celery_servers as c; c.app.loader.import_default_modules();"
        "print(sorted(one for one in c.app.tasks if 'source' in one))"
    )

    run = [sys.executable, "-c", code]
    out = subprocess.run(run, capture_output=True, text=True, check=True)  # noqa: S603 - our own

    assert ast.literal_eval(out.stdout.splitlines()[-1]) == [REFRESH_SOURCE, SWEEP_SOURCES]
    assert SWEEP_SOURCES in due


def test_two_workers_read_once_and_who_is_overtaken_writes_nothing() -> None:
    source = SourceFactory.create(kind="mcp_json", location="https://example.com/m.json")
    body = json.dumps({"mcpServers": {"clock": {"url": "https://clock.example/mcp"}}}).encode()

    def fetched(url: str, **_: Any) -> FetchedDocument:
        refresh_source(source.pk)  # a second worker, which finds nothing to do
        Source.objects.filter(pk=source.pk).update(run=99)  # as if a later pass had begun
        return FetchedDocument(url, 200, httpx2.Headers(), body)

    Source.objects.filter(pk=source.pk).update(state="queued")
    refresh_source(source.pk, fetch=fetched)

    source.refresh_from_db()
    assert (source.state, source.run, source.done) == ("refreshing", 99, 0)
    assert not Listing.objects.exists()
