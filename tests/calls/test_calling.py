"""The worker's part of a call: sent once, its answer stored, questions by its own credential."""

import itertools
from datetime import timedelta
from typing import Any
from unittest.mock import patch
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models.expressions import RawSQL
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import Settings

from acl.actor import note_key, request_context
from acl.keys.lifecycle import create_key, holder_of
from acl.models import ApiKey, Space
from acl.rights.delegation.authority import KeyHolder
from catalog.models import Capability, Integration, Rule
from catalog.servers.secrets.store import set_secret
from discovery.calls.approval_queue import list_waiting
from discovery.calls.approvals import count_waiting
from discovery.calls.channel import wait_for_end
from discovery.calls.execution import NotFoundError, execute
from discovery.calls.queries import find_call, has_made
from discovery.calls.state import unexpired
from discovery.calls.tasks import MOST_ATTEMPTS, sweep
from discovery.calls.view import describe_call
from discovery.mcp.server import _client_side
from discovery.mcp.server._client_side import hear_answer
from discovery.models import Call
from tests.access.people import People
from tests.calls.conftest import Tool
from tests.calls.worker import run_call
from tests.factories import UserFactory, lay_down, take_away, waiting_call

State = Call.State
HELLO = {"text": "hello"}


def ask(people: People, capability: Capability, **more: Any) -> Call:
    """A call of alice's, before a worker takes it."""
    done = execute(caller=people.caller, full_name=capability.full_name, arguments=HELLO, **more)
    return Call.objects.get(pk=done.call_id)


def called(call: Call) -> Call:
    run_call(call.pk)
    call.refresh_from_db()
    return call


def test_answer_is_kept_and_told(people: People, tool: Tool) -> None:
    call = ask(people, tool())
    before = describe_call(call)

    called(call)
    run_call(call.pk)  # delivered twice

    told = describe_call(call)
    assert (before.status, before.is_waiting, told.status) == ("running", True, "completed")
    assert told.result == {"content": [{"type": "text", "text": "1: hello"}], "is_error": False}
    assert (call.arguments, call.attempts, call.state) == (HELLO, 1, State.COMPLETED)
    found = find_call(principal=people.alice, pk=call.pk)
    assert found is not None
    assert find_call(principal=people.bob, pk=call.pk) is None


def test_every_statement_about_expiry_goes_by_the_same_clock(people: People, tool: Tool) -> None:
    """The test's transaction has begun before the call expired, and the statements come after."""
    queued, pending = ask(people, tool()), ask(people, tool("crash"))
    Call.objects.filter(pk=pending.pk).update(state=State.WAITING)
    between = RawSQL("now() + (statement_timestamp() - now()) / 2", ())
    Call.objects.update(expires_at=between)

    called(queued)

    assert (queued.state, queued.attempts) == (State.QUEUED, 0)
    assert not Call.objects.filter(unexpired()).exists()
    assert not list(list_waiting())
    assert count_waiting(by=UserFactory.create(is_superuser=True, is_staff=True)).calls == 0
    sweep()
    assert set(Call.objects.values_list("state", flat=True)) == {State.EXPIRED}


def test_a_call_takes_seven_statements(people: People, tool: Tool) -> None:
    capability = tool()
    called(ask(people, capability))  # connects, and stores the status

    with CaptureQueriesContext(connection) as asking:
        done = execute(caller=people.caller, full_name=capability.full_name, arguments=HELLO)
    with CaptureQueriesContext(connection) as sending:
        run_call(UUID(done.call_id))
    with CaptureQueriesContext(connection) as waiting:
        ended = wait_for_end(Call.objects.get(pk=done.call_id), 1)

    assert (ended.state, ended.arguments) == (State.COMPLETED, HELLO)
    # Statements: the right, the guard's mode and the row; the claim; the right with secrets and
    # pin; the end; the read.
    assert (len(asking), len(sending), len(waiting) - 1) == (3, 3, 1)


LOSSES = {
    "the grant": lambda people, tool: take_away(tool.integration, people.support),
    "a rule": lambda people, tool: lay_down(
        Rule.Effect.DENY, tool, Space.objects.get(group=people.support)
    ),
    "quarantine": lambda people, tool: Capability.objects.filter(pk=tool.pk).update(
        state="quarantined"
    ),
    "disabled": lambda people, tool: Integration.objects.filter(pk=tool.integration_id).update(
        enabled=False
    ),
    "uninstalled": lambda people, tool: tool.integration.delete(),
    "left": lambda people, tool: people.alice.groups.clear(),
    "key": lambda people, tool: ApiKey.objects.update(revoked_at=Now()),
}


@pytest.mark.parametrize("lose", LOSSES.values(), ids=LOSSES)
def test_what_is_lost_after_the_request_is_not_called(
    people: People, tool: Tool, lose: Any, loop: Any
) -> None:
    _, raw = create_key(
        by=None, name="k", group=people.support, scopes=["execute"], acts_for_users=True
    )
    holder = holder_of(raw)
    assert holder
    capability = tool()
    with request_context(request_id="", address=""):
        note_key(holder)
        call = ask(people, capability)

    lose(people, capability)
    called(call)

    assert (call.state, call.reason, call.result) == (State.FAILED, "not_there", None)
    assert loop._thread is None  # nothing was started or contacted
    if lose is not LOSSES["key"]:
        assert find_call(principal=people.alice, pk=call.pk) is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"arguments_json": '{"text":"hello!"}'}, "changed"),
        ({"definition_hash": "another"}, "changed"),
        ({"expires_at": Now() - timedelta(hours=1)}, None),
    ],
)
def test_what_has_changed_or_is_too_late_is_not_called(
    people: People, tool: Tool, change: dict[str, Any], reason: str | None, loop: Any
) -> None:
    call = ask(people, tool())
    Call.objects.update(**change)

    called(call)
    sweep()
    call.refresh_from_db()

    expected = (State.FAILED, reason) if reason else (State.EXPIRED, "not_begun")
    assert (call.state, call.reason) == expected
    assert loop._thread is None


