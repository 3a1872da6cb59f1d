"""Pages of applications: an admin keeps them; nobody else knows of them."""

from typing import Any

import pytest
from django.test import Client

from acl.models import ApiKey, Application
from discovery.applications.pages import ApplicationForm
from tests.access.people import People
from tests.applications.applications import key_of, make_application
from tests.factories import UserFactory
from tests.sessions import session_of

pytestmark = pytest.mark.django_db
SEND = "gmail__send_email"
FIELDS = {
    "name": "Website",
    "description": "On our website",
    "reach": "all",
    "mode": "auto",
    "format": "openai",
    "context_window": "32000",
    "client_executes": "no",
    "failure_policy": "fail_closed",
    "calls_a_day": "100",
    "alert_percent": "40",
}


@pytest.fixture
def admin(people: People) -> Client:
    return session_of(UserFactory.create(username="root", is_staff=True, is_superuser=True))


def page(client: Client, path: str) -> str:
    response: Any = client.get(path)
    assert response.status_code == 200
    return str(response.content.decode())


def test_an_admin_creates_edits_and_deletes_an_application(people: People, admin: Client) -> None:
    made: Any = admin.post("/applications/new/", {**FIELDS, "group": people.support.pk})
    row = Application.objects.get()
    edit = f"/applications/{row.pk}/edit/"
    admin.post(edit, {**FIELDS, "name": "Shop", "reach": "chosen", "integrations": people.wiki.pk})
    changed = Application.objects.get()
    shown = page(admin, made.url)
    asked = page(admin, f"/applications/{row.pk}/delete/")
    admin.post(f"/applications/{row.pk}/delete/")

    assert (row.group, row.integrations, row.alert_below) == (people.support, [], 0.4)
    assert row.defaults == {
        "mode": "auto",
        "format": "openai",
        "context_window": 32000,
        "client_executes": False,
        "failure_policy": "fail_closed",
    }
    assert (changed.name, changed.integrations) == ("Shop", [people.wiki.pk])
    assert "Only these integrations" in shown
    assert "wiki" in shown
    assert "cannot be undone" in asked
    assert not Application.objects.exists()


@pytest.mark.parametrize("reach", ["all", "chosen", "none", "gone"])
def test_saving_what_the_form_shows_changes_nothing(
    people: People, admin: Client, reach: str
) -> None:
    integrations = {"all": [], "chosen": [people.wiki.pk], "none": [0], "gone": [people.wiki.pk]}
    row = make_application(people.support, defaults={"client_executes": True}, alert_below=0.07)
    Application.objects.filter(pk=row.pk).update(integrations=integrations[reach])
    if reach == "gone":
        people.wiki.delete()
    shown = ApplicationForm(initial=ApplicationForm.values_of(Application.objects.get()))
    data = {name: shown[name].value() for name in shown.fields if shown[name].value() is not None}
    there = set(type(people.wiki).objects.values_list("pk", flat=True))
    data["integrations"] = [pk for pk in data["integrations"] if pk in there]

    answer = admin.post(f"/applications/{row.pk}/edit/", data)

    after = Application.objects.get()
    expected = {**integrations, "gone": [0]}[reach]
    assert answer.status_code == 302
    assert (after.integrations, after.defaults) == (expected, {"client_executes": True})
    assert after.alert_below == 0.07


def test_what_is_wrong_is_said_at_its_field(people: People, admin: Client) -> None:
    make_application(people.support, name="Website")

    answer = admin.post("/applications/new/", FIELDS)

    assert answer.status_code == 422
    assert "There is an application of this name already." in answer.content.decode()


def test_keys_are_put_in_and_taken_out(people: People, admin: Client) -> None:
    row = make_application(people.support)
    key, _ = key_of(None, people.support)
    place = f"/applications/{row.pk}/"

    offered = "Key without an application" in page(admin, place)
    admin.post(f"{place}keys/", {"key": key.pk})
    within = ApiKey.objects.get().application
    admin.post(f"{place}keys/{key.pk}/release/")
    again = admin.post(f"{place}keys/", {"key": "no number"})

    assert offered
    assert within == row
    assert ApiKey.objects.get().application is None
    assert again.status_code == 404


def test_a_conversation_is_shown_without_its_contents(people: People, admin: Client) -> None:
    row = make_application(people.support)
    _, client = key_of(row, people.support)
    body = {"user": "alice", "message": "the secret plan", "conversation": "ticket 1/ä"}
    client.post("/api/v1/select", body, content_type="application/json")

    listed = page(admin, f"/applications/{row.pk}/")
    shown = page(admin, f"/applications/{row.pk}/conversation/?name=ticket+1%2F%C3%A4")

    assert "ticket 1/ä" in listed
    assert "?name=ticket%201%2F%C3%A4" in listed
    assert "alice" in shown
    assert "the secret plan" not in shown
    assert admin.get(f"/applications/{row.pk}/conversation/?name=x").status_code == 404


def test_the_list_has_their_use_and_takes_as_many_statements_for_many(
    people: People, admin: Client, django_assert_max_num_queries: Any
) -> None:
    empty = page(admin, "/applications/")
    for _ in range(12):
        make_application(people.support)

    with django_assert_max_num_queries(12):
        listed = page(admin, "/applications/")

    assert "No applications yet" in empty
    assert listed.count('<th scope="row">') == 12


def test_explain_reach_and_holders_are_asked_for_an_application(
    people: People, admin: Client
) -> None:
    without = page(admin, f"/access/explain/?user=alice&capability={SEND}")
    row = make_application(people.support, people.wiki, name="Website")
    query = f"user=alice&group={people.support.pk}&capability={SEND}"

    told = page(admin, f"/access/explain/?{query}&application={row.pk}")
    plain = page(admin, f"/access/explain/?{query}")
    reach = page(admin, f"/access/people/{people.alice.pk}/?application={row.pk}")
    holders = [
        page(admin, f"/access/tools/{SEND}/?application={key}") for key in (row.pk, "", "none")
    ]

    assert "Any application" not in without
    assert "gmail is not allowed to the application Website." in told
    assert "not allowed to the application" not in plain
    assert SEND not in reach
    assert "wiki__read_page" in reach
    assert ["alice" in text for text in holders] == [False, True, True]
