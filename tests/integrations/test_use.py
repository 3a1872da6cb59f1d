"""Use of integrations: in the list, on their pages, and those that nobody uses."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from catalog.models import Capability, Integration
from discovery.insights.integration_use import list_people_using, use_by_integration
from discovery.models import Call
from marketplace.integrations.listing import IntegrationFilters, list_integrations, rows_of
from tests.access.people import People, invite
from tests.factories import CapabilityFactory, IntegrationFactory, UserFactory, waiting_call


@pytest.fixture
def people(db: None) -> People:
    return invite()


@pytest.fixture
def as_root(people: People) -> Client:
    client = Client()
    client.force_login(UserFactory.create(username="root", is_staff=True, is_superuser=True))
    return client


def called(user: User, tool: Capability, *, days: float, state: str = "completed") -> None:
    call = waiting_call(user, user.groups.get(), tool, "x")
    at = timezone.now() - timedelta(days=days)
    Call.objects.filter(pk=call.pk).update(
        state=state, needs_approval=False, created_at=at, ended_at=at
    )


def test_row_counts_calls_and_errors_of_the_week(people: People, as_root: Client) -> None:
    called(people.alice, people.send, days=1)
    called(people.bob, people.search, days=2, state="failed")
    called(people.alice, people.send, days=9)
    called(people.charlie, people.pay, days=40)

    use = use_by_integration([people.gmail.pk, people.wiki.pk, people.payroll.pk])
    page = " ".join(as_root.get("/integrations/").content.decode().split())

    gmail, payroll = use[people.gmail.pk], use[people.payroll.pk]
    assert (gmail.calls, gmail.failed, gmail.people) == (2, 1, 2)
    assert (payroll.calls, payroll.people) == (0, 0)
    assert people.wiki.pk not in use
    assert "2 calls this week" in page
    assert "/calls/?integration=gmail&amp;state=failed" in page


def test_unused_ones_are_found(people: People, as_root: Client) -> None:
    called(people.alice, people.send, days=29)
    called(people.charlie, people.pay, days=31)
    IntegrationFactory.create(slug="off", enabled=False)

    found = list_integrations(IntegrationFilters(show="unused"))

    assert {integration.slug for integration in found} == {"wiki", "payroll"}
    assert as_root.get("/integrations/?show=unused").status_code == 200


def is_on(slug: str) -> bool:
    return Integration.objects.get(slug=slug).enabled


def test_page_says_who_uses_it_before_it_is_switched_off(people: People, as_root: Client) -> None:
    for days in (1, 2):
        called(people.alice, people.send, days=days)
    called(people.bob, people.search, days=40)

    page = " ".join(as_root.get("/integrations/gmail/").content.decode().split())

    assert [(one.user, one.group, one.calls) for one in list_people_using(people.gmail.pk)] == [
        ("alice", "support", 2)
    ]
    assert "2 calls, last" in page
    switch = "/integrations/gmail/switch/"
    asked = as_root.post(switch, {"enabled": ""})
    kept = is_on("gmail")
    assert asked.status_code == 200
    assert "2 calls, last" in " ".join(asked.content.decode().split())
    as_root.post(switch, {"enabled": "", "confirmed": "on"})
    as_root.post("/integrations/wiki/switch/", {"enabled": ""})  # nobody to ask about
    assert (kept, is_on("gmail"), is_on("wiki")) == (True, False, False)
    assert "Nobody has called its tools" in as_root.get("/integrations/wiki/").content.decode()


def test_rows_take_the_same_statements_for_two_and_for_twenty(people: People) -> None:
    counts = []
    for more in (0, 17):
        for _ in range(more):
            called(people.alice, CapabilityFactory.create(), days=1)
        with CaptureQueriesContext(connection) as statements:
            rows_of(list(list_integrations(IntegrationFilters())))
        counts.append(len(statements))

    assert counts[0] == counts[1]
