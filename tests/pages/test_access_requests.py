"""The inbox of access requests, and its answers."""

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils.timezone import localtime

from acl.models import AccessRequest, AuditEntry
from acl.rights.access_requests import RequestAnswered, decline_request, grant_request
from catalog.models import Capability
from tests.factories import CapabilityFactory, UserFactory
from tests.pages.access_changes import may_use


@pytest.fixture
def jira(db: None) -> Capability:
    return CapabilityFactory.create(integration__slug="jira", action="search")


@pytest.fixture
def wish(alice: User, support: Group) -> AccessRequest:
    return AccessRequest.objects.create(user=alice, group=support, wish="Search tickets")


def test_open_requests_are_counted_in_the_rail(as_admin: Client, wish: AccessRequest) -> None:
    text = as_admin.get("/tools/").content.decode()

    assert '1<span class="unseen"> open request<' in " ".join(text.split())


def test_nobody_else_sees_how_many_wait(as_alice: Client, wish: AccessRequest) -> None:
    assert "open request" not in as_alice.get("/tools/").content.decode()


def test_the_inbox_has_open_ones_and_answered_ones(
    as_admin: Client, wish: AccessRequest, alice: User, support: Group
) -> None:
    fly = AccessRequest.objects.create(user=alice, group=support, wish="Fly")
    decline_request(by=alice, request=fly, note="No wings")

    opened = as_admin.get("/access/requests/").content.decode()
    answered = as_admin.get("/access/requests/?show=answered").content.decode()

    assert "Search tickets" in opened
    assert "Fly" not in opened
    assert "Fly" in answered
    assert "Search tickets" not in answered


def test_requests_are_searched_by_words_and_by_name(
    as_admin: Client, wish: AccessRequest, support: Group
) -> None:
    bob = UserFactory.create(username="bob", groups=[support])
    other = AccessRequest.objects.create(user=bob, group=support, wish="Fly")

    for words, found in (("tickets", [wish]), ("bob", [other]), ("alice tickets", [wish])):
        assert list(as_admin.get(f"/access/requests/?q={words}").context["requests"]) == found


def test_an_empty_inbox_says_so(as_admin: Client, support: Group) -> None:
    assert "No open requests" in as_admin.get("/access/requests/").content.decode()


@pytest.mark.parametrize("whom", ["user", "group"])
def test_granting_gives_and_answers_at_once(
    as_admin: Client, wish: AccessRequest, alice: User, support: Group, jira: Capability, whom: str
) -> None:
    bob = UserFactory.create(username="bob", groups=[support])

    response = as_admin.post(
        f"/access/requests/{wish.pk}/",
        {"target": f"capability-{jira.pk}", "whom": whom, "note": "Have fun"},
    )

    wish.refresh_from_db()
    assert response.status_code == 302
    assert (wish.state, wish.note) == ("granted", "Have fun")
    assert may_use(alice, support, jira)
    assert may_use(bob, support, jira) == (whom == "group")
    actions = set(AuditEntry.objects.values_list("action", flat=True))
    assert {"request.granted", "grant.add"} <= actions


def test_declining_says_why(as_admin: Client, wish: AccessRequest, alice: User) -> None:
    as_admin.post(f"/access/requests/{wish.pk}/", {"decline": "1", "note": "Use the board"})

    client = Client()
    client.force_login(alice)
    text = client.get("/tools/requests/").content.decode()

    assert "Use the board" in text
    assert "declined" in text
    entry = AuditEntry.objects.get(action="request.declined")
    assert (entry.by_name, entry.details["note"]) == ("root", "Use the board")


def test_who_answered_and_when_is_kept_and_shown(
    as_admin: Client, wish: AccessRequest, alice: User, admin: User
) -> None:
    before = AccessRequest.objects.get()

    as_admin.post(f"/access/requests/{wish.pk}/", {"decline": "1", "note": "Use the board"})

    wish.refresh_from_db()
    assert (before.answered_by, before.answered_at) == (None, None)
    assert wish.answered_by == admin
    assert wish.answered_at is not None
    when = f'<time datetime="{localtime(wish.answered_at).isoformat()}'
    mine = Client()
    mine.force_login(alice)
    for client, path in (
        (as_admin, "/access/requests/?show=answered"),
        (as_admin, f"/access/requests/{wish.pk}/"),
        (mine, "/tools/requests/"),
    ):
        text = client.get(path).content.decode()
        assert "Declined by" in text, path
        assert '<span dir="auto">root</span>' in text, path
        assert when in text, path


def test_an_answer_outlives_who_gave_it(
    as_admin: Client, wish: AccessRequest, support: Group
) -> None:
    other = User.objects.create_superuser("olga")
    decline_request(by=other, request=wish, note="No")

    other.delete()

    answered = as_admin.get("/access/requests/?show=answered").content.decode()
    assert "a deleted admin" in answered


def test_declining_without_a_reason_is_refused(as_admin: Client, wish: AccessRequest) -> None:
    response = as_admin.post(f"/access/requests/{wish.pk}/", {"decline": "1", "note": " "})

    wish.refresh_from_db()
    assert response.status_code == 422
    assert "Enter a reason" in response.content.decode()
    assert wish.state == "open"


def test_granting_nothing_is_refused(as_admin: Client, wish: AccessRequest) -> None:
    response = as_admin.post(f"/access/requests/{wish.pk}/", {"whom": "user"})

    wish.refresh_from_db()
    assert response.status_code == 422
    assert wish.state == "open"


def test_the_second_answer_changes_nothing(
    as_admin: Client, wish: AccessRequest, alice: User, support: Group, jira: Capability
) -> None:
    as_admin.post(f"/access/requests/{wish.pk}/", {"decline": "1", "note": "No"})

    response = as_admin.post(
        f"/access/requests/{wish.pk}/", {"target": f"capability-{jira.pk}", "whom": "user"}
    )

    assert response.status_code == 409
    assert "has already been declined" in response.content.decode()
    assert not may_use(alice, support, jira)


def test_an_answer_stays(admin: User, wish: AccessRequest) -> None:
    grant_request(by=admin, request=wish, note="Yes")

    with pytest.raises(RequestAnswered):
        decline_request(by=admin, request=wish, note="No")

    wish.refresh_from_db()
    assert (wish.state, wish.note) == ("granted", "Yes")
