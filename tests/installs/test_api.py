"""The installation API: idempotent requests, events, changes and removal."""

import json
import sys
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from acl.keys.lifecycle import create_key
from catalog.embedding.jobs import embed_pending
from catalog.models import Integration
from marketplace.installs.worker import install
from marketplace.models import Installation, Listing
from tests.connections.evil_server import EVIL
from tests.factories import GroupFactory, ListingFactory, UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("embedder", "quick_connections")]
PATH = "/api/v1/installations"


@pytest.fixture
def client(alice: User) -> Client:
    client = Client()
    client.force_login(alice)
    ListingFactory.create(
        slug="evil", title="Evil", transport="stdio", version="1",
        command=[sys.executable, "-I", str(EVIL)],
    )  # fmt: skip
    return client


def post(client: Client, path: str, body: dict[str, Any], key: str = "") -> Any:
    headers = {"Idempotency-Key": key} if key else {}
    return client.post(path, json.dumps(body), content_type="application/json", headers=headers)


def test_the_whole_way(client: Client) -> None:
    group = GroupFactory.create()
    preview = client.get(f"{PATH}/preview", {"listing": "evil"}).json()
    wanted = {"listing": "evil", "groups": [group.name], "confirmed": preview["digest"]}
    begun = post(client, PATH, wanted, key="k")
    again = post(client, PATH, wanted, key="k")
    other = post(client, PATH, {**wanted, "groups": []}, key="k")
    twice = post(client, PATH, wanted)
    one = f"{PATH}/{begun.json()['id']}"
    early = client.patch(one, {"enabled": False}, "application/json")
    install(Installation.objects.get().pk)
    first = client.get(f"{one}/events").json()
    embed_pending()
    install(Installation.objects.get().pk)
    last = first["events"][-1]["id"]
    rest = client.get(f"{one}/events", {"after": last}).json()
    off = client.patch(one, {"enabled": False}, "application/json")

    assert preview["command"] == [sys.executable, "-I", str(EVIL)]
    assert (begun.status_code, again.json()) == (202, begun.json())
    assert [each.status_code for each in (other, twice, early)] == [422, 409, 409]
    assert [event["state"] for event in first["events"]][-2:] == ["storing", "embedding"]
    assert (first["is_over"], rest["is_over"]) == (False, True)
    assert [event["state"] for event in rest["events"]] == ["ready"]
    assert off.json()["enabled"] is Integration.objects.get().enabled is False
    assert post(client, f"{one}/cancel", {}).status_code == 409
    assert client.get(f"{one}/update").status_code == 404
    assert client.delete(one).status_code == 204
    assert client.get(one).status_code == 404
    assert not Integration.objects.exists()


def test_who_may_and_what_is_told_otherwise(client: Client, alice: User) -> None:
    digest = client.get(f"{PATH}/preview", {"listing": "evil"}).json()["digest"]
    wanted = {"listing": "evil", "confirmed": digest}
    clerk = Client()
    clerk.force_login(UserFactory.create(is_staff=True))
    group = GroupFactory.create()
    alice.groups.add(group)
    _, own = create_key(by=None, name="own", all_groups=True, scopes=["admin"], owner=alice)
    _, of_hers = create_key(by=None, name="one", group=group, scopes=["admin"], owner=alice)
    _, nobodys = create_key(by=None, name="bot", group=group, scopes=["admin"], acts_for_users=True)
    of_nobody, of_one_group, of_alice = (
        Client(headers={"Authorization": f"Bearer {key}"}) for key in (nobodys, of_hers, own)
    )

    refused = [post(each, PATH, wanted).status_code for each in (clerk, of_nobody, of_one_group)]
    wrong = [
        post(client, PATH, {**wanted, **change}).json()
        for change in (
            {"listing": "nowhere"}, {"version": "9"}, {"groups": ["nowhere"]},
            {"spaces": [{"group": "a", "space": "b"}]}, {"secrets": {"A": "\x01"}}, {"whom": 1},
        )
    ]  # fmt: skip
    unseen = post(client, PATH, {"listing": "evil"}).status_code

    assert (refused, unseen) == ([403, 403, 403], 403)
    assert [problem.get("field", problem) for problem in wrong] == [
        "listing", "version", "groups", "spaces", "secrets", "whom",
    ]  # fmt: skip
    assert not Integration.objects.exists()
    assert post(of_alice, PATH, wanted).status_code == 202


def test_update_is_previewed_with_all_that_is_confirmed(client: Client) -> None:
    preview = client.get(f"{PATH}/preview", {"listing": "evil"}).json()
    begun = post(client, PATH, {"listing": "evil", "confirmed": preview["digest"]}).json()
    for _ in range(2):
        install(Installation.objects.get().pk)
        embed_pending()
    Listing.objects.update(version="2")

    update = client.get(f"{PATH}/{begun['id']}/update").json()

    assert (update["version"], update["command"]) == ("2", preview["command"])
    assert (update["constraints"], update["proposed_hosts"]) == ([], [])
    assert update["digest"]
