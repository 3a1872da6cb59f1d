"""The page Risk: who holds all three, and what programs and the guard did."""

import csv
import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from pytest_django.fixtures import Settings

from acl.audit.recorder import record
from acl.platform.redis_circuit import attempt
from catalog.models import Capability, Integration, OutgoingHost
from catalog.servers.cell.report import KEY
from catalog.servers.program_network import allow_host
from discovery.insights._risk_report import read_risks
from discovery.models import Call
from tests.access.people import People
from tests.factories import IntegrationFactory, give

FLAGS = {
    "gmail__send_email": "reaches_outside",
    "gmail__search": "reads_private_data",
    "wiki__read_page": "returns_foreign_text",
}


@pytest.fixture
def risky(people: People, settings: Settings) -> People:
    settings.PEGBOARD_APPROVE = "propose"
    for name, flag in FLAGS.items():
        Capability.objects.filter(full_name=name).update(effect_flags=[flag])
    return people


@pytest.fixture
def admin(client: Client, root: User) -> Client:
    client.force_login(root)
    return client


def tell_cells(mode: str, problem: str = "") -> None:
    state = json.dumps({"mode": mode, "problem": problem, "weakness": ""})
    attempt(lambda redis: redis.set(KEY, state, ex=60), default=None)


def guarded(people: People, mode: str, state: str, **columns: Any) -> Call:
    ended = None if state == Call.State.WAITING else timezone.now()
    return Call.objects.create(
        user=people.alice,
        group=people.support,
        full_name="gmail__send_email",
        way="server",
        side_effect="write",
        state=state,
        ended_at=ended,
        flow={"mode": mode, "verdict": "asks", "cause": "target", "reason": "eve@evil.test"},
        **columns,
    )


def test_group_with_all_three_can_be_separated_from_the_page(risky: People, admin: Client) -> None:
    page = admin.get("/access/risk/")
    [row] = page.context["rows"]
    preview = admin.post("/access/changes/", {"changes": row.lines, "back": "/access/risk/"})
    form = {"changes": row.lines, "back": "/access/risk/", "seen": preview.context["seen"]}
    saved = admin.post("/access/changes/save/", form, follow=True)

    assert row.exposure.group == risky.support
    assert [loss.capabilities for loss in preview.context["preview"].losses] == [
        ("gmail__send_email",)
    ]
    assert saved.redirect_chain == [("/access/risk/", 302)]
    assert saved.context["rows"] == []


def test_calls_are_counted_by_what_became_of_them(risky: People) -> None:
    guarded(risky, "advise", "completed")
    guarded(risky, "ask", "waiting_approval", needs_approval=True)
    decided = {"decided_at": timezone.now(), "needs_approval": True}
    guarded(risky, "ask", "completed", approved_digest="x", **decided)
    guarded(risky, "ask", "rejected", **decided)
    guarded(risky, "ask", "expired", needs_approval=True)
    guarded(risky, "refuse", "failed")

    report = read_risks()

    assert report.outcomes == {
        "recorded": 1,
        "waiting": 1,
        "approved": 1,
        "rejected": 2,
        "refused": 1,
    }
    assert len(report.guarded) == 6


def test_values_of_other_peoples_calls_are_not_shown(risky: People, admin: Client) -> None:
    guarded(risky, "advise", "completed")

    page = admin.get("/access/risk/").content.decode()

    assert "Its target is not from the message" in page
    assert "eve@evil.test" not in page


def test_programs_without_a_cell_are_listed_with_what_keeps_them(risky: People) -> None:
    IntegrationFactory.create(slug="engine", transport="stdio", command=["docker", "run", "x:1"])
    IntegrationFactory.create(slug="wide", transport="stdio", command=["uvx"], network="all")
    IntegrationFactory.create(slug="held", transport="stdio", command=["uvx"], network="listed")

    tell_cells("required")
    with_cells = {one.slug: one.kind for one in read_risks().programs}
    tell_cells("preferred", "The system refuses cells.")
    without = {one.slug: one.kind for one in read_risks().programs}

    assert with_cells == {"engine": "container", "wide": "whole_network"}
    assert without == {"engine": "container", "wide": "no_cell", "held": "no_cell"}


