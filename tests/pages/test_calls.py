"""The log of calls and the approvals page: for admins, and for a person's own calls."""

import csv
import io
import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, cast

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.http import StreamingHttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from acl.visible_text.pieces import show_text
from catalog.models import Capability
from discovery.calls import log_api
from discovery.calls._result_parts import list_parts
from discovery.calls.arguments import digest_of, hash_of, serialize_arguments
from discovery.calls.log import Cursor, WrongCursorError
from discovery.calls.log_api import log_streams
from discovery.models import Call, CallPolicy
from tests.access.people import People
from tests.factories import UserFactory, take_away, waiting_call
from tests.pages.conftest import PASSWORD
from tests.sessions import session_of
from tests.web.conftest import client_with, new_key

ACCEPTS_EVENTS = {"Accept": "text/event-stream"}


@pytest.fixture
def root(people: People) -> User:
    return UserFactory.create(username="root", is_staff=True, groups=[people.finance])


def call_of(
    user: User, capability: Capability, *, days: float = 0, state: str = "completed", **more: Any
) -> Call:
    """Make a call that ended some days ago."""
    call = waiting_call(user, user.groups.get(), capability, "x")
    at = timezone.now() - timedelta(days=days)
    row = {"needs_approval": False, "created_at": at, "started_at": at, "ended_at": at, **more}
    Call.objects.filter(pk=call.pk).update(state=state, **row)
    return Call.objects.get(pk=call.pk)


def listed(client: Client, **query: Any) -> list[str]:
    answer = client.get("/api/v1/calls", query)
    assert answer.status_code == 200, answer.content
    return [call["id"] for call in answer.json()["calls"]]


def follow(client: Client, query: str) -> Iterator[bool]:
    """Yield for each event of the stream whether it tells of a change."""
    answer = client.get(f"/calls/{query}", headers=ACCEPTS_EVENTS)
    return (b"changed" in event for event in cast(StreamingHttpResponse, answer))


def shown(client: Client, query: str = "") -> list[str]:
    page = client.get(f"/calls/{query}")
    assert page.status_code == 200
    return [str(call.pk) for call, _ in page.context["rows"]]


def test_each_person_sees_their_own_calls_and_admins_all(people: People, root: User) -> None:
    alices, bobs, charlies = (
        str(call_of(user, tool).pk)
        for user, tool in (
            (people.alice, people.send), (people.bob, people.send), (people.charlie, people.pay),
        )
    )  # fmt: skip
    everyone = [charlies, bobs, alices]

    assert shown(session_of(people.alice)) == listed(session_of(people.alice)) == [alices]
    assert shown(session_of(people.bob)) == [bobs]
    assert shown(session_of(root)) == everyone
    assert shown(session_of(root), "?whose=own") == listed(session_of(root)) == []
    assert listed(session_of(root), whose="everyone") == everyone
    assert session_of(people.alice).get("/api/v1/calls?whose=everyone").status_code == 403
    assert shown(session_of(people.alice), "?whose=everyone&user=bob") == []


def test_words_of_a_question_are_for_the_calls_own_people(people: People, root: User) -> None:
    asked = {"kind": "elicitation", "state": "accepted", "text": "Which <day>?", "host": "a.test"}
    call = call_of(people.alice, people.send, questions=[asked])
    place = f"/calls/{call.pk}/"

    mine = session_of(people.alice).get(place).content.decode()
    everyones = session_of(root).get(place).content.decode()
    read = session_of(people.alice).get(f"/api/v1/calls/{call.pk}").json()
    row = session_of(root).get("/api/v1/calls?whose=everyone").json()["calls"][0]
    lines = b"".join(session_of(root).get("/calls/export.csv")).decode()

    assert "The person: accepted" in mine
    assert "The person: accepted" in everyones
    assert "Which &lt;day&gt;?" in mine
    assert "Which" not in everyones
    assert read["questions"] == [asked]
    assert row["questions"] == [{"kind": "elicitation", "state": "accepted"}]
    assert lines.strip().endswith(",elicitation accepted")


