"""The learning API: review and reset."""

import json
from typing import Any

import pytest
from django.test import Client

from acl.keys.lifecycle import create_key
from acl.models import AuditEntry
from discovery.models import Experience
from tests.access.people import People, client_of
from tests.factories import UserFactory
from tests.learning.conftest import bob_of, use

pytestmark = pytest.mark.django_db
MOON = "what phase is the moon in tonight?"


def post(client: Client, path: str, **body: Any) -> Any:
    response = client.post(f"/api/v1/{path}", json.dumps(body), content_type="application/json")
    assert response.status_code == 200, response.content
    return response.json()


@pytest.fixture
def admin(people: People) -> Client:
    _, raw = create_key(by=None, name="admin", group=people.support, scopes=["admin"])
    return Client(headers={"Authorization": f"Bearer {raw}"})


def test_reported_call_counts_for_the_next_message(people: People) -> None:
    backend = client_of(people.support)
    turn = post(backend, "select", message=MOON, user="alice")["turn_id"]

    post(backend, f"turns/{turn}/outcome", called=["wiki__read_page", "wiki__delete_page"])

    answer = post(backend, "select", message=MOON, user="bob", explain=True)
    page = next(item for item in answer["selected"] if item["full_name"] == "wiki__read_page")
    assert "Used before for similar messages" in page["reasons"]
    assert page["evidence"]["use"] > 0
    # alice may not use the other one, so nothing is learned about it.
    assert [row.capability for row in Experience.objects.all()] == [people.read_page]


def test_review_counts_what_the_caller_may_use(people: People) -> None:
    use(people.caller, MOON, people.read_page, people.send)
    use(bob_of(people), f"{MOON} again", people.read_page, score=0.0)
    use(bob_of(people), f"{MOON} again", people.delete_page)

    review = client_of(people.support).get("/api/v1/learning", {"user": "alice"}).json()

    assert (review["on"], review["experiences"], review["turns"]) == (True, 3, 2)
    assert [(row["full_name"], row["times"], row["failed"]) for row in review["capabilities"]] == [
        ("wiki__read_page", 2, 1),
        ("gmail__send_email", 1, 0),
    ]
    assert [check["weight"] for check in review["check"]] == [0.0, 0.1, 0.2, 0.3, 0.45]
    assert (review["weight"], review["repeats"]) == (0.1, 0.25)
    assert review["forgotten_after_days"] == 90


def test_reset_forgets_the_own_group_and_is_in_the_log(people: People, admin: Client) -> None:
    use(people.caller, MOON, people.send)
    use(people.stranger, MOON, people.pay)

    response = admin.delete("/api/v1/learning")

    assert response.status_code == 204
    assert [row.group for row in Experience.objects.all()] == [people.finance]
    entry = AuditEntry.objects.get(action="learning.reset")
    assert (entry.target, entry.details) == ("support", {"experiences": 1})


def test_only_admins_reset_and_people_name_the_group(people: People, admin: Client) -> None:
    use(people.caller, MOON, people.send)
    person = Client()
    person.force_login(UserFactory.create(is_staff=True))

    assert client_of(people.support).delete("/api/v1/learning").status_code == 403
    assert admin.delete("/api/v1/learning?group=finance").status_code == 403
    assert person.delete("/api/v1/learning").status_code == 400
    assert Experience.objects.count() == 1
    assert person.delete("/api/v1/learning?group=support").status_code == 204
    assert Experience.objects.count() == 0
