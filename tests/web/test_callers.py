"""Callers that a request may act for; refusals do not reveal who exists."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from acl.models import Space
from discovery.models import Turn
from tests.access.people import People
from tests.web.conftest import client_with, new_key

URL = "/api/v1/select"
UNLIKE = [
    {"user": "nobody-of-that-name"},
    {"user": "charlie"},
    {"user": "dora"},
    {"user": "alice", "group": "finance"},
    {"user": "alice", "group": "no such group"},
    {"user": "alice", "space": "no-such-space"},
    {"user": "alice", "space": "payments"},
]


def refusal(client: Client, body: dict[str, str]) -> tuple[int, bytes, int]:
    """Return status, body and number of statements."""
    with CaptureQueriesContext(connection) as statements:
        response = client.post(URL, {"message": "hi", **body}, content_type="application/json")
    return response.status_code, response.content, len(statements)


@pytest.fixture
def stranger(people: People) -> None:
    """dora, who was in support and is inactive; finance has a space."""
    dora = type(people.alice).objects.create_user("dora", is_active=False)
    dora.groups.add(people.support)
    root = Space.objects.get(group=people.finance)
    Space.objects.create(group=people.finance, parent=root, name="Payments", slug="payments")


@pytest.mark.usefixtures("stranger")
def test_all_unknown_and_foreign_names_are_refused_alike(key: str) -> None:
    client = client_with(key)

    answers = {refusal(client, body) for body in UNLIKE}

    assert len(answers) == 1
    assert answers.pop()[0] == 403


@pytest.mark.usefixtures("stranger")
def test_key_that_acts_for_its_owner_only_refuses_all_others_alike(people: People) -> None:
    client = client_with(new_key(people.support, owner=people.alice, acts_for_users=False))

    answers = {refusal(client, {"user": name}) for name in ("bob", "charlie", "dora", "nobody")}

    assert len(answers) == 1
    assert answers.pop()[0] == 403


def test_key_acts_for_its_owner_when_nobody_is_named(people: People) -> None:
    client = client_with(new_key(people.support, owner=people.alice, acts_for_users=False))

    response = client.post(URL, {"message": "hi"}, content_type="application/json")

    assert Turn.objects.get(pk=response.json()["turn_id"]).user == people.alice


def test_key_for_many_users_asks_for_the_user(key: str) -> None:
    response = client_with(key).post(URL, {"message": "hi"}, content_type="application/json")

    assert response.status_code == 400
    assert response.json()["field"] == "user"


def test_person_may_not_name_someone_else(people: People) -> None:
    client = Client()
    client.force_login(people.alice)

    assert refusal(client, {"user": "bob"})[0] == 403


def test_staff_may_name_anyone(people: People) -> None:
    people.bob.is_staff = True
    people.bob.save()
    client = Client()
    client.force_login(people.bob)

    response = client.post(
        URL, {"message": "hi", "user": "charlie"}, content_type="application/json"
    )

    assert Turn.objects.get(pk=response.json()["turn_id"]).group == people.finance


def test_person_works_in_the_group_they_chose(people: People) -> None:
    people.alice.groups.add(people.finance)
    client = Client()
    client.force_login(people.alice)
    session = client.session
    session["group"] = "support"
    session.save()

    response = client.post(URL, {"message": "hi"}, content_type="application/json")

    assert Turn.objects.get(pk=response.json()["turn_id"]).group == people.support


def test_chosen_group_that_was_left_gives_way_to_the_first_by_name(people: People) -> None:
    people.alice.groups.add(people.finance)
    client = Client()
    client.force_login(people.alice)
    session = client.session
    session["group"] = "a group left long ago"
    session.save()

    response = client.post(URL, {"message": "hi"}, content_type="application/json")

    assert Turn.objects.get(pk=response.json()["turn_id"]).group == people.finance


def test_revoked_membership_holds_from_the_next_request_on(key: str, people: People) -> None:
    client = client_with(key)
    assert refusal(client, {"user": "alice"})[0] == 200

    people.alice.groups.clear()

    assert refusal(client, {"user": "alice"})[0] == 403
