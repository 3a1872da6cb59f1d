"""Approvals: who may approve, what it covers, and that one approval is one call (APR-1)."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models.functions import Now
from pytest_django.fixtures import Settings

from acl.keys.lifecycle import create_key
from acl.models import AuditEntry
from acl.people.people import create_service_account
from catalog.models import Capability
from discovery.calls.approvals import (
    CannotDecideError,
    MayNotDecideError,
    approve_call,
    reject_call,
)
from discovery.calls.arguments import digest_of
from discovery.calls.execution import execute
from discovery.calls.queries import TooLateError, cancel_call
from discovery.calls.tasks import sweep
from discovery.calls.view import describe_call
from discovery.models import Call
from tests.access.people import People
from tests.calls.conftest import Tool
from tests.calls.worker import run_call
from tests.factories import CapabilityFactory, IntegrationFactory, UserFactory, take_away
from tests.readiness.policy import asks_first
from tests.web.conftest import client_with, new_key

State = Call.State
HELLO = {"text": "hello"}


@pytest.fixture
def root(people: People) -> User:
    return UserFactory.create(username="root", is_staff=True, groups=[people.support])


@pytest.fixture
def asked(people: People, tool: Tool) -> Call:
    """A pending call of alice's."""
    capability = tool()
    Capability.objects.filter(pk=capability.pk).update(ai_access="propose")
    done = execute(caller=people.caller, full_name=capability.full_name, arguments=HELLO)
    assert (done.status, done.arguments) == ("approval_needed", HELLO)
    return Call.objects.get(pk=done.call_id)


def approve(by: User, call: Call, **more: Any) -> Call:
    return approve_call(by=by, call=call, digest=digest_of(call), **more)


def run(call: Call) -> Call:
    run_call(call.pk)
    call.refresh_from_db()
    return call


def test_nothing_runs_before_a_person_says_yes(root: User, asked: Call, people: People) -> None:
    before = run(asked).state

    approve(root, asked, note="go on")
    run(asked)

    assert (before, asked.state) == (State.WAITING, State.COMPLETED)
    assert describe_call(asked).note == "go on"
    entry = AuditEntry.objects.get(action="call.approve")
    assert (entry.by, entry.details["arguments"]) == (root, asked.arguments_hash)
    assert "hello" not in str(entry.details)