def test_key_lists_by_its_scope_and_only_tools_of_its_groups(people: People) -> None:
    sent, lost = call_of(people.alice, people.send), call_of(people.bob, people.delete_page)
    call_of(people.charlie, people.pay)
    admin = client_with(new_key(people.support, "admin", acts_for_users=False))
    backend = client_with(new_key(people.support, "execute"))

    own = set(listed(backend))
    named = listed(admin)
    refused = admin.get("/api/v1/calls?whose=own"), backend.get("/api/v1/calls?whose=everyone")

    assert own == {str(sent.pk), str(lost.pk)}
    assert named == [str(sent.pk)]
    assert listed(admin, tool="wiki__") == listed(admin, group="finance") == []
    assert [answer.status_code for answer in refused] == [403, 403]
    assert client_with(new_key(people.support, "select")).get("/api/v1/calls").status_code == 403


def test_filters_find_what_they_name(people: People, root: User) -> None:
    failed = call_of(people.alice, people.send, days=3, state="failed", reason="tool_error")
    old = call_of(people.alice, people.send, days=9, state="failed")
    other = call_of(people.bob, people.search, days=3, key_prefix="pb_abc")
    client, week = session_of(root), f"{timezone.now() - timedelta(days=7):%Y-%m-%d}"

    last_week = f"?user=alice&state=failed&since={week}"

    assert shown(client, last_week) == [str(failed.pk)]
    assert shown(client, "?user=alice&state=failed") == [str(failed.pk), str(old.pk)]
    assert shown(client, "?tool=gmail__search") == [str(other.pk)]
    assert shown(client, "?integration=gmail&key=pb_a") == [str(other.pk)]
    assert shown(client, "?integration=wiki") == shown(client, "?group=finance") == []
    assert shown(client, f"?until={week}") == [str(old.pk)]
    everyone = {"whose": "everyone"}
    assert listed(client, **everyone, reason="tool_error") == [str(failed.pk)]
    assert listed(client, **everyone, since=(timezone.now() - timedelta(days=5)).isoformat()) == [
        str(each.pk) for each in sorted((failed, other), key=lambda one: one.created_at)[::-1]
    ]


def test_wrong_filters_are_named(people: People, root: User) -> None:
    client = session_of(root)
    wrong = {
        "state": "nowhere", "turn": "x", "since": "yesterday", "limit": "0", "before": "1",
        "color": "red", "user": "a" * 151,
    }  # fmt: skip

    fields = [
        client.get("/api/v1/calls", {name: value}).json()["field"] for name, value in wrong.items()
    ]

    assert fields == [*wrong]
    assert "Enter a date" in client.get("/calls/?since=x").content.decode()
    assert client.get("/calls/export.csv?since=x").status_code == 404
    for text in ("", "-", "1", f"1-{'g' * 32}", f"{'9' * 30}-{'0' * 32}"):
        with pytest.raises(WrongCursorError):
            Cursor.parse(text)


def test_pages_have_every_call_once_even_of_one_moment(people: People, root: User) -> None:
    at = timezone.now()
    calls = [call_of(people.alice, people.send, created_at=at) for _ in range(7)]
    client, whole = session_of(root), []
    before = ""
    while True:
        answer = client.get(
            "/api/v1/calls", {"whose": "everyone", "limit": "3", "before": before}
        ).json()
        whole.append([one["id"] for one in answer["calls"]])
        if answer["older"] is None:
            break
        before = answer["older"]

    back = client.get(
        "/api/v1/calls", {"whose": "everyone", "limit": 3, "after": answer["newer"]}
    ).json()

    assert [len(page) for page in whole] == [3, 3, 1]
    assert sorted(one for page in whole for one in page) == sorted(str(call.pk) for call in calls)
    assert [one["id"] for one in back["calls"]] == whole[1]
    assert client.get("/api/v1/calls", {"before": before, "after": before}).status_code == 400


