"""The chain: actor, credential, and on behalf of whom; and who may act for others."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from acl.audit.log_verification import check_log
from acl.keys.lifecycle import create_key
from acl.models import ApiKey, AuditEntry
from catalog.models import Capability, ServerProposal
from discovery.models import Call, Outcome, Turn
from tests.access.people import People
from tests.rights.conftest import Staff, session_of
from tests.web.conftest import client_with

KIND = "application/json"
SEND = {"name": "gmail__send_email", "arguments": {}}
LOOKS: list[tuple[str, str, dict[str, Any] | None]] = [
    ("select", "/api/v1/select", {"message": "send an email"}),
    ("discover", "/api/v1/discover", {"message": "send an email"}),
    ("plan", "/api/v1/plan", {"message": "send an email"}),
    ("capabilities", "/api/v1/capabilities", None),
    ("names", "/api/v1/names", None),
    ("meta-tool", "/api/v1/meta/search_tools", {"arguments": {"query": "email"}}),
    ("access-explain", "/api/v1/access/explain?capability=gmail__send_email", None),
    ("access-reach", "/api/v1/access/reach", None),
    ("playground", "/?message=send+an+email", None),
    ("explain", "/access/explain/?capability=gmail__send_email", None),
]
ACTS: list[tuple[str, dict[str, Any]]] = [
    ("/api/v1/execute", SEND),
    (
        "/api/v1/meta/execute_tool",
        {"arguments": {"name": "gmail__send_email", "arguments": {}}},
    ),
    (
        "/api/v1/meta/mcp__call_tool",
        {"arguments": {"server_name": "gmail", "tool_name": "send_email", "arguments": {}}},
    ),
]


def key_of(people: People, **more: Any) -> tuple[ApiKey, Client]:
    given = {"scopes": ["select", "discover", "execute"], "acts_for_users": True, **more}
    key, raw = create_key(by=None, name="backend", group=people.support, **given)
    return key, Client(headers={"Authorization": f"Bearer {raw}", "X-Request-ID": "story"})


def chain_of(row: Any) -> tuple[Any, ...]:
    return row.actor_id, row.actor_kind, row.credential, row.key_id, row.key_prefix, row.key_name


@pytest.mark.parametrize(("path", "body"), ACTS)
@pytest.mark.parametrize("name", ["grace", "bob"])
def test_acting_for_others_without_the_right_is_refused(
    people: People, staff: Staff, path: str, body: dict[str, Any], name: str
) -> None:
    client = session_of(User.objects.get(username=name))

    refused = client.post(path, {**body, "user": "alice"}, KIND)

    assert refused.status_code == 403
    assert not Call.objects.exists()


@pytest.mark.parametrize(("path", "body"), ACTS)
@pytest.mark.parametrize("name", ["hugo", "root"])
def test_acting_for_others_with_the_right_is_recorded_and_shown(
    people: People, staff: Staff, path: str, body: dict[str, Any], name: str
) -> None:
    actor = User.objects.get(username=name)

    done = session_of(actor).post(path, {**body, "user": "alice"}, KIND)

    assert done.status_code == 200
    call = Call.objects.get()
    assert chain_of(call) == (actor.pk, "person", "session", None, "", "")
    assert (call.user, call.acts_for_other) == (people.alice, True)
    entry = AuditEntry.objects.get(action="call.acted_for")
    assert (entry.by, entry.subject_id, entry.subject_name) == (actor, people.alice.pk, "alice")
    for page in ("/account/", "/approvals/"):
        shown = session_of(people.alice).get(page).content.decode()
        assert "Actions on your behalf" in shown
        assert name in shown
        assert "Others acted" not in session_of(people.bob).get(page).content.decode()


@pytest.mark.parametrize(("kind", "path", "body"), LOOKS, ids=[look[0] for look in LOOKS])
def test_looking_as_someone_else_is_recorded_once_an_hour(
    people: People, staff: Staff, kind: str, path: str, body: dict[str, Any] | None
) -> None:
    client = session_of(staff.grace)

    for user in ("alice", "alice", "bob", "grace"):
        if body is None:
            answer = client.get(f"{path}{'&' if '?' in path else '?'}user={user}")
        else:
            answer = client.post(path, {**body, "user": user}, KIND)
        assert answer.status_code == 200

    looks = AuditEntry.objects.filter(action="person.looked_as").order_by("pk")
    assert [(entry.by, entry.subject_name, entry.details) for entry in looks] == [
        (staff.grace, "alice", {"where": kind}),
        (staff.grace, "bob", {"where": kind}),
    ]
    assert not Call.objects.exists()


def test_chat_backend_that_asks_for_its_users_fills_no_log(people: People) -> None:
    _, client = key_of(people)

    client.post("/api/v1/select", {"message": "send an email", "user": "alice"}, KIND)

    assert not AuditEntry.objects.filter(action="person.looked_as").exists()


@pytest.mark.parametrize(
    ("door", "seen"),
    [
        ("alice", True),  # done in her name
        ("hugo", True),  # he did it
        ("root", False),
        ("grace", False),
        ("bob", False),
    ],
)
def test_result_is_told_to_subject_and_actor_only(
    people: People, staff: Staff, door: str, seen: bool
) -> None:
    session_of(staff.hugo).post("/api/v1/execute", {**SEND, "user": "alice"}, KIND)
    call, client = Call.objects.get(), session_of(User.objects.get(username=door))
    asked = {"user": "alice", "arguments": {"call_id": str(call.pk)}}

    by_id = client.get(f"/api/v1/calls/{call.pk}")
    by_model = client.post("/api/v1/meta/get_call", asked, KIND)

    assert (by_id.status_code == 200, by_model.status_code == 200) == (seen, seen)


def test_call_of_the_person_themselves_is_nobody_elses(people: People, staff: Staff) -> None:
    session_of(people.alice).post("/api/v1/execute", SEND, KIND)
    call = Call.objects.get()
    asked = {"user": "alice", "arguments": {"call_id": str(call.pk)}}

    for someone in (staff.hugo, staff.root):
        client = session_of(someone)
        assert client.get(f"/api/v1/calls/{call.pk}").status_code == 404
        assert client.post("/api/v1/meta/get_call", asked, KIND).status_code == 404
        assert client.post(f"/api/v1/calls/{call.pk}/cancel", {}, KIND).status_code == 404


def test_idempotency_key_of_one_person_answers_nobody_else(people: People, staff: Staff) -> None:
    _, backend = key_of(people)
    doors = (session_of(people.alice), session_of(staff.hugo), backend)
    headers = {"Idempotency-Key": "the-same"}

    answers = [
        client.post("/api/v1/execute", {**SEND, "user": "alice"}, KIND, headers=headers).json()
        for client in (*doors, *doors)
    ]

    ids = [answer["call_id"] for answer in answers]
    assert len(set(ids)) == 3
    assert ids[:3] == ids[3:]


@pytest.mark.parametrize("number_of_groups", [1, 2])
def test_idempotency_key_of_one_ownerless_key_answers_no_other(
    people: People, number_of_groups: int
) -> None:
    groups = [people.support, people.finance][:number_of_groups]
    shared: dict[str, Any] = {"by": None, "scopes": ["execute"], "acts_for_users": True}
    keys = [create_key(name=name, groups=groups, **shared)[1] for name in ("crm", "wiki")]
    headers = {"Idempotency-Key": "the-same"}

    answers = [
        client_with(key)
        .post("/api/v1/execute", {**SEND, "user": "alice"}, KIND, headers=headers)
        .json()
        for key in (*keys, *keys)
    ]

    ids = [answer["call_id"] for answer in answers]
    assert ids[0] != ids[1]
    assert ids[:2] == ids[2:]


@pytest.mark.parametrize(
    ("name", "by_actor", "may"),
    [("hugo", True, True), ("root", False, False), ("grace", False, False)],
)
def test_turn_of_another_is_taken_on_by_its_actor_only(
    people: People, staff: Staff, name: str, by_actor: bool, may: bool
) -> None:
    asker = session_of(staff.hugo if by_actor else people.alice)
    body = {"message": "send an email", "user": "alice"}
    asker.post("/api/v1/select", body, KIND)
    turn, client = Turn.objects.get(), session_of(User.objects.get(username=name))

    statuses = [
        client.post(f"/api/v1/turns/{turn.pk}/start", {}, KIND).status_code,
        client.post(f"/api/v1/turns/{turn.pk}/outcome", {"status": "success"}, KIND).status_code,
    ]

    assert statuses == ([200, 200] if may else [404, 404])
    assert Outcome.objects.filter(actor__username=name).exists() == may
    assert turn.noted is None or not by_actor  # alice's group learns nothing from it


def call_by(client: Client, user: str, *, path: str, body: dict[str, Any]) -> Call:
    client.post(path, {**body, "user": user}, KIND)
    call = Call.objects.get()
    assert (call.user.username, call.acts_for_other) == (user, False)
    return call


ROWS: dict[str, Callable[[Client, str], Any]] = {
    **{path: partial(call_by, path=path, body=body) for path, body in ACTS},
    "turn": lambda client, user: (
        client.post("/api/v1/select", {"message": "mail", "user": user}, KIND),
        Turn.objects.get(),
    )[1],
    "plan": lambda client, user: (
        client.post("/api/v1/plan", {"message": "mail", "user": user}, KIND),
        Turn.objects.get(),
    )[1],
    "outcome": lambda client, user: (
        client.post("/api/v1/select", {"message": "mail", "user": user}, KIND),
        client.post(f"/api/v1/turns/{Turn.objects.get().pk}/outcome", {"status": "success"}, KIND),
        Outcome.objects.get(),
    )[2],
}


@pytest.mark.parametrize("act", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("door", ["session", "owned key", "key of nobody"])
def test_row_that_records_an_act_has_the_chain(
    people: People, act: Callable[[Client, str], Any], door: str
) -> None:
    if door == "session":
        client = session_of(people.alice)
        chain = (people.alice.pk, "person", "session", None, "", "")
    else:
        owner = people.bob if door == "owned key" else None
        key, client = key_of(people, owner=owner)
        actor = (owner.pk, "person") if owner else (None, "key")
        chain = (*actor, "key", key.pk, key.prefix, "backend")

    row = act(client, "alice")

    assert chain_of(row) == chain


def test_audit_entry_has_the_chain_of_a_proposal(people: People) -> None:
    Capability.objects.filter(pk=people.send.pk).update(full_name="mcp__register_server")
    key, client = key_of(people, owner=people.bob)
    arguments = {"name": "Notes", "endpoint": "https://notes.example/mcp", "reason": "notes"}

    client.post(
        "/api/v1/meta/mcp__register_server", {"user": "alice", "arguments": arguments}, KIND
    )

    entry = AuditEntry.objects.get(action="server.propose")
    assert (entry.by, entry.actor_kind, entry.subject_name) == (people.bob, "person", "alice")
    assert (entry.credential, entry.key_id, entry.key_name) == ("key", key.pk, "backend")
    row = ServerProposal.objects.get()
    assert chain_of(row) == (people.bob.pk, "person", "key", key.pk, key.prefix, "backend")
    assert row.user == people.alice
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # as a commit does
    assert check_log().fault is None


def by_mcp(client: Client) -> dict[str, Any]:
    params = {"name": "gmail__send_email", "arguments": {}}
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "execute_tool", "arguments": params},
    }
    answer: dict[str, Any] = client.post("/mcp", message, KIND).json()
    return answer


def test_mcp_acts_for_whoever_sends_the_message(people: People, staff: Staff) -> None:
    key, client = key_of(people, owner=people.bob, acts_for_users=False)

    by_mcp(session_of(staff.hugo))
    by_mcp(client)

    first, second = Call.objects.order_by("created_at")
    assert (first.user, *chain_of(first)[:4]) == (
        staff.hugo,
        staff.hugo.pk,
        "person",
        "session",
        None,
    )
    assert (second.user, *chain_of(second)[:4]) == (
        people.bob,
        people.bob.pk,
        "person",
        "key",
        key.pk,
    )


@pytest.mark.parametrize(("path", "body"), ACTS)
def test_key_that_acts_for_nobody_else_names_nobody_else(
    people: People, staff: Staff, path: str, body: dict[str, Any]
) -> None:
    people.support.user_set.add(staff.root)
    _, client = key_of(people, owner=staff.root, acts_for_users=False)

    refused = client.post(path, {**body, "user": "alice"}, KIND)
    own = client.post(path, {**body, "user": "root"}, KIND)

    assert (refused.status_code, own.status_code) == (403, 200)
    assert Call.objects.get().user == staff.root


def test_actor_takes_back_what_they_asked_for_and_nobody_else_does(
    people: People, staff: Staff
) -> None:
    Capability.objects.filter(pk=people.send.pk).update(ai_access="propose")
    body = {**SEND, "user": "alice"}
    calls = [
        session_of(staff.hugo).post("/api/v1/execute", body, KIND).json()["call_id"]
        for _ in range(2)
    ]
    pages = [f"/approvals/{call}/" for call in calls]

    for someone in (people.bob, staff.grace):
        session_of(someone).post(pages[0], {"cancel": "1"})
    before = Call.objects.get(pk=calls[0]).state
    session_of(staff.hugo).post(pages[0], {"cancel": "1"})
    session_of(people.alice).post(pages[1], {"cancel": "1"})

    assert before == Call.State.WAITING
    assert set(Call.objects.values_list("state", flat=True)) == {Call.State.CANCELLED}
    entries = AuditEntry.objects.filter(action="call.cancel").order_by("pk")
    assert [entry.by_name for entry in entries] == ["hugo", "alice"]


def test_pages_name_the_chain(people: People, staff: Staff) -> None:
    Capability.objects.filter(pk=people.send.pk).update(ai_access="propose")
    session_of(staff.hugo).post("/api/v1/execute", {**SEND, "user": "alice"}, KIND)
    _, client = key_of(people, owner=people.bob)
    client.post("/api/v1/execute", {**SEND, "user": "alice"}, KIND)
    acted, keyed = Call.objects.order_by("created_at")
    browser = session_of(staff.root)

    pages = [browser.get(f"/approvals/{call.pk}/").content.decode() for call in (acted, keyed)]
    chain = browser.get(f"/api/v1/approvals/{keyed.pk}").json()["chain"]
    log = browser.get("/audit/").content.decode()
    lines = b"".join(browser.get("/audit/export.jsonl?by=alice")).decode()

    for word in ("hugo", "signed in", "alice", "Shared accounts only"):
        assert word in pages[0]
    for word in ("bob", f"key backend ({keyed.key_prefix}…)", "alice"):
        assert word in pages[1]
    assert chain == {
        "actor": "bob",
        "actor_kind": "person",
        "credential": "key",
        "key_id": keyed.key_id,
        "key_prefix": keyed.key_prefix,
        "key_name": "backend",
        "on_behalf_of": "alice",
    }
    assert "for <strong>alice</strong>" in log
    assert '"by": "hugo"' in lines
    assert '"subject": "alice"' in lines
