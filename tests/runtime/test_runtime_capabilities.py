"""Runtime capabilities, from proposed to retired."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, connections
from django.db.models import F
from django.db.models.functions import Now
from django.test import Client

from acl.models import AuditEntry, GroupPolicy
from acl.rights.caller_lookup import Caller
from catalog.capabilities.runtime_state import retire_expired
from catalog.models import Capability, Definition, Integration, RuntimeCapability
from catalog.runtime.service import RUNTIME_KINDS
from discovery.calls.tasks import sweep
from discovery.select.selection import SelectRequest
from discovery.select.selector import select_capabilities
from tests.access.people import People, invite
from tests.factories import active_model, waiting_call
from tests.runtime.conftest import (
    HAIKU,
    HIDDEN,
    SUM_UP,
    WHISPER,
    key_of,
    post,
    put,
    without_name,
)

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (HAIKU, "skill", "completed"),
        (SUM_UP, "extension", "client_executes"),
        (WHISPER, "voice", "client_executes"),
    ],
)
def test_each_kind_is_made_and_called_by_the_group(
    people: People, body: dict[str, Any], kind: str, status: str
) -> None:
    client = key_of(people.alice)

    made = post(client, body)

    assert made.status_code == 201, made.json()
    name = made.json()["full_name"]
    assert (made.json()["state"], made.json()["owner"]) == ("proposed", "alice")
    integration = Integration.objects.get(capabilities__full_name=name)
    assert (integration.kind, integration.restricted) == (kind, True)
    called = post(key_of(people.bob), {"name": name}, "execute")
    assert called.json()["status"] == status
    stranger = key_of(people.charlie)
    foreign, unknown = (post(stranger, {"name": one}, "execute") for one in (name, "no_such"))
    assert foreign.status_code == unknown.status_code != 200


def test_whole_life(people: People, admin: Client) -> None:
    name = post(key_of(people.alice), HAIKU).json()["full_name"]
    one = Capability.objects.get(full_name=name)
    call = waiting_call(people.bob, people.support, one, "x")
    type(call).objects.filter(pk=call.pk).update(
        state="completed", needs_approval=False, ended_at=Now(), started_at=Now()
    )

    sweep()

    assert RuntimeCapability.objects.get().state == "tried"
    at = f"runtime-capabilities/{name}"
    promote = {"state": "promoted", "groups": ["finance"]}
    assert post(admin, promote, at).status_code == 409
    assert post(admin, {"state": "approved", "seen": "0" * 64}, at).status_code == 409
    seen = admin.get(f"/api/v1/{at}").json()["definition"]
    assert post(admin, {"state": "approved", "seen": seen}, at).json()["state"] == "approved"
    assert name not in usable(people.stranger)
    promoted = post(admin, promote, at).json()
    assert (promoted["state"], promoted["expires_at"]) == ("promoted", None)
    assert name in usable(people.stranger)
    changed = put(key_of(people.alice), name, without_name(HAIKU, content="Other."))
    assert changed.status_code == 409
    assert post(admin, {"state": "retired"}, at).json()["state"] == "retired"
    assert name not in usable(people.stranger) | usable(people.caller)
    assert post(key_of(people.alice), HAIKU).status_code == 409
    actions = AuditEntry.objects.filter(target=name).order_by("pk")
    assert [entry.action.partition(".")[2] for entry in actions] == [
        "propose",
        "tried",
        "approve",
        "promote",
        "retire",
    ]


def test_selection_finds_it_for_the_proposing_group_only(people: People) -> None:
    name = post(key_of(people.alice), HAIKU).json()["full_name"]

    def selected(caller: Caller) -> set[str]:
        found = select_capabilities(SelectRequest("write a haiku about the harvest", caller))
        return {one.full_name for one in found.selected}

    assert name in selected(people.caller)
    assert name in selected(Caller(people.bob.pk, people.support.pk))
    assert name not in selected(people.stranger)


def test_open_group_does_not_get_it_by_default(people: People) -> None:
    GroupPolicy.objects.filter(group=people.finance).update(open_default=True)

    name = post(key_of(people.alice), HAIKU).json()["full_name"]

    assert name not in usable(people.stranger)


@pytest.mark.parametrize("who", ["bob", "charlie"])
def test_someone_elses_is_answered_like_an_unknown_one(people: People, who: str) -> None:
    name = post(key_of(people.alice), HAIKU).json()["full_name"]
    client, body = key_of(getattr(people, who)), without_name(HAIKU, content="Mine.")

    answers = [
        (put(client, one, body), client.delete(f"/api/v1/capabilities/{one}"))
        for one in (name, "team0-skills__none")
    ]

    told = [[(answer.status_code, answer.json()["detail"]) for answer in pair] for pair in answers]
    assert told[0] == told[1]
    assert told[0][0][0] == 404
    assert Capability.objects.get(full_name=name).content == HAIKU["content"]


def test_key_makes_nothing_in_a_group_that_its_owner_left(people: People) -> None:
    client = key_of(people.alice)
    people.alice.groups.clear()

    answer = post(client, HAIKU)

    assert answer.status_code in {401, 403}
    assert not RuntimeCapability.objects.exists()


def test_key_names_no_other_group(people: People) -> None:
    answers = [
        post(key_of(people.alice), {**HAIKU, "group": group}) for group in ("finance", "none")
    ]

    assert [answer.status_code for answer in answers] == [403, 403]
    assert answers[0].json()["detail"] == answers[1].json()["detail"]


def test_same_definition_again_changes_nothing(people: People) -> None:
    client = key_of(people.alice)
    name = post(client, HAIKU).json()["full_name"]
    first = put(client, name, without_name(HAIKU, content="Short."))
    before = AuditEntry.objects.count()

    again = put(client, name, without_name(HAIKU, content="Short."))

    assert (first.status_code, again.status_code) == (200, 200)
    assert first.json() == again.json()
    assert AuditEntry.objects.count() == before
    assert Capability.objects.get(full_name=name).content == "Short."


def test_replaced_definition_is_proposed_again(people: People, admin: Client) -> None:
    client = key_of(people.alice)
    made = post(client, HAIKU).json()
    at = f"runtime-capabilities/{made['full_name']}"
    post(admin, {"state": "approved", "seen": made["definition"]}, at)

    replaced = put(client, made["full_name"], without_name(HAIKU, content="Short."))

    assert replaced.json()["state"] == "proposed"
    late = post(admin, {"state": "approved", "seen": made["definition"]}, at)
    assert late.status_code == 409


def test_hidden_text_is_held_by_the_gate(people: People) -> None:
    client = key_of(people.alice)

    made = post(client, {**HAIKU, "description": HIDDEN})

    assert (made.status_code, made.json()["definition"]) == (201, "")
    name = made.json()["full_name"]
    assert name not in usable(people.caller)
    assert Definition.objects.get(name="haiku").origin == Definition.Origin.RUNTIME
    before = AuditEntry.objects.count()
    put(client, name, without_name(HAIKU, description=HIDDEN))
    assert AuditEntry.objects.count() == before


def test_expired_one_is_gone_and_its_name_is_free(people: People) -> None:
    client = key_of(people.alice)
    name = post(client, HAIKU).json()["full_name"]
    RuntimeCapability.objects.update(expires_at=F("created_at") - timedelta(days=1))
    assert put(client, name, without_name(HAIKU)).status_code == 404

    assert (retire_expired(), retire_expired()) == (1, 0)

    assert name not in usable(people.caller)
    assert AuditEntry.objects.filter(action="capability.expire", target=name).count() == 1
    assert post(client, HAIKU).json()["state"] == "proposed"
    assert name in usable(people.caller)


def test_deleted_one_is_gone_at_once(people: People) -> None:
    client = key_of(people.alice)
    name = post(client, HAIKU).json()["full_name"]

    gone = [client.delete(f"/api/v1/capabilities/{name}").status_code for _ in range(2)]

    assert gone == [204, 404]
    assert name not in usable(people.caller)
    assert RuntimeCapability.objects.get().state == "retired"


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"kind": "tool"}, "kind"),
        ({"name": "a b"}, "name"),
        ({"id": "tool:gmail__send_email"}, "id"),
        ({"pinned": True}, "pinned"),
        ({"description": ""}, "description"),
        ({"content": "x" * 64_001}, "content"),
        ({"tags": ["x"] * 21}, "tags"),
        ({"input_schema": []}, "input_schema"),
        ({"input_schema": {"properties": {f"p{one}": {} for one in range(2_100)}}}, "input_schema"),
        ({"has_side_effects": "no"}, "has_side_effects"),
        ({"expires_at": "2001-01-01T00:00:00Z"}, "expires_at"),
    ],
)
def test_refused_body_names_the_field(people: People, more: dict[str, Any], field: str) -> None:
    answer = post(key_of(people.alice), {**HAIKU, **more})

    assert (answer.status_code, answer.json()["field"]) == (400, field), answer.json()
    assert not Integration.objects.filter(slug__startswith="team").exists()


def test_name_is_taken_within_the_group_only(people: People) -> None:
    first = post(key_of(people.alice), HAIKU)

    assert post(key_of(people.bob), HAIKU).status_code == 409
    other = post(key_of(people.charlie), HAIKU)
    assert other.status_code == 201
    assert other.json()["full_name"] != first.json()["full_name"]


@pytest.mark.django_db(transaction=True)
def test_two_replacements_at_once_leave_one_whole_definition() -> None:
    active_model()
    people = invite()
    name = post(key_of(people.alice), HAIKU).json()["full_name"]
    clients = [key_of(people.alice) for _ in range(2)]
    bodies = [
        without_name(HAIKU, content=f"Content {one}.", description=f"Description {one}.")
        for one in "AB"
    ]

    def replace(number: int) -> int:
        try:
            return int(put(clients[number], name, bodies[number]).status_code)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as both:
        assert list(both.map(replace, range(2))) == [200, 200]

    row = Capability.objects.get(full_name=name)
    assert row.description[-2] == row.content[-2]
    assert AuditEntry.objects.filter(action="capability.replace").count() == 2
    assert connection.in_atomic_block is False


def usable(caller: Caller) -> set[str]:
    found = Capability.objects.usable_by(caller)
    return set(found.values_list("full_name", flat=True))


DOCS = (Path(__file__).parents[2] / "docs/sources.md").read_text("utf-8")
# Kind, body, and who carries out the call.
EXAMPLES = re.findall(r"^\| `([a-z-]+)` \| `(\{.+\})` \| (.+) \|$", DOCS, re.M)


def test_each_kind_has_an_example() -> None:
    assert {kind for kind, _, _ in EXAMPLES} == set(RUNTIME_KINDS)


@pytest.mark.django_db
@pytest.mark.parametrize(("kind", "body", "called_by"), EXAMPLES)
def test_documented_example_is_made_and_called(
    people: People, kind: str, body: str, called_by: str
) -> None:
    client = key_of(people.alice)

    made = post(client, json.loads(body))

    assert (made.status_code, made.json()["kind"]) == (201, kind), made.json()
    called = post(client, {"name": made.json()["full_name"]}, "execute").json()
    by_pegboard = called_by == "Pegboard returns `content`"
    assert called["status"] == ("completed" if by_pegboard else "client_executes")
    assert called.get("content") == (json.loads(body)["content"] if by_pegboard else None)
