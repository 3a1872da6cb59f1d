"""Quotas and limits of calls a minute: counted as a plain count does, however a call ended."""

import json
import random
import threading
from datetime import UTC, datetime, timedelta
from math import ceil
from random import Random
from time import monotonic
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext

from acl.models import AuditEntry
from acl.rights.caller_lookup import Caller
from catalog.models import Capability
from catalog.servers.connections._session_pool import ConnectionPool
from discovery.calls import worker
from discovery.calls._audience import running_calls
from discovery.calls.execution import Execution, begin, execute
from discovery.calls.queries import cancel_call
from discovery.calls.quotas import (
    CallLimitReachedError,
    QuotaExceededError,
    QuotaRefusedError,
    check_call_limit,
    count_use,
    own_quotas,
    seconds_left,
    set_call_limit,
    set_quota,
)
from discovery.models import Call, Quota
from tests.access.people import People
from tests.calls.worker import run_call
from tests.connection_loops import own_connections
from tests.connections.http_limits import LOOPBACK, QUICK
from tests.connections.scripted import Message, ScriptedServer, scripted_server
from tests.factories import CapabilityFactory, IntegrationFactory, UserFactory, give, waiting_call
from tests.rights.conftest import session_of
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


KIND = "application/json"
MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize("seed", range(25))
def test_an_integration_takes_as_many_calls_as_its_limit_in_any_minute(
    people: People, seed: int
) -> None:
    chance, a_minute = Random(seed), Random(seed).randint(1, 5)
    mine = [people.send, CapabilityFactory.create(integration=people.gmail)]
    set_call_limit(by=None, integration=people.gmail, a_minute=a_minute)
    made, counted = _clock(), []
    for _ in range(chance.randint(0, 8)):
        tool = chance.choice([*mine, people.read_page])
        age, is_cancelled = chance.uniform(1, 110), chance.random() < 0.3
        ending = {"state": "cancelled", "ended_at": Now()} if is_cancelled else {}
        call = waiting_call(people.alice, people.support, tool, "x")
        created_at = made - timedelta(seconds=age)
        Call.objects.filter(pk=call.pk).update(created_at=created_at, **ending)
        if tool in mine and not is_cancelled:
            counted.append(created_at)

    def seconds_to_wait(now: datetime) -> float:
        recent = sorted(at for at in counted if at > now - MINUTE)[-a_minute:]
        return (recent[0] + MINUTE - now).total_seconds() if len(recent) == a_minute else 0

    longest, seconds = seconds_to_wait(_clock()), 0
    try:
        check_call_limit(people.gmail, a_minute)
    except CallLimitReachedError as reached:
        seconds = reached.seconds
    assert ceil(seconds_to_wait(_clock())) <= seconds <= ceil(longest)


def _clock() -> datetime:
    """Return the database's time, within a transaction too."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now


def test_a_call_beyond_the_limit_is_told_when_to_try_again_and_not_stored(people: People) -> None:
    root = session_of(UserFactory.create(is_staff=True, is_superuser=True))
    at = "/api/v1/integrations/gmail/call-limit"
    Capability.objects.filter(pk=people.send.pk).update(ai_access="propose")
    alice, send = session_of(people.alice), {"name": "gmail__send_email", "arguments": {}}
    assert root.put(at, {"calls_per_minute": 2}, KIND).json() == {"calls_per_minute": 2}
    assert root.put(at, {"calls_per_minute": -1}, KIND).status_code == 400

    began = monotonic()

    answers = [alice.post("/api/v1/execute", send, KIND) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [202, 202, 429]
    assert 60 - (monotonic() - began) <= int(answers[2]["Retry-After"]) <= 60
    assert "takes 2 calls a minute" in answers[2].json()["detail"]
    assert Call.objects.count() == 2
    page = "/integrations/gmail/call-limit/"
    assert root.post(page, {"calls_per_minute": "many"}).status_code == 302
    assert root.get(at).json() == {"calls_per_minute": 2}
    assert root.post(page, {"calls_per_minute": ""}).status_code == 302
    assert root.get(at).json() == {"calls_per_minute": 0}
    assert alice.post("/api/v1/execute", send, KIND).status_code == 202


SECONDS = 20
DIALOGUE: dict[str, Any] = {"capabilities": [], "answers": {}}


class Counting:
    """Script of a counting server. Slow calls are answered when they may be."""

    def __init__(self) -> None:
        self.got = 0
        self.arrived, self.may_answer = threading.Event(), threading.Event()
        self.is_over = threading.Event()

    def __call__(self, server: ScriptedServer, message: Message) -> None:
        if message["method"] != "tools/call":
            return
        self.got += 1
        if message["params"]["arguments"].get("slow"):
            self.arrived.set()
            self.may_answer.wait(SECONDS)

    def cancel_once_it_came(self, pk: UUID) -> None:
        assert self.arrived.wait(SECONDS)
        for _ in range(SECONDS * 100):  # it may be noted only now
            running_calls.hear(pk, {"cancel": True})
            if self.is_over.wait(0.01):
                return


@pytest.mark.parametrize("seed", range(4))
def test_calls_that_were_sent_count_though_they_were_cancelled(people: People, seed: int) -> None:
    chance, script = random.Random(seed), Counting()
    with (
        scripted_server(script) as server,
        own_connections(lambda: ConnectionPool(limits=QUICK, allowed=LOOPBACK)),
    ):
        integration = IntegrationFactory.create(transport="http", endpoint=server.url)
        give(integration, people.support)
        tools = [
            CapabilityFactory.create(integration=integration, action=effect, side_effect=effect)
            for effect in ("read", "write")
        ]
        quota = set_quota(by=None, measure="calls", soft=None, hard=99, user=people.alice)
        for _ in range(8):
            way = chance.choice(["answered", "cancelled before", "cancelled", "cancelled"])
            _call(people, chance.choice(tools).full_name, way, script)
            [use] = count_use([quota], user_id=people.alice.pk)
            assert use.used == script.got, way
        set_quota(by=None, measure="calls", soft=None, hard=script.got, user=people.alice)
        with pytest.raises(QuotaExceededError):
            _call(people, tools[0].full_name, "answered", script)
        script.may_answer.set()


def _call(people: People, full_name: str, way: str, script: Counting) -> None:
    caller = Caller(people.alice.pk, people.support.pk)
    arguments = {"slow": way == "cancelled"}
    begun = begin(caller=caller, full_name=full_name, arguments=arguments, dialogue=DIALOGUE)
    script.arrived.clear()
    script.is_over.clear()
    if way == "cancelled before":
        cancel_call(by=people.alice, call=begun.call)
        return
    if way == "cancelled":
        cancelling = threading.Thread(target=script.cancel_once_it_came, args=[begun.call.pk])
        cancelling.start()
        run_call(begun.call.pk)
        script.is_over.set()
        cancelling.join()
        ended = Call.objects.get(pk=begun.call.pk)
        assert ended.state in ("cancelled", "unknown")
        return
    run_call(begun.call.pk)
    assert worker.State(Call.objects.get(pk=begun.call.pk).state) == "completed"
