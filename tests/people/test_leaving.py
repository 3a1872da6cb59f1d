"""Leaving a group and being deactivated take effect with the next request."""

import json

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from acl.keys.lifecycle import create_key
from acl.people.people import add_to_group, deactivate, reactivate, take_out_of_group
from catalog.models import Capability
from tests.factories import GroupFactory, give
from tests.people.conftest import sign_in_as

MESSAGE = "write an email to someone"


@pytest.fixture
def key(support: Group, alice: User, gmail: Capability) -> Client:
    """A key of a chat backend for the group."""
    _, raw = create_key(
        by=None, name="chat", group=support, scopes=["select", "discover"], acts_for_users=True
    )
    return Client(headers={"Authorization": f"Bearer {raw}"})


def shows_gmail(client: Client, **body: str) -> tuple[bool, bool]:
    """Return True for gmail in select and in the lists."""
    asked = json.dumps({"message": MESSAGE, **body})
    selected = client.post("/api/v1/select", asked, content_type="application/json")
    listed = client.get("/api/v1/names", body)
    return tuple("gmail" in answer.content.decode() for answer in (selected, listed))  # type: ignore[return-value]


def test_leaving_takes_effect_in_select_and_in_my_tools(
    key: Client, admin: User, alice: User, support: Group
) -> None:
    session = sign_in_as("alice")
    assert shows_gmail(key, user="alice") == shows_gmail(session) == (True, True)
    assert "gmail" in session.get("/tools/").content.decode()

    take_out_of_group(by=admin, person=alice, group=support)

    assert shows_gmail(key, user="alice") == shows_gmail(session) == (False, False)
    assert "gmail" not in session.get("/tools/").content.decode()
    assert session.get("/tools/gmail__send_email/").status_code == 404


def test_a_chosen_group_is_not_kept_by_the_session(
    key: Client, admin: User, alice: User, support: Group
) -> None:
    for name in ("Aardvarks", "Badgers"):
        add_to_group(by=admin, person=alice, group=GroupFactory.create(name=name))
    session = sign_in_as("alice")
    session.post("/group/", {"group": support.pk})
    assert "gmail" in session.get("/tools/").content.decode()

    take_out_of_group(by=admin, person=alice, group=support)

    page = session.get("/tools/").content.decode()
    assert "Aardvarks" in page
    assert "gmail" not in page


def test_joining_takes_effect_as_soon(
    key: Client, admin: User, bob: User, support: Group, gmail: Capability
) -> None:
    session = sign_in_as("bob")
    assert shows_gmail(session, group="Support") == (False, False)

    add_to_group(by=admin, person=bob, group=support)

    assert shows_gmail(session, group="Support") == (True, True)


def test_deactivation_takes_effect_everywhere(
    key: Client, admin: User, alice: User, support: Group, gmail: Capability
) -> None:
    give(gmail.integration, alice)
    _, raw = create_key(by=None, name="own", group=support, scopes=["select"], owner=alice)
    own = Client(headers={"Authorization": f"Bearer {raw}"})
    session = sign_in_as("alice")

    deactivate(by=admin, person=alice)

    assert shows_gmail(key, user="alice") == (False, False)
    assert shows_gmail(own) == (False, False)
    assert session.get("/tools/").status_code == 302
    assert session.get("/api/v1/names").status_code == 401

    reactivate(by=admin, person=alice)

    assert shows_gmail(key, user="alice") == (True, True)
    assert session.get("/tools/").status_code == 302