@pytest.mark.parametrize(
    ("mode", "side_effect", "state", "reason"),
    [
        ("crash", "write", State.UNKNOWN, "crashed"),
        ("crash", "read", State.FAILED, "crashed"),
        ("hang_at_call", "delete", State.UNKNOWN, "no_answer"),
        ("flood", "write", State.UNKNOWN, "flooding"),
        ("crash_at_start", "write", State.FAILED, "crashed"),
    ],
)
def test_outcome_that_nobody_knows_is_no_failure(
    people: People, tool: Tool, settings: Settings, mode: str, side_effect: str, state: str,
    reason: str,
) -> None:  # fmt: skip
    settings.PEGBOARD_CALL_SECONDS = 1 if mode == "hang_at_call" else 5
    call = called(ask(people, tool(mode, side_effect=side_effect)))

    sweep()
    call.refresh_from_db()

    assert (call.state, call.reason) == (state, reason)
    assert "canary" not in call.message
    assert ("is unknown whether" in describe_call(call).message) == (state == State.UNKNOWN)


def test_call_whose_worker_died_is_never_repeated_unless_it_reads(
    people: People, tool: Tool
) -> None:
    long_ago = Now() - timedelta(hours=1)
    write, read = ask(people, tool()), ask(people, tool("flap", side_effect="read"))
    Call.objects.update(state=State.RUNNING, attempts=1, started_at=long_ago, sent_at=long_ago)

    first = sweep()
    called(read)
    Call.objects.filter(pk=read.pk).update(
        state=State.RUNNING, ended_at=None, attempts=MOST_ATTEMPTS, started_at=long_ago
    )
    second = sweep()
    write.refresh_from_db()
    read.refresh_from_db()

    assert (first, second) == ([str(read.pk)], [])
    assert (write.state, write.result) == (State.UNKNOWN, None)
    assert (read.state, read.reason) == (State.FAILED, "gave_up")


def test_secret_that_a_server_repeats_is_hidden(people: People, tool: Tool) -> None:
    canary = "canary-value-4711"
    capability = tool(required_secrets=["TOKEN"])
    set_secret(integration=capability.integration, name="TOKEN", value=canary, by=people.alice)
    Capability.objects.filter(pk=capability.pk).update(action="surroundings")

    call = called(ask(people, capability))

    assert call.state == State.COMPLETED
    assert "[hidden]" in call.result_json
    assert canary not in str(Call.objects.values().get())


def test_long_answers_are_cut_and_say_so(people: People, tool: Tool, settings: Settings) -> None:
    settings.PEGBOARD_RESULT_BYTES = 10_000
    long = {"text": "x" * 20_000}
    done = execute(caller=people.caller, full_name=tool().full_name, arguments=long)

    run_call(Call.objects.get().pk)

    call = Call.objects.get(pk=done.call_id)
    told = describe_call(call)
    assert told.truncated
    assert told.result is not None
    start, note = (block["text"] for block in told.result["content"])
    assert 9_000 < len(start) < 10_000
    assert note == (
        f"[Cut: {len(start):,} of 20,003 characters; an answer has at most 10,000 bytes.]"
    )
    assert len(call.result_json) <= 10_000


def test_unknown_and_foreign_names_are_not_there(people: People, tool: Tool) -> None:
    name = tool().full_name

    for caller, asked in ((people.stranger, name), (people.caller, "evil__nothing")):
        with pytest.raises(NotFoundError):
            execute(caller=caller, full_name=asked, arguments=HELLO)

    assert not Call.objects.exists()


def test_null_of_a_strict_client_is_not_sent(people: People, tool: Tool) -> None:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    capability = tool()
    Capability.objects.filter(pk=capability.pk).update(input_schema=schema)

    null = {"text": None}
    done = execute(caller=people.caller, full_name=capability.full_name, arguments=null)

    assert Call.objects.get(pk=done.call_id).arguments == {}


MAKERS = ("alice's key", "alice's other key", "a backend's key", "alice herself")


def principals(people: People) -> dict[str, KeyHolder | User]:
    found: dict[str, KeyHolder | User] = {"alice herself": people.alice}
    for name in MAKERS[:3]:
        owner: dict[str, Any] = {"owner": people.alice}
        if name.startswith("a "):
            owner = {"acts_for_users": True}
        _, raw = create_key(by=None, name=name, group=people.support, scopes=["execute"], **owner)
        holder = holder_of(raw)
        assert holder is not None
        found[name] = holder
    return found


@pytest.mark.parametrize(("maker", "sender"), [*itertools.product(MAKERS, MAKERS)])
def test_only_the_credential_of_the_call_answers(people: People, maker: str, sender: str) -> None:
    known = principals(people)
    call = waiting_call(people.alice, people.support, people.send, "hello")
    by = known[maker]
    about: dict[str, Any] = {"actor_id": people.alice.pk, "credential": "session"}
    if isinstance(by, KeyHolder):
        about = {"key_id": by.key_id, "actor_id": by.owner_id, "credential": "key"}
    Call.objects.filter(pk=call.pk).update(
        state=Call.State.RUNNING, needs_approval=False, expires_at=None, **about
    )
    call.refresh_from_db()

    with patch.object(_client_side, "send_answer") as sent:
        hear_answer(known[sender], {"id": f"{call.pk.hex}.1", "result": {"action": "accept"}})

    assert has_made(known[sender], call) == (maker == sender)
    assert sent.called == (maker == sender)
