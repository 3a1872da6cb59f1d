"""Policies of groups on their calls, applied by the sweeper an hour after the end."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from acl.models import AuditEntry
from discovery.calls._policy import redact, set_policy
from discovery.calls.arguments import find_last_approved
from discovery.calls.queries import find_call
from discovery.calls.tasks import sweep
from discovery.calls.view import describe_call
from discovery.models import Call
from discovery.models.call import Content
from tests.access.people import People
from tests.factories import UserFactory, waiting_call
from tests.sessions import session_of

RESULT = {"content": [{"type": "text", "text": "salary: 4000"}], "structured": {"pay": 4000}}


@pytest.fixture
def root(people: People) -> User:
    return UserFactory.create(username="root", is_staff=True, is_superuser=True)


def ended(people: People, *, hours: float = 2, **more: Any) -> Call:
    call = waiting_call(people.alice, people.support, people.send, "Dear bob")
    at = timezone.now() - timedelta(hours=hours)
    row = {
        "state": "completed", "way": "server", "needs_approval": False, "started_at": at,
        "ended_at": at, "result_json": json.dumps(RESULT),
        "flow": {"verdict": "asks", "reason": "4000", "advice": "", "values": [{"value": "4000"}]},
        "questions": [{"kind": "elicitation", "state": "accepted", "text": "4000?"}],
    }  # fmt: skip
    Call.objects.filter(pk=call.pk).update(**{**row, **more})
    return Call.objects.get(pk=call.pk)


def after_sweep(call: Call) -> Call:
    sweep()
    return Call.objects.get(pk=call.pk)


def test_redacted_call_keeps_names_types_and_lengths(people: People) -> None:
    set_policy(by=None, group=people.support, content=Content.REDACTED, days=None)
    call, fresh = ended(people), ended(people, hours=0.5)

    redacted = after_sweep(call)
    read = find_call(principal=people.alice, pk=call.pk)

    assert redacted.arguments == {"text": "[text of 8 characters]"}
    assert read is not None
    assert describe_call(read).result == {
        "content": [{"type": "text", "text": "[text of 12 characters]"}],
        "structured": {"pay": "[number]"},
    }
    assert redacted.flow == {"verdict": "asks"}
    assert redacted.questions == [{"kind": "elicitation", "state": "accepted"}]
    assert after_sweep(fresh).arguments == {"text": "Dear bob"}


def test_removed_call_keeps_neither_and_its_answer_says_so(people: People) -> None:
    set_policy(by=None, group=people.support, content=Content.REMOVED, days=None)
    call = ended(people)
    asked = ended(people, way="client", result_json="")
    lost = ended(people, state="unknown", message="It is unknown\nserver: 4000", result_json="")
    failed = ended(people, state="failed", message="The server says 4000")

    removed = after_sweep(call)
    unknown, words = Call.objects.get(pk=lost.pk), Call.objects.get(pk=failed.pk)
    client = find_call(principal=people.alice, pk=asked.pk)

    assert (removed.arguments_json, removed.result_json) == ("{}", "")
    assert "removed" in describe_call(removed).message
    assert client is not None
    assert (describe_call(client).status, describe_call(client).arguments) == (
        "client_executes",
        None,
    )
    assert "check before you try again" in unknown.message
    assert "4000" not in unknown.message + words.message


def test_policy_of_another_group_and_weaker_ones_change_nothing(people: People) -> None:
    set_policy(by=None, group=people.finance, content=Content.REMOVED, days=1)
    call = ended(people, hours=50)

    untouched = after_sweep(call)
    set_policy(by=None, group=people.support, content=Content.REMOVED, days=None)
    removed = after_sweep(call)
    set_policy(by=None, group=people.support, content=Content.REDACTED, days=None)

    assert untouched.arguments == {"text": "Dear bob"}
    assert removed.content == after_sweep(call).content == Content.REMOVED


def test_calls_are_deleted_after_the_groups_days(people: People) -> None:
    set_policy(by=None, group=people.support, content=Content.KEPT, days=2)
    old, young = ended(people, hours=49), ended(people, hours=47)

    sweep()

    assert [*Call.objects.values_list("pk", flat=True)] == [young.pk]
    assert old.pk != young.pk


def test_pending_call_keeps_what_will_be_sent(people: People) -> None:
    set_policy(by=None, group=people.support, content=Content.REMOVED, days=1)
    pending = waiting_call(people.alice, people.support, people.send, "Dear bob")
    Call.objects.update(created_at=timezone.now() - timedelta(days=1))

    assert after_sweep(pending).arguments == {"text": "Dear bob"}


def test_redacted_call_is_not_what_approvers_compare_with(people: People) -> None:
    at = timezone.now() - timedelta(hours=3)
    approved = ended(people, needs_approval=True, approved_digest="x", decided_at=at)
    pending = waiting_call(people.alice, people.support, people.send, "Dear bob")

    before = find_last_approved(pending)
    set_policy(by=None, group=people.support, content=Content.REDACTED, days=None)
    sweep()

    assert before == approved
    assert find_last_approved(pending) is None


def test_admin_sets_the_policy_by_api(people: People, root: User) -> None:
    client = session_of(root)
    path, kind = f"/api/v1/groups/{people.support.pk}/call-policy", "application/json"

    first = client.get(path).json()
    put = client.put(path, {"content": "redacted", "days": 7}, kind)
    same = client.put(path, {"content": "redacted", "days": 7}, kind)
    wrong = [
        client.put(path, body, kind).json()["field"]
        for body in (
            {"content": "all", "days": 7}, {"content": "kept", "days": 0}, {"content": "kept"},
        )
    ]  # fmt: skip
    client.force_login(people.alice)

    assert first == {"content": "kept", "days": None}
    assert put.json() == same.json() == {"content": "redacted", "days": 7}
    assert wrong == ["content", "days", "days"]
    assert AuditEntry.objects.filter(action="call_policy.changed").count() == 1
    assert client.get(path).status_code == 403


def test_redaction_hides_every_text_and_number() -> None:
    value = {"a": ["x", 1, 1.5, None, True, {"b": "y"}], "type": "secret", "c": {"type": "image"}}

    assert redact(value) == {
        "a": ["[text of 1 characters]", "[number]", "[number]", None, True,
              {"b": "[text of 1 characters]"}],
        "type": "[text of 6 characters]",
        "c": {"type": "image"},
    }  # fmt: skip
