"""Quotas on calls: notices, refusals that name them, and who and what they count."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from acl.models import AuditEntry
from acl.rights.caller_lookup import Caller
from catalog.models import Capability
from discovery.calls.execution import Execution, execute
from discovery.calls.quotas import (
    QuotaExceededError,
    QuotaRefusedError,
    count_use,
    own_quotas,
    seconds_left,
    set_quota,
)
from discovery.models import Call, Quota
from tests.access.people import People
from tests.factories import UserFactory, give
from tests.web.conftest import client_with, new_key


@pytest.fixture
def tool(people: People) -> Capability:
    """A tool without a server: its calls end at once."""
    people.search.integration.transport = ""
    people.search.integration.save()
    return people.search


@pytest.fixture
def root(people: People) -> User:
    return UserFactory.create(username="root", is_staff=True, is_superuser=True)


def call(user: User, people: People, tool: Capability, **more: Any) -> Execution:
    return execute(
        caller=Caller(user.pk, people.support.pk), full_name=tool.full_name, arguments={}, **more
    )


def limit(hard: int | None = None, *, soft: int | None = None, **subject: Any) -> Quota:
    measure = subject.pop("measure", "calls")
    return set_quota(by=None, measure=measure, soft=soft, hard=hard, **subject)


def test_call_beyond_the_hard_limit_is_refused_with_the_quotas_name(
    people: People, tool: Capability
) -> None:
    limit(2, user=people.alice)
    first, second = (call(people.alice, people, tool) for _ in range(2))

    with pytest.raises(QuotaExceededError, match=r"“2 calls a day for alice” is used up \(2 today"):
        call(people.alice, people, tool)
    other = call(people.bob, people, tool)

    assert first.notice == "1 used today of the quota “2 calls a day for alice”."
    assert second.notice is not None
    assert other.notice is None
    assert Call.objects.count() == 3


def test_soft_limit_gives_a_notice_and_refuses_nothing(people: People, tool: Capability) -> None:
    limit(soft=2, group=people.support)

    notices = [call(people.alice, people, tool).notice for _ in range(3)]

    assert notices == [
        None,
        "2 used today of the quota “2 calls a day in support”.",
        "3 used today of the quota “2 calls a day in support”.",
    ]


def test_quota_counts_what_it_names(people: People, tool: Capability) -> None:
    give(people.wiki, people.finance)
    each = limit(9, each_person=True)
    of_tool = limit(9, capability=tool)
    of_group = limit(9, group=people.support)
    of_finance = limit(9, group=people.finance)
    for user in (people.alice, people.alice, people.bob):
        call(user, people, tool)
    refused = Call.objects.filter(user=people.bob)
    refused.update(state="rejected")

    quotas = [each, of_tool, of_group, of_finance]
    used = [use.used for use in count_use(quotas, user_id=None)]
    bobs = [use.used for use in count_use(quotas, user_id=people.bob.pk)]
    Call.objects.update(created_at=datetime.now(UTC) - timedelta(days=1))

    assert used == [2, 2, 2, 0]
    assert bobs == [0, 2, 2, 0]
    assert [use.used for use in count_use(quotas, user_id=None)] == [0, 0, 0, 0]
    assert [use.quota for use in own_quotas(people.caller)] == [each]


def test_tokens_of_arguments_and_results_are_counted(people: People, tool: Capability) -> None:
    limit(5, measure="tokens", each_person=True)

    call(people.alice, people, tool)
    Call.objects.update(tokens_result=5)

    with pytest.raises(QuotaExceededError, match="5 tokens a day for each person"):
        call(people.alice, people, tool)


def test_repeated_request_gets_its_call_even_when_the_quota_is_used_up(
    people: People, tool: Capability
) -> None:
    limit(1, user=people.alice)
    first = call(people.alice, people, tool, idempotency_key="once")

    again = call(people.alice, people, tool, idempotency_key="once")

    assert again.call_id == first.call_id


def test_api_answers_429_until_the_day_ends(people: People, tool: Capability) -> None:
    client = client_with(new_key(people.support, "execute"))
    limit(1, each_person=True, group=people.support)
    body = {"user": "alice", "name": tool.full_name}

    first = client.post("/api/v1/execute", body, "application/json")
    over = client.post("/api/v1/execute", body, "application/json")
    meta = client.post(
        "/api/v1/meta/execute_tool",
        {"user": "alice", "arguments": {"name": tool.full_name, "arguments": {}}},
        "application/json",
    )

    assert "1 used today" in first.json()["notice"]
    assert (over.status_code, meta.status_code) == (429, 429)
    assert 0 < int(over["Retry-After"]) <= 86_400
    assert "1 calls a day for each person in support" in over.json()["detail"]


def test_number_of_statements_does_not_grow_with_quotas(people: People, tool: Capability) -> None:
    counts: list[int] = []
    for users in ((), (people.alice,), (UserFactory.create() for _ in range(5)), ()):
        for user in users:
            limit(99, user=user)
        if counts:
            limit(99, group=people.support)
            limit(99, capability=tool)
        with CaptureQueriesContext(connection) as statements:
            call(people.alice, people, tool)
        counts.append(len([one for one in statements if "POINT" not in (one["sql"] or "")]))

    assert counts[1] == counts[2] == counts[3]
    assert counts[1] - counts[0] <= 2


def test_admin_sets_lists_and_deletes_quotas_by_api(people: People, root: User) -> None:
    client, kind = Client(), "application/json"
    client.force_login(root)
    body = {"group": "support", "each_person": True, "measure": "calls", "soft": 5, "hard": 9}

    made = client.post("/api/v1/quotas", body, kind).json()
    client.post("/api/v1/quotas", {**body, "hard": 10}, kind)
    listed = client.get("/api/v1/quotas").json()["quotas"]
    wrong = [
        client.post("/api/v1/quotas", each, kind)
        for each in (
            {**body, "user": "nobody"}, {**body, "tool": "nothing"}, {**body, "measure": "x"},
            {**body, "hard": -1}, {**body, "hard": 1}, {"measure": "calls"},
            {**body, "user": "alice"},
        )
    ]  # fmt: skip
    deleted = client.delete(f"/api/v1/quotas/{made['id']}")

    assert (made["text"], made["used"]) == ("9 calls a day for each person in support", 0)
    assert [(one["id"], one["hard"], one["tool"]) for one in listed] == [(made["id"], 10, None)]
    assert [answer.status_code for answer in wrong] == [400, 400, 400, 400, 422, 422, 422]
    assert deleted.status_code == 204
    assert AuditEntry.objects.filter(action__startswith="quota.").count() == 3
    with pytest.raises(QuotaRefusedError):
        set_quota(by=None, measure="calls", soft=None, hard=None)


def test_day_ends_at_midnight_in_utc() -> None:
    assert seconds_left(datetime(2026, 3, 4, 23, 59, 30, tzinfo=UTC)) == 30
    assert seconds_left(datetime(2026, 3, 4, 0, 0, tzinfo=UTC)) == 86_400
    assert json.dumps(seconds_left(datetime(2026, 3, 4, 23, 59, 59, 999_999, tzinfo=UTC))) == "1"
