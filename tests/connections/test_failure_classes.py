"""Each class of failure, and what the next caller gets right after it."""

import asyncio
from typing import Any

import pytest

from catalog.models import HealthCheck, Integration, Secret
from catalog.servers.client.mcp_session import ToolResult
from catalog.servers.client.server_problems import (
    FAILURES,
    LABELS,
    WORDS,
    Owner,
    Reason,
    ServerProblemError,
    failure_class,
)
from catalog.servers.client.targets import HttpServer
from catalog.servers.connections import _session_pool, server_requests
from catalog.servers.connections._policy import Policy
from catalog.servers.connections._session_pool import ConnectionPool
from catalog.servers.connections.health_history import record_health
from catalog.servers.connections.server_requests import record_call
from tests.factories import IntegrationFactory, UserFactory

Connection = Integration.Connection


class Fails:
    """A session whose first calls fail for one reason."""

    is_open = True
    is_forgotten = False

    def __init__(self, reason: Reason, times: int) -> None:
        self.reason, self.left = reason, times

    async def open(self) -> None:
        """Open at once."""

    async def close(self) -> None:
        """Close at once."""

    async def call(self, *_: Any, **__: Any) -> ToolResult:
        self.left -= 1
        if self.left >= 0:
            raise ServerProblemError(self.reason, sent=True)
        return ToolResult([{"type": "text", "text": "done"}])


@pytest.fixture(autouse=True)
def checks_sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    sent: list[tuple[Any, ...]] = []
    monkeypatch.setattr(server_requests, "_checked_at", {})
    monkeypatch.setattr(server_requests, "send_now", lambda *task: sent.append(task))
    return sent


def integration(**fields: Any) -> Integration:
    where = {"transport": "http", "endpoint": "https://a.example/", "connection": "connected"}
    return IntegrationFactory.create(slug="shop", **where, **fields)


def state(row: Integration) -> tuple[str, str]:
    row.refresh_from_db()
    return row.connection, row.problem


def test_every_reason_has_an_owner_and_words() -> None:
    assert FAILURES.keys() == WORDS.keys() == LABELS.keys() == set(Reason)
    assert {failure.owner for failure in FAILURES.values()} == set(Owner)


@pytest.mark.parametrize("reason", Reason)
def test_only_what_is_evidence_about_the_server_stops_another_callers_call(
    reason: Reason, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = Policy(failures=3, rest_seconds=60)
    session = Fails(reason, times=2 * policy.failures)
    monkeypatch.setattr(_session_pool.ConnectionPool, "_session", lambda *_: session)

    async def run() -> tuple[list[Reason], str]:
        pool, target, reasons = ConnectionPool(policy=policy), HttpServer("https://a.example"), []
        for _ in range(session.left):  # of one caller
            try:
                await pool.call("1/all", target, "a", {})
            except ServerProblemError as problem:
                reasons.append(problem.reason)
        session.left = 0
        try:
            other = await pool.call("1/all", target, "b", {})  # of another
        except ServerProblemError as problem:
            return reasons, problem.reason
        return reasons, other.content[0]["text"]

    reasons, other = asyncio.run(run())

    if failure_class(reason).counts:
        assert (reasons[:3], other) == ([reason] * 3, Reason.RESTING)
    else:
        assert (set(reasons), other) == ({reason}, "done")


@pytest.mark.django_db
@pytest.mark.parametrize("reason", Reason)
def test_state_changes_only_by_what_is_the_servers(
    reason: Reason, checks_sent: list[tuple[Any, ...]]
) -> None:
    row, failure = integration(), failure_class(reason)

    for _ in range(3):
        record_call(row, ServerProblemError(reason, sent=True))

    changed = (Connection.FAILING, reason) if failure.of_call else (Connection.CONNECTED, "")
    assert state(row) == changed
    # Where a call says too little, a check does: one for all that failed within a moment.
    assert len(checks_sent) == (1 if failure.of_check and not failure.of_call else 0)


@pytest.mark.django_db
@pytest.mark.parametrize("reason", [*Reason, None])
@pytest.mark.parametrize("connection", ["connected", "failing"])
def test_persons_own_account_says_nothing_about_the_shared_one(
    reason: Reason | None, connection: str, checks_sent: list[tuple[Any, ...]]
) -> None:
    row, bob = integration(own_secrets=True), UserFactory.create()
    Integration.objects.filter(pk=row.pk).update(connection=connection)
    Secret.objects.create(integration=row, user=bob, name="KEY", sealed=b"x")
    before = state(row)

    record_call(row, ServerProblemError(reason) if reason else None, user_id=bob.pk)

    assert (state(row), checks_sent) == (before, [])


@pytest.mark.django_db
def test_sign_in_that_only_calls_ask_for_stays_until_it_is_given() -> None:
    row = integration()
    record_call(row, ServerProblemError(Reason.SIGN_IN_NEEDED, sent=True))

    for _ in range(5):  # the list is open to everybody
        record_health(row, milliseconds=5, tools=3)
    asked = state(row)
    Secret.objects.create(integration=row, name="KEY", sealed=b"x")
    record_health(row, milliseconds=5, tools=3)

    assert asked == (Connection.FAILING, Reason.SIGN_IN_NEEDED)
    assert state(row) == (Connection.CONNECTED, "")
    assert HealthCheck.objects.filter(reason="").count() == 6


@pytest.mark.django_db
def test_call_that_succeeds_shows_that_no_sign_in_is_needed() -> None:
    row = integration()
    record_call(row, ServerProblemError(Reason.SIGN_IN_NEEDED, sent=True))
    row.refresh_from_db()

    record_call(row, None)

    assert state(row) == (Connection.CONNECTED, "")