def test_number_of_statements_does_not_grow(people: People, root: User) -> None:
    counts: dict[str, list[int]] = {"/calls/": [], "/api/v1/calls?whose=everyone": []}
    client = session_of(root)
    for more in (2, 18):
        for _ in range(more):
            call_of(people.alice, people.send)
        for path, numbers in counts.items():
            client.get(path)
            with CaptureQueriesContext(connection) as statements:
                client.get(path)
            numbers.append(len(statements))

    for numbers in counts.values():
        assert numbers[0] == numbers[1] <= 10


def test_call_shows_arguments_and_result_to_its_user_alone(people: People, root: User) -> None:
    answer = '{"content": [{"type": "text", "text": "sent to bob"}]}'
    call = call_of(people.alice, people.send, way="server", result_json=answer)
    path = f"/calls/{call.pk}/"

    mine = session_of(people.alice).get(path).content.decode()
    admins = session_of(root).get(path).content.decode()
    bobs = session_of(people.bob).get(path)
    take_away(people.gmail, people.support)
    lost = session_of(people.alice).get(path).content.decode()

    assert "sent to bob" in mine
    assert "Arguments" in mine
    assert "gmail__send_email" in admins
    assert "sent to bob" not in admins
    assert bobs.status_code == 404
    assert "gmail__send_email" not in lost
    assert "sent to bob" not in lost
    assert people.send.display_name not in lost


def test_csv_has_a_line_for_each_matching_call(people: People, root: User) -> None:
    call_of(people.alice, people.send, state="failed", key_name="=1+1")
    call_of(people.bob, people.send)

    answer = session_of(root).get("/calls/export.csv?user=alice")
    rows = list(csv.DictReader(io.StringIO(b"".join(answer).decode())))
    bobs = b"".join(session_of(people.bob).get("/calls/export.csv")).decode()

    assert [(row["user"], row["tool"], row["state"], row["key_name"]) for row in rows] == [
        ("alice", "gmail__send_email", "failed", "'=1+1")
    ]
    assert "alice" not in bobs
    assert "bob" in bobs


def test_log_follows_live_on_its_first_page_only(people: People) -> None:
    client, call = session_of(people.alice), call_of(people.alice, people.send)

    still, live, older = (
        client.get(f"/calls/{query}").content.decode()
        for query in ("", "?live=1", f"?live=1&before={Cursor.of(call)}")
    )

    assert ["data-live" in page for page in (still, live, older)] == [False, True, False]


def test_stream_tells_of_changes_that_its_reader_may_see_and_ends_with_the_session(
    people: People, root: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_api, "_LOOK_SECONDS", 0)
    monkeypatch.setattr(log_api, "_ANYWAY_SECONDS", 1e9)
    clients = [session_of(user) for user in (people.alice, root, root)]
    everyones = "?state=completed"
    streams = [
        follow(client, query)
        for client, query in zip(clients, ("", everyones, "?whose=own"), strict=True)
    ]
    told = [next(stream) for stream in streams]
    quiet = [next(stream) for stream in streams]

    call_of(people.alice, people.send)
    after_hers = [next(stream) for stream in streams]
    call_of(people.bob, people.send, state="failed")
    after_his = [next(stream) for stream in streams]
    User.objects.filter(pk=root.pk).update(is_staff=False)
    next(streams[1])
    call_of(people.alice, people.send)
    after_staff = [next(stream) for stream in streams[:2]]
    clients[0].logout()
    User.objects.filter(pk=root.pk).update(is_active=False)

    assert told == [True, True, True]
    assert quiet == [False, False, False]
    assert after_hers == [True, True, False]
    assert after_his == [False, False, False]
    assert after_staff == [True, False]
    assert [list(stream) for stream in streams] == [
        [True],
        [True],
        [True],
    ]  # so that pages ask, and are sent to sign in


