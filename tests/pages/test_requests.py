"""Access requests by people."""

from django.contrib.auth.models import Group, User
from django.test import Client

from acl.models import AccessRequest
from acl.rights.access_requests import MOST_OPEN


def test_a_request_is_stored_and_confirmed(as_alice: Client, alice: User, support: Group) -> None:
    response = as_alice.post("/tools/requests/", {"wish": "Book a meeting room"}, follow=True)

    request = AccessRequest.objects.get()
    assert (request.user, request.group, request.wish) == (alice, support, "Book a meeting room")
    assert "Your request was sent." in response.content.decode()


def test_what_an_address_brings_along_stands_in_the_form_and_is_not_asked_for(
    as_alice: Client,
) -> None:
    page = as_alice.get("/tools/requests/", {"wish": "Time <b>"}).content.decode()

    assert "Time &lt;b&gt;</textarea>" in page
    assert not AccessRequest.objects.exists()


def test_an_empty_request_is_explained_beside_the_field(as_alice: Client) -> None:
    response = as_alice.post("/tools/requests/", {"wish": " "})

    assert response.status_code == 422
    assert "Describe in a few words what you need." in response.content.decode()


def test_the_same_request_twice_is_one(as_alice: Client) -> None:
    for _ in range(2):
        as_alice.post("/tools/requests/", {"wish": "Book a meeting room"})

    assert AccessRequest.objects.count() == 1


def test_nobody_floods_the_admins(as_alice: Client) -> None:
    for number in range(MOST_OPEN + 1):
        response = as_alice.post("/tools/requests/", {"wish": f"Wish {number}"})

    assert AccessRequest.objects.count() == MOST_OPEN
    assert response.status_code == 422


def test_the_requests_of_others_are_not_listed(
    as_alice: Client, admin: User, support: Group
) -> None:
    AccessRequest.objects.create(user=admin, group=support, wish="Everything")

    assert "Everything" not in as_alice.get("/tools/requests/").content.decode()
