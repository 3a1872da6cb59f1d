"""The marketplace API: the same answers as the pages, limited by rights."""

from typing import Any

import pytest
from django.test import Client

from acl.keys.lifecycle import create_key
from catalog.models import Integration
from marketplace.listings.search import describe_missing
from tests.factories import (
    CapabilityFactory,
    GroupFactory,
    IntegrationFactory,
    ListingFactory,
    SourceFactory,
    UserFactory,
    give,
)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def shop() -> None:
    """Time is installed for no group yet; Quince comes from a configuration of the organisation."""
    ListingFactory.create(
        slug="time",
        title="Time",
        version="2",
        transport="stdio",
        command=["uvx", "time==2"],
        source=SourceFactory.create(slug="starter", kind="starter", location=""),
    )
    inside = SourceFactory.create(slug="inside", kind="mcp_json", location="")
    ListingFactory.create(slug="quince", title="Quince", source=inside)
    kept = IntegrationFactory.create(slug="time", listing="time", version="1")
    CapabilityFactory.create(integration=kept)
    describe_missing()


def of(client: Client, path: str, **query: Any) -> dict[str, Any]:
    answer = client.get(f"/api/v1/listings{path}", query)
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def test_a_user_is_told_what_they_may_use_of_it_and_an_admin_all(client: Client) -> None:
    group = GroupFactory.create()
    bob, root = UserFactory.create(groups=[group]), UserFactory.create(is_staff=True)
    _, raw = create_key(by=None, name="k", group=group, scopes=["discover"], acts_for_users=True)
    key = Client(headers={"Authorization": f"Bearer {raw}"})
    own: dict[str, Any] = {
        "by": None,
        "name": "own",
        "all_groups": True,
        "owner": root,
        "scopes": ["admin"],
    }
    root.groups.add(group)
    _, admins = create_key(**own)
    before = of(key, "", user=bob.username)
    one = of(key, "/time", user=bob.username)
    give(Integration.objects.get(slug="time"), group)
    after = of(key, "/time", user=bob.username)
    client.force_login(root)
    session, by_key = of(client, ""), of(Client(headers={"Authorization": f"Bearer {admins}"}), "")

    assert [item["slug"] for item in before["items"]] == ["time"]
    assert before["total"] == 1
    assert "uince" not in str(before)
    assert (one["integration"], one["command"], one["has_update"]) == (None, None, False)
    assert (after["integration"], after["installed_version"]) == ("time", None)
    assert key.get("/api/v1/listings/quince", {"user": bob.username}).status_code == 404
    assert session == by_key
    assert [item["slug"] for item in session["items"]] == ["quince", "time"]
    assert [item["has_update"] for item in session["items"]] == [False, True]
    assert of(client, "/time")["command"] == ["uvx", "time==2"]


def test_search_filters_and_pages(client: Client) -> None:
    client.force_login(UserFactory.create(is_staff=True))
    for number in range(5):
        ListingFactory.create(slug=f"clock-{number}", title=f"Clock {number}", kind="skill")
    describe_missing()

    page = of(client, "", query="clock", kind="skill", limit=2, offset=2)
    rest = of(client, "", kind="skill", limit=2, offset=4)

    assert [item["slug"] for item in page["items"]] == ["clock-2", "clock-3"]
    assert (page["total"], page["has_more"], rest["has_more"]) == (5, True, False)
    assert [item["slug"] for item in rest["items"]] == ["clock-4"]
    assert page["filters"]["kinds"] == [{"value": "skill", "count": 5}]
    assert of(client, "", show="installed")["total"] == 1
    assert client.get("/api/v1/listings", {"kind": "spoon"}).status_code == 400
    assert client.get("/api/v1/listings", {"spoon": "1"}).status_code == 400


def test_listing_that_cannot_be_installed_says_which_variable_is_refused(client: Client) -> None:
    group = GroupFactory.create()
    _, raw = create_key(by=None, name="k", group=group, scopes=["discover"], acts_for_users=True)
    key = Client(headers={"Authorization": f"Bearer {raw}"})
    variables = [
        {"name": name, "description": "", "secret": True, "required": True}
        for name in ("GITHUB_TOKEN", "GCONV_PATH")
    ]
    ListingFactory.create(slug="hub", transport="stdio", needs={"variables": variables})
    describe_missing()
    user = UserFactory.create(groups=[group])

    listing = of(key, "/hub", user=user.username)

    assert [bool(one["refusal"]) for one in listing["variables"]] == [False, True]
    assert "GCONV_PATH" in listing["problem"]
    assert "GITHUB_TOKEN" not in listing["problem"]