@pytest.mark.parametrize(
    ("mode", "problem", "words"),
    [
        ("required", "", "Every program runs in a sandbox"),
        ("preferred", "The system refuses cells.", "No program is installed."),
        ("", "", "Unknown: the connections process has not reported"),
    ],
)
def test_page_without_programs_claims_no_cell_that_nobody_makes(
    risky: People, admin: Client, mode: str, problem: str, words: str
) -> None:
    tell_cells(mode, problem)

    page = admin.get("/access/risk/").content.decode()

    assert words in page
    assert ("Every program runs in a sandbox" in page) is (mode == "required")


def test_hosts_and_changed_definitions_are_listed(risky: People, root: User, admin: Client) -> None:
    reach(risky.gmail, "evil.example", allowed=False)
    reach(risky.gmail, "api.example", allowed=True)
    record(by=None, action="definition.differs", target="gmail", details={"changed": ["search"]})
    allow_host(by=root, integration=risky.gmail, host="evil.example")

    page = admin.get("/access/risk/").content.decode()
    log = admin.get("/audit/?action=integration.network").content.decode()

    for words in ("evil.example", "api.example", "search"):
        assert words in page
    assert '<a href="/audit/?action=integration.network">' in page
    assert "evil.example" in log


def reach(integration: Integration, host: str, *, allowed: bool) -> None:
    OutgoingHost.objects.create(
        integration=integration, host=host, allowed=allowed, times=2, last_at=timezone.now()
    )


@pytest.mark.parametrize("name", ["groups", "programs", "hosts", "calls", "definitions"])
def test_each_table_can_be_downloaded(risky: People, admin: Client, name: str) -> None:
    guarded(risky, "advise", "completed")
    reach(risky.gmail, "=evil.example", allowed=False)
    record(by=None, action="definition.differs", target="gmail", details={"changed": ["search"]})
    IntegrationFactory.create(slug="wide", transport="stdio", command=["uvx"], network="all")

    lines = b"".join(admin.get(f"/access/risk/csv/{name}/").streaming_content).decode()  # type: ignore[attr-defined]

    head, first, *_ = csv.reader(lines.splitlines())
    assert len(head) == len(first)
    assert not any(cell.startswith("=") for cell in first)


def test_everyone_else_is_told_nothing(risky: People, client: Client) -> None:
    client.force_login(risky.alice)

    assert client.get("/access/risk/").status_code == 404
    assert client.get("/access/risk/csv/groups/").status_code == 404


def test_more_rows_take_as_many_statements(
    risky: People, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    fill(risky, 2)
    with django_assert_max_num_queries(12) as few:
        read_risks()
    fill(risky, 20)

    with django_assert_max_num_queries(len(few.captured_queries)):
        report = read_risks()

    assert len(report.exposed.exposures) == 2
    assert len(report.guarded) == 22


def fill(people: People, number: int) -> None:
    give(people.gmail, people.finance)
    give(people.read_page, people.finance)
    for at in range(number):
        guarded(people, "advise", "completed")
        reach(people.gmail, f"{number}-{at}.example", allowed=bool(at % 2))
        record(by=None, action="definition.differs", target="gmail", details={"new": ["x"]})
        IntegrationFactory.create(
            slug=f"program-{number}-{at}", transport="stdio", command=["uvx"], network="all"
        )


def test_api_has_the_same_with_rules_that_its_own_operation_takes(
    risky: People, admin: Client
) -> None:
    guarded(risky, "advise", "completed")

    body = admin.get("/api/v1/risks").json()
    [group] = body["groups"]
    [rule] = group["rules"]
    added = admin.post("/api/v1/access/rules", rule, content_type="application/json")

    assert group["flags"]["reads_private_data"] == [
        {"integration": "gmail", "tools": ["gmail__search"]}
    ]
    assert body["guard"]["recorded"] == len(body["guarded_calls"]) == 1
    assert added.status_code == 201
    assert admin.get("/api/v1/risks").json()["groups"] == []