def test_person_holds_two_streams_at_once(people: People) -> None:
    client = session_of(people.alice)
    held = [log_streams.take(people.alice.pk) for _ in range(2)]
    refused = client.get("/calls/", headers=ACCEPTS_EVENTS)
    log_streams.give_back(people.alice.pk)
    stream = follow(client, "")
    client.logout()
    list(stream)
    held.append(log_streams.take(people.alice.pk))
    for _ in range(2):
        log_streams.give_back(people.alice.pk)

    assert refused.status_code == 204
    assert held == [True, True, True]


def test_everyones_log_is_read_by_its_index(people: People) -> None:
    call_of(people.alice, people.send)
    newest = Call.objects.order_by("-created_at", "-pk")[:51]
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        plan = newest.explain()

    assert "discovery_call_log" in plan
    assert "Sort" not in plan


def test_answer_is_shown_by_its_types() -> None:
    pixel = "iVBORw0KGgo="
    rows = [{"name": "a", "size": 1}, {"name": "b", "size": None}]
    result = {
        "structured": {"files": rows},
        "content": [
            {"type": "text", "text": json.dumps({"files": rows})},
            {"type": "text", "text": "Two files"},
            {"type": "text", "text": '{"deep": {"er": 1}}'},
            {"type": "image", "mimeType": "image/png", "data": pixel},
            {"type": "image", "mimeType": "image/svg+xml", "data": pixel},
            {"type": "image", "mimeType": "image/png", "data": "<script>"},
            {"type": "resource", "resource": {"text": "inside"}},
            {"type": "audio"},
        ],
    }  # fmt: skip

    parts = list_parts(result)

    assert [part.kind for part in parts] == [
        "table", "text", "json", "image", "other", "other", "text", "other",
    ]  # fmt: skip
    assert (parts[0].columns, parts[0].rows) == (("name", "size"), (("a", "1"), ("b", "")))
    assert parts[3].text == f"data:image/png;base64,{pixel}"
    assert list_parts(None) == []


def test_admin_sets_what_a_group_keeps(people: People, root: User) -> None:
    client, path = session_of(root), f"/calls/policy/{people.support.pk}/"

    saved = client.post(path, {"content": "2", "days": "7"})
    wrong = client.post(path, {"content": "2", "days": "0"})
    rows = client.get("/calls/policy/?q=supp").context["rows"]

    assert (saved.status_code, wrong.status_code) == (302, 422)
    assert CallPolicy.objects.get().days == 7
    assert [group for group, _ in rows] == [people.support]
    assert session_of(people.alice).get("/calls/policy/").status_code == 404


@pytest.fixture
def approvals_root(people: People) -> User:
    return UserFactory.create(username="approvals_root", is_staff=True, groups=[people.support])


def ask(people: People, text: str = "Dear bob") -> Call:
    return waiting_call(people.alice, people.support, people.send, text)


def test_admin_reads_and_decides(people: People, approvals_root: User) -> None:
    client, call, other = session_of(approvals_root), ask(people), ask(people)
    arguments = {"to": ["bob", {"cc": "carol\u202e"}], "text": "<b>" + "x" * 700}
    Call.objects.filter(pk=call.pk).update(
        arguments_json=serialize_arguments(arguments), arguments_hash=hash_of(arguments)
    )
    call.refresh_from_db()
    address = f"/approvals/{call.pk}/"

    inbox = client.get("/approvals/").content.decode()
    page = client.get(address).content.decode()
    stale = client.post(address, {"approve": "1", "digest": "x"})
    mute = client.post(address, {"reject": "1", "note": ""})
    yes = client.post(address, {"approve": "1", "digest": digest_of(call), "note": "fine"})
    no = client.post(f"/approvals/{other.pk}/", {"reject": "1", "note": "Use the other one."})
    late = client.post(address, {"reject": "1", "note": "x"})
    history = client.get("/approvals/?show=decided").content.decode()
    empty = client.get("/approvals/").content.decode()

    assert '<span class="rail-count number">2' in inbox
    assert 'carol<mark class="char hidden" dir="ltr">[U+202E RIGHT-TO-LEFT OVERRIDE]</mark>' in page
    assert "&lt;b&gt;xxx" in page
    assert "703 characters" in page
    assert [each.status_code for each in (stale, mute, yes, no, late)] == [409, 422, 302, 302, 409]
    assert list(Call.objects.order_by("created_at").values_list("state", "note")) == [
        ("completed", "fine"), ("rejected", "Use the other one."),
    ]  # fmt: skip
    assert "Use the other one." in history
    assert "No pending calls" in empty


