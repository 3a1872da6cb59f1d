"""The approvals page: for admins, and for a person's own calls."""

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from acl.visible_text.pieces import show_text
from discovery.calls.arguments import digest_of, hash_of, serialize_arguments
from discovery.models import Call
from tests.access.people import People, invite
from tests.factories import UserFactory, take_away, waiting_call
from tests.pages.conftest import PASSWORD


@pytest.fixture
def people(db: None) -> People:
    return invite()


@pytest.fixture
def root(people: People) -> User:
    return UserFactory.create(username="root", is_staff=True, groups=[people.support])


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def ask(people: People, text: str = "Dear bob") -> Call:
    return waiting_call(people.alice, people.support, people.send, text)


def test_admin_reads_and_decides(people: People, root: User) -> None:
    client, call, other = client_of(root), ask(people), ask(people)
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
    people: People, root: User
) -> None:
    root.set_password(PASSWORD)
    root.save()
    client, call = Client(), ask(people)
    address = f"/approvals/{call.pk}/"

    asked = client.get(address, follow=True)
    form = {"login": "root", "password": PASSWORD, "next": address}
    page = client.post(asked.redirect_chain[-1][0], form, follow=True)
    client.post(address, {"approve": "1", "digest": digest_of(call)})

    assert asked.redirect_chain[-1][0] == f"/sign-in/?next={address}"
    assert page.redirect_chain[-1][0] == address
    call.refresh_from_db()
    assert call.decided_by == root


def test_person_sees_and_takes_back_their_own_only(people: People) -> None:
    call = ask(people)
    alice, bob = client_of(people.alice), client_of(people.bob)
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
    people: People, root: User
) -> None:
    call = waiting_call(root, people.support, people.send, "x")
    address = f"/approvals/{call.pk}/"

    page = client_of(root).get(address).content.decode()
    refused = client_of(root).post(address, {"approve": "1", "digest": digest_of(call)})

    assert "someone else must decide" in page
    assert "Approve call" not in page
    assert "Cancel call" in page
    assert refused.status_code == 409


@pytest.mark.parametrize("who", ["root", "alice"])
def test_number_of_statements_does_not_grow(people: People, root: User, who: str) -> None:
    client = client_of(root if who == "root" else people.alice)
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
