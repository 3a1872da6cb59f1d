"""Edges of a group hold for it alone, and change nothing for others."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from acl.keys.lifecycle import create_key
from acl.models import AuditEntry
from acl.rights.caller_lookup import Caller
from catalog.models import Edge
from catalog.relations.neighbours import count_edges
from catalog.relations.relations import find_neighbours, relate, unrelate
from discovery.select.selection import SelectRequest
from discovery.select.selector import select_capabilities
from tests.access.people import People, invite
from tests.factories import UserFactory, give

pytestmark = pytest.mark.django_db
EDGE = {"target": "wiki__read_page", "type": "DEPENDS_ON"}


@pytest.fixture
def people() -> People:
    """finance has the same tools as support."""
    people = invite()
    give(people.gmail, people.finance)
    give(people.read_page, people.finance)
    return people


def admin_key(group: Group) -> Client:
    _, raw = create_key(by=None, name="k", group=group, scopes=["admin"], acts_for_users=True)
    return Client(headers={"Authorization": f"Bearer {raw}"})


def post(client: Client, user: str, weight: float) -> Any:
    body = json.dumps({**EDGE, "user": user, "weight": weight})
    return client.post("/api/v1/graph/gmail__send_email", body, "application/json")


def needs(caller: Caller) -> dict[str, float]:
    """Return what sending mail depends on."""
    found = find_neighbours(caller=caller, full_name="gmail__send_email", kind="DEPENDS_ON")
    assert found is not None
    return {one.full_name: one.weight for one in found.neighbours}


def told(caller: Caller) -> list[Any]:
    """Return what a group sees: neighbours, figures and a ranking."""
    selection = select_capabilities(SelectRequest("send an email to the team", caller))
    ranking = [(one.full_name, one.score, one.reasons) for one in selection.selected]
    return [needs(caller), count_edges(caller), ranking]


def test_a_keys_edge_moves_nothing_in_another_group(people: People) -> None:
    before, own = told(people.stranger), told(people.caller)

    added = post(admin_key(people.support), "alice", 1.0)

    assert (added.status_code, added.json()["for_group"]) == (201, "support")
    assert told(people.stranger) == before
    assert told(people.caller) != own
    assert needs(people.caller) == {"wiki__read_page": 1.0}
    assert AuditEntry.objects.get(action="edge.add").details["group"] == "support"


def test_a_key_takes_nothing_away_from_another_group(people: People) -> None:
    relate(by=None, source=people.send, target=people.read_page, kind="DEPENDS_ON", weight=0.8)
    before, own = told(people.stranger), count_edges(people.caller)

    query = "?user=alice&target=wiki__read_page&type=DEPENDS_ON"
    removed = admin_key(people.support).delete("/api/v1/graph/gmail__send_email" + query)

    assert removed.status_code == 204
    assert needs(people.caller) == {}
    assert told(people.stranger) == before
    assert count_edges(people.caller) == own - 1


def test_staff_decide_for_everyone_and_a_groups_own_word_goes_before(people: People) -> None:
    root = User.objects.create_superuser("root")
    root.groups.add(people.support)
    staff = Client()
    staff.force_login(root)

    everyones = post(staff, "root", 0.5)
    own = post(admin_key(people.support), "alice", 0.2)

    assert (everyones.status_code, everyones.json()["for_group"]) == (201, None)
    assert own.status_code == 201
    assert (needs(people.caller), needs(people.stranger)) == (
        {"wiki__read_page": 0.2},
        {"wiki__read_page": 0.5},
    )


def test_without_the_groups_own_word_everyones_counts_again(people: People) -> None:
    edge: dict[str, Any] = {"source": people.send, "target": people.read_page, "by": None}
    edge["kind"] = "DEPENDS_ON"
    relate(**edge, weight=0.3, group=people.support)

    assert unrelate(**edge, group=people.support)
    assert not Edge.objects.exists()  # nothing to outweigh
    assert not unrelate(**edge, group=people.support)

    relate(**edge, weight=0.5)
    assert unrelate(**edge, group=people.support)
    assert not unrelate(**edge, group=people.support)
    assert needs(people.caller) == {}
    relate(**edge, weight=0.4, group=people.support)
    assert needs(people.caller) == {"wiki__read_page": 0.4}
    people.support.delete()
    assert needs(people.stranger) == {"wiki__read_page": 0.5}
    assert Edge.objects.count() == 1


@pytest.mark.parametrize("named", ["support", "finance"])
def test_a_key_of_several_groups_names_the_one_it_decides_for(people: People, named: str) -> None:
    people.alice.groups.add(people.finance)
    _, raw = create_key(
        by=None, name="k", groups=[people.support, people.finance], scopes=["admin"],
        acts_for_users=True,
    )  # fmt: skip
    client = Client(headers={"Authorization": f"Bearer {raw}"})
    body = {**EDGE, "user": "alice", "weight": 1.0}
    path = "/api/v1/graph/gmail__send_email"

    unnamed = client.post(path, body, "application/json")
    added = client.post(path, {**body, "group": named}, "application/json")
    query = f"?user=alice&target=wiki__read_page&type=DEPENDS_ON&group={named}"
    removed = client.delete(path + query)

    assert (unnamed.status_code, unnamed.json()["field"]) == (400, "group")
    assert (added.status_code, added.json()["for_group"]) == (201, named)
    assert removed.status_code == 204


def test_an_admins_key_for_all_groups_decides_for_everyone(people: People) -> None:
    root = UserFactory.create(username="root", is_staff=True, groups=[people.support])
    _, raw = create_key(by=None, name="k", all_groups=True, scopes=["admin"], owner=root)

    added = Client(headers={"Authorization": f"Bearer {raw}"}).post(
        "/api/v1/graph/gmail__send_email", {**EDGE, "weight": 1.0}, "application/json"
    )

    assert (added.status_code, added.json()["for_group"]) == (201, None)
