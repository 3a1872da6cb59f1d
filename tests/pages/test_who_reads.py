"""Pages know who reads them: admins are shown the way on, and are not told to ask an admin."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.factories import GroupFactory

PAGES = ("/", "/today/", "/tools/", "/chat/", "/marketplace/", "/tools/connections/", "/approvals/")
ASKS = re.compile(r"(ask|tell|give) an admin", re.IGNORECASE)


def text_of(client: Client, path: str) -> str:
    response = client.get(path, follow=True)
    page = response.content.decode().partition("<main")[2]
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("in_group", [True, False])
def test_admin_is_shown_the_way_on(
    as_admin: Client, admin: User, path: str, in_group: bool
) -> None:
    admin.groups.set([GroupFactory.create(name="everyone")] if in_group else [])

    assert not ASKS.search(text_of(as_admin, path))


def test_admin_without_a_tool_that_fits_may_search_the_marketplace(
    as_admin: Client, gmail: object
) -> None:
    page = as_admin.get("/", {"message": "book a hotel in Rome"}).content.decode()

    assert "/marketplace/?q=book%20a%20hotel%20in%20Rome" in page
    assert "Ask an admin" not in page


def test_a_single_group_is_not_named_and_everyone_is_a_word(as_alice: Client, alice: User) -> None:
    everyone = GroupFactory.create(name="everyone")
    alice.groups.set([everyone])
    alone = as_alice.get("/tools/").content.decode()
    alice.groups.add(GroupFactory.create(name="Sales"))
    several = as_alice.get("/tools/").content.decode()

    assert ">everyone<" not in alone + several
    assert "group-name" not in alone
    assert ">Everyone<" in several