def test_the_link_of_a_message_leads_through_sign_in_to_the_decision(
    people: People, approvals_root: User
) -> None:
    approvals_root.set_password(PASSWORD)
    approvals_root.save()
    client, call = Client(), ask(people)
    address = f"/approvals/{call.pk}/"

    asked = client.get(address, follow=True)
    form = {"login": "approvals_root", "password": PASSWORD, "next": address}
    page = client.post(asked.redirect_chain[-1][0], form, follow=True)
    client.post(address, {"approve": "1", "digest": digest_of(call)})

    assert asked.redirect_chain[-1][0] == f"/sign-in/?next={address}"
    assert page.redirect_chain[-1][0] == address
    call.refresh_from_db()
    assert call.decided_by == approvals_root


def test_person_sees_and_takes_back_their_own_only(people: People) -> None:
    call = ask(people)
    alice, bob = session_of(people.alice), session_of(people.bob)
    address = f"/approvals/{call.pk}/"

    before = alice.get("/approvals/").content.decode()
    foreign = [bob.get(address).status_code, bob.post(address, {"cancel": "1"}).status_code]
    own_yes = alice.post(address, {"approve": "1", "digest": digest_of(call)})
    call.refresh_from_db()
    still = call.state
    back = alice.post(address, {"cancel": "1"})
    call.refresh_from_db()
    take_away(people.gmail, people.support)

    assert "gmail__send_email" in before
    assert "gmail__send_email" not in bob.get("/approvals/").content.decode()
    assert (foreign, own_yes.status_code, still) == ([404, 404], 200, "waiting_approval")
    assert (back.status_code, call.state) == (302, "cancelled")
    assert "gmail__send_email" not in alice.get("/approvals/").content.decode()
    assert alice.get(address).status_code == 404


def test_admin_does_not_decide_about_what_was_asked_for_themselves(
    people: People, approvals_root: User
) -> None:
    call = waiting_call(approvals_root, people.support, people.send, "x")
    address = f"/approvals/{call.pk}/"

    page = session_of(approvals_root).get(address).content.decode()
    refused = session_of(approvals_root).post(address, {"approve": "1", "digest": digest_of(call)})

    assert "someone else must decide" in page
    assert "Approve call" not in page
    assert "Cancel call" in page
    assert refused.status_code == 409


@pytest.mark.parametrize("who", ["approvals_root", "alice"])
def test_number_of_statements_does_not_grow_in_approvals(
    people: People, approvals_root: User, who: str
) -> None:
    client = session_of(approvals_root if who == "approvals_root" else people.alice)
    counts = []
    for more in (2, 18):
        for number in range(more):
            ask(people, str(number))
        client.get("/approvals/")
        with CaptureQueriesContext(connection) as statements:
            client.get("/approvals/")
        counts.append(len(statements))

    assert counts[0] == counts[1] <= 10


def test_hidden_characters_are_named() -> None:
    shown = show_text("a\u200bb\U000e0041\x1b\n\tü")

    assert shown == (
        "a[U+200B ZERO WIDTH SPACE]b[U+E0041 TAG LATIN CAPITAL LETTER A][U+001B ESCAPE]↵\n⇥\tü"
    )