@pytest.mark.parametrize(
    "change",
    [
        {"arguments_json": '{"text":"hello!"}'},
        {"definition_hash": "another"},
        {"full_name": "evil-fine__other"},
        {"group_id": None},
        {"capability": {"definition_hash": "another"}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_approved_call_that_was_changed_is_refused(
    root: User, asked: Call, people: People, change: dict[str, Any], loop: Any
) -> None:
    seen = digest_of(asked)
    if "group_id" in change:
        change = {"group_id": people.finance.pk}
    approve(root, asked)

    if "capability" in change:
        Capability.objects.filter(action="echo").update(**change["capability"])
    else:
        Call.objects.update(**change)
    run(asked)

    assert asked.state == State.FAILED
    assert asked.reason in {"changed", "not_there"}
    assert loop._thread is None
    Call.objects.update(state=State.WAITING, ended_at=None)
    asked.refresh_from_db()
    with pytest.raises(CannotDecideError):  # the digest displayed before is not approved
        approve_call(by=root, call=asked, digest=seen)


def test_expired_and_decided_and_foreign_ones_are_refused(
    root: User, asked: Call, people: People, settings: Settings
) -> None:
    second = UserFactory.create(is_staff=True)
    Call.objects.update(expires_at=Now() - timedelta(minutes=30))
    with pytest.raises(CannotDecideError, match="it has expired"):
        approve(root, asked)
    sweep()
    asked.refresh_from_db()
    expired = asked.state
    Call.objects.update(state=State.WAITING, ended_at=None, expires_at=Now() + timedelta(hours=1))
    asked.refresh_from_db()

    stale = Call.objects.get()
    reject_call(by=root, call=asked, note="Use the other one.")
    with pytest.raises(CannotDecideError):
        approve(second, stale)
    with pytest.raises(CannotDecideError):
        reject_call(by=root, call=asked, note="x")
    with pytest.raises(TooLateError):
        cancel_call(by=people.alice, call=Call.objects.get())

    told = describe_call(run(asked))
    assert (expired, told.status, told.note) == (State.EXPIRED, "rejected", "Use the other one.")


def test_who_asked_and_programs_do_not_approve(
    asked: Call, people: People, settings: Settings
) -> None:
    User.objects.filter(pk=people.alice.pk).update(is_staff=True, is_superuser=True)
    people.alice.refresh_from_db()
    robot = create_service_account(by=None, name="robot", groups=[people.support])

    for someone in (people.alice, robot, None):
        with pytest.raises(MayNotDecideError):
            approve_call(by=someone, call=asked, digest=digest_of(asked))
    settings.PEGBOARD_SELF_APPROVAL = True
    approve(people.alice, asked)

    assert run(asked).state == State.COMPLETED


def test_yes_gives_no_right_that_is_gone(root: User, asked: Call, people: People) -> None:
    assert asked.capability is not None
    take_away(asked.capability.integration, people.support)

    with pytest.raises(CannotDecideError, match="may no longer use"):
        approve(root, asked)


def test_approved_call_that_a_client_carries_out_is_handed_back(root: User, people: People) -> None:
    Capability.objects.filter(pk=people.send.pk).update(ai_access="propose")
    done = execute(caller=people.caller, full_name="gmail__send_email", arguments=HELLO)

    call = approve(root, Call.objects.get(pk=done.call_id))

    told = describe_call(call)
    assert (told.status, told.arguments) == ("client_executes", HELLO)


def test_key_of_a_person_approves_by_rest_in_its_own_group(
    root: User, asked: Call, people: People
) -> None:
    _, raw = create_key(by=None, name="k", group=people.support, scopes=["admin"], owner=root)
    admin, owns_nobody = client_with(raw), client_with(new_key(people.support, "admin"))
    stranger = client_with(new_key(people.finance, "admin"))
    path, kind = f"/api/v1/approvals/{asked.pk}", "application/json"

    listed = admin.get("/api/v1/approvals").json()
    digest = admin.get(path).json()["digest"]
    refused = [
        stranger.post(f"{path}/approve", {"digest": digest}, kind).status_code,
        owns_nobody.post(f"{path}/approve", {"digest": digest}, kind).status_code,
        admin.post(f"{path}/approve", {"digest": "x"}, kind).status_code,
        admin.post(f"{path}/reject", {"note": ""}, kind).status_code,
    ]
    yes = admin.post(f"{path}/approve", {"digest": digest}, kind)

    assert listed["total"] == 1
    assert listed["items"][0]["arguments"] == HELLO
    assert refused == [404, 403, 409, 400]
    assert (yes.status_code, yes.json()["state"], yes.json()["decided_by"]) == (
        200,
        "queued",
        "root",
    )
    assert admin.post(f"{path}/approve", {"digest": digest}, kind).status_code == 409
    assert stranger.get("/api/v1/approvals?state=decided").json()["total"] == 0
    assert admin.get("/api/v1/approvals?state=decided").json()["total"] == 1


_NAMED = {"delete_all": "delete"}


@pytest.mark.parametrize(
    ("policy", "action", "effect", "kind", "trusted", "waits"),
    [
        ("propose", "wipe", "delete", "mcp", (), False),
        ("delete", "wipe", "delete", "mcp", (), True),
        ("delete", "send", "write", "mcp", (), False),
        ("write", "send", "write", "mcp", (), True),
        # A server's claim that a tool only reads changes nothing …
        ("write", "look", "read", "mcp", (), True),
        ("delete", "delete_all", "read", "mcp", (), True),
        ("delete", "delete_all", "write", "mcp", (), True),
        # … unless the operator trusts the server. Definitions written by admins are trusted anyway.
        ("write", "look", "read", "mcp", ("mail",), False),
        ("write", "look", "read", "mcp", ("*",), False),
        ("write", "look", "read", "manifest", (), False),
        ("all", "look", "read", "manifest", (), True),
    ],
)
@pytest.mark.django_db
def test_what_waits_by_policy(
    settings: Settings, policy: str, action: str, effect: str, kind: str, trusted: Any, waits: bool
) -> None:
    settings.PEGBOARD_APPROVE, settings.PEGBOARD_TRUSTED_SERVERS = policy, trusted
    integration = IntegrationFactory.create(slug="mail", kind=kind)
    tool = CapabilityFactory.create(
        integration=integration,
        action=action,
        side_effect=effect,
        effect_confidence=0.7,
        effect_evidence={"side_effect": [{"source": "name", "says": _NAMED.get(action, "")}]},
        annotations={"readOnlyHint": effect == "read"},
    )

    assert asks_first(tool) == waits

    Capability.objects.filter(pk=tool.pk).update(ai_access="propose")
    assert asks_first(tool)
