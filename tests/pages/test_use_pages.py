"""Insights: use and cost by tool, person and group, and the page of quotas."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from catalog.models import Capability
from discovery.calls.quotas import set_quota
from discovery.models import Call, Quota, Turn
from tests.access.people import People
from tests.factories import UserFactory, waiting_call
from tests.insights.downloads import table
from tests.sessions import session_of
from tests.web.conftest import client_with, new_key


@pytest.fixture
def root(people: People) -> User:
    return UserFactory.create(username="root", is_staff=True, is_superuser=True)


def called(user: User, tool: Capability, *, ms: int = 100, **more: Any) -> None:
    call = waiting_call(user, user.groups.get(), tool, "x")
    # Of today also just after midnight, since quotas count by days.
    now = timezone.now()
    at = max(now - timedelta(minutes=5), now.replace(hour=0, minute=0, second=0, microsecond=0))
    row = {
        "state": "completed", "needs_approval": False, "created_at": at, "started_at": at,
        "ended_at": at + timedelta(milliseconds=ms), "tokens_arguments": 3, "tokens_result": 7,
    }  # fmt: skip
    Call.objects.filter(pk=call.pk).update(**{**row, **more})


def test_admin_sees_use_by_tool_person_and_group(people: People, root: User) -> None:
    for ms in range(100, 2100, 100):
        called(people.alice, people.send, ms=ms)
    called(people.bob, people.search, state="failed")
    called(people.charlie, people.pay)
    Turn.objects.create(user=people.alice, group=people.support, tokens_all=900, tokens_selected=40)
    Turn.objects.create(
        user=people.alice, group=people.support, tokens_all=900, tokens_selected=40, mode="all"
    )
    client = session_of(root)

    page = " ".join(client.get("/insights/use/").content.decode().split())
    tools, persons, groups = (table(client, f"use_{by}") for by in ("tool", "person", "group"))

    assert [(row["tool"], row["calls"], row["failed"]) for row in tools] == [
        ("gmail__send_email", "20", "0"), ("gmail__search", "1", "1"), ("payroll__pay", "1", "0"),
    ]  # fmt: skip
    assert float(tools[0]["p95_ms"]) == pytest.approx(1905)
    assert (tools[0]["argument_tokens"], tools[0]["result_tokens"]) == ("60", "140")
    alice = next(row for row in persons if row["person"] == "alice")
    assert (alice["turns"], alice["definition_tokens"]) == ("2", "940")
    assert {row["group"]: row["calls"] for row in groups} == {"support": "21", "finance": "1"}
    assert "1,905 ms" in page or "1905 ms" in page


def test_api_tells_the_same_and_a_key_sees_its_group_only(people: People, root: User) -> None:
    for _ in range(2):
        called(people.alice, people.send)
    called(people.bob, people.search, state="failed")
    called(people.charlie, people.pay)
    path = "/api/v1/figures/use"
    key = client_with(new_key(people.support, "admin"))

    tools = session_of(root).get(path, {"by": "tool"}).json()["items"]
    persons = key.get(path, {"by": "person", "limit": "1"}).json()
    of_key = key.get(path, {"by": "tool"}).json()["items"]
    wrong = [
        key.get(f"{path}?{query}").status_code for query in ("by=x", "limit=0", "group=finance")
    ]

    assert [(row["name"], row["calls"], row["failed"]) for row in tools] == [
        ("gmail__send_email", 2, 0), ("gmail__search", 1, 1), ("payroll__pay", 1, 0),
    ]  # fmt: skip
    assert [row["name"] for row in persons["items"]] == ["alice"]
    assert persons["group"] == "support"
    assert {row["name"] for row in of_key} == {"gmail__send_email", "gmail__search"}
    assert wrong[:2] == [400, 400]
    assert wrong[2] >= 400


def test_person_sees_their_own_use_and_quotas_only(people: People, root: User) -> None:
    called(people.alice, people.send)
    called(people.bob, people.search)
    called(people.alice, people.delete_page)  # no longer theirs to use
    set_quota(by=None, measure="calls", soft=1, hard=9, each_person=True)
    set_quota(by=None, measure="calls", soft=1, hard=8, user=people.bob)
    client = session_of(people.alice)

    page = " ".join(client.get("/insights/use/").content.decode().split())

    assert "gmail__send_email" in page
    assert "gmail__search" not in page
    assert "wiki__delete_page" not in page
    assert "9 calls a day for each person" in page
    assert "8 calls" not in page
    assert [row["tool"] for row in table(client, "use_tool")] == ["gmail__send_email"]
    assert client.get("/insights/csv/use_person/").status_code == 404
    assert client.get("/insights/quotas/").status_code == 404


def test_admin_sets_and_deletes_quotas(people: People, root: User) -> None:
    client, path = session_of(root), "/insights/quotas/"
    body = {"whose": "one", "user": "alice", "measure": "calls", "soft": "1", "hard": "2"}

    saved = client.post(path, body)
    wrong = [
        client.post(path, {**body, **change}).status_code
        for change in (
            {"user": ""}, {"user": "nobody"}, {"tool": "nothing"}, {"hard": "0"}, {"hard": "x"},
            {"soft": "", "hard": ""}, {"group": "0"},
        )
    ]  # fmt: skip
    called(people.alice, people.send)
    page = " ".join(client.get(path).content.decode().split())
    quota = Quota.objects.get()
    deleted = client.post(f"{path}{quota.pk}/delete/")

    assert saved.status_code == 302
    assert wrong == [422] * 7
    assert (quota.user, quota.soft, quota.hard) == (people.alice, 1, 2)
    assert "near its end" in page
    assert deleted.status_code == 302
    assert not Quota.objects.exists()


def test_statements_do_not_grow(people: People, root: User) -> None:
    client, counts = session_of(root), []
    for more in (2, 15):
        for _ in range(more):
            user = UserFactory.create(groups=[people.support])
            called(user, people.send)
            set_quota(by=None, measure="calls", soft=1, hard=2, user=user)
        numbers = []
        for path in ("/insights/use/", "/insights/quotas/"):
            client.get(path)
            with CaptureQueriesContext(connection) as statements:
                client.get(path)
            numbers.append(len(statements))
        counts.append(numbers)

    assert counts[0] == counts[1]
