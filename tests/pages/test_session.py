"""Signing in and out, and the current group."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from tests.factories import GroupFactory
from tests.pages.conftest import PASSWORD


def test_signing_in_leads_to_today(client: Client, alice: User) -> None:
    response = client.post("/sign-in/", {"login": "alice", "password": PASSWORD})

    assert response["Location"] == "/today/"


def test_a_wrong_password_is_explained_without_saying_which(client: Client, alice: User) -> None:
    answers = [
        client.post("/sign-in/", {"login": name, "password": "wrong"}).content.decode()
        for name in ("alice", "nobody")
    ]

    assert all("The user name or password is wrong." in answer for answer in answers)


def test_guessing_is_locked_out_with_an_explanation(
    client: Client, alice: User, settings: Settings
) -> None:
    for _ in range(settings.AXES_FAILURE_LIMIT):
        response = client.post("/sign-in/", {"login": "alice", "password": "wrong"})

    assert response.status_code == 429
    assert "Too many attempts" in response.content.decode()


def test_signing_out_takes_a_post(as_alice: Client) -> None:
    assert as_alice.get("/sign-out/").status_code == 405
    assert as_alice.post("/sign-out/")["Location"] == "/sign-in/"


def test_a_group_of_others_cannot_be_chosen(as_alice: Client) -> None:
    foreign = GroupFactory.create()

    assert as_alice.post("/group/", {"group": foreign.pk}).status_code == 404


@pytest.mark.parametrize("group", ["", "many"])
def test_no_group_at_all_cannot_be_chosen(as_alice: Client, group: str) -> None:
    assert as_alice.post("/group/", {"group": group}).status_code == 404


def test_choosing_a_group_never_leads_to_another_site(as_alice: Client, alice: User) -> None:
    own = alice.groups.get()

    response = as_alice.post("/group/", {"group": own.pk, "next": "https://evil.example/"})

    assert response["Location"] == "/tools/"


def test_a_form_without_its_token_is_refused_in_words(alice: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)

    response = client.post("/tools/requests/", {"wish": "Everything"})

    assert response.status_code == 403
    assert "This form has expired" in response.content.decode()


def test_htmx_loads_its_page_anew_when_the_session_has_ended(client: Client) -> None:
    response = client.get("/tools/", headers={"HX-Request": "true"}, follow=True)

    assert response["HX-Refresh"] == "true"


def test_an_unknown_address_says_so_in_words(as_alice: Client) -> None:
    response = as_alice.get("/spoon/")

    assert response.status_code == 404
    assert "Page not found" in response.content.decode()
