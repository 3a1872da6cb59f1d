"""Stored relations: refreshed, by API and in the admin, and those of a group for it alone."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from acl.keys.lifecycle import create_key
from acl.models import AuditEntry
from acl.rights.caller_lookup import Caller
from catalog.formats.descriptors import EdgeDescriptor
from catalog.models import Capability, Edge, Preset, Trait
from catalog.registration.catalog_rebuild import rebuild_catalog
from catalog.relations.neighbours import count_edges
from catalog.relations.relations import (
    MOST_IN_A_PRESET,
    PresetTooLarge,
    find_neighbours,
    relate,
    set_members,
    unrelate,
)
from discovery.select.selection import SelectRequest
from discovery.select.selector import select_capabilities
from tests.access.people import People, invite
from tests.factories import CapabilityFactory, UserFactory, give
from tests.relations.brought import bring, edges, tool
from tests.sessions import session_of

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("said", ["tool:office__print", "office__print", "print"])
def test_required_tool_is_found_by_id_name_and_in_the_own_integration(said: str) -> None:
    bring(tool("write", required_tools=(said,)), tool("print"))

    assert edges() == {("write", "DEPENDS_ON", "print", 1.0, "metadata")}


def test_what_is_needed_may_come_later() -> None:
    bring(tool("write", required_tools=("shop__print",)))
    assert edges() == set()

    bring(tool("print", integration="shop"))

    assert edges() == {("write", "DEPENDS_ON", "print", 1.0, "metadata")}


def test_what_is_needed_may_come_again() -> None:
    bring(tool("write", required_tools=("shop__print",)), tool("print", integration="shop"))
    Capability.objects.get(action="print").delete()

    bring(tool("print", integration="shop"))

    assert len(edges()) == 1


def test_what_is_needed_no_longer_is_no_edge() -> None:
    bring(tool("write", required_tools=("print",)), tool("print"))

    bring(tool("write"))

    assert edges() == set()


def test_manifest_gives_a_weight_of_its_own() -> None:
    declared = (
        EdgeDescriptor("office__print", "COMPOSED_WITH", 0.8),
        EdgeDescriptor("office__print", "REPLACES", 0.4),
    )

    bring(tool("print"), tool("write", edges=declared))

    assert edges() == {
        ("print", "COMPOSED_WITH", "write", 0.8, "manifest"),
        ("write", "DECLARED", "print", 0.4, "manifest"),
    }


def test_one_pair_that_both_declare_is_one_edge_with_the_greater_weight() -> None:
    one = (EdgeDescriptor("office__print", "COMPOSED_WITH", 0.8),)
    other = (EdgeDescriptor("office__write", "COMPOSED_WITH", 0.3),)

    bring(tool("print", edges=other), tool("write", edges=one))

    assert edges() == {("print", "COMPOSED_WITH", "write", 0.8, "manifest")}


def test_nobody_needs_itself() -> None:
    bring(tool("print", required_tools=("print",)))

    assert edges() == set()


def test_preset_composes_each_two() -> None:
    some = [CapabilityFactory.create(action=action) for action in ("a", "b", "c")]
    preset = Preset.objects.create(name="Writing")

    set_members(by=None, preset=preset, capabilities=some)
    assert {edge[:3] for edge in edges()} == {
        ("a", "COMPOSED_WITH", "b"),
        ("a", "COMPOSED_WITH", "c"),
        ("b", "COMPOSED_WITH", "c"),
    }

    set_members(by=None, preset=preset, capabilities=some[:2])
    assert edges() == {("a", "COMPOSED_WITH", "b", 0.5, "preset")}


def test_preset_stays_small() -> None:
    some = CapabilityFactory.create_batch(MOST_IN_A_PRESET + 1)

    with pytest.raises(PresetTooLarge):
        set_members(by=None, preset=Preset.objects.create(name="All"), capabilities=some)


def test_import_leaves_the_edges_of_others_and_of_admins_alone() -> None:
    bring(tool("a", required_tools=("b",)), tool("b"), tool("c"))
    a, c = (Capability.objects.get(action=action) for action in "ac")
    relate(by=None, source=a, target=c, kind="COMPOSED_WITH", weight=0.7)
    before = set(Edge.objects.values_list("pk", flat=True))

    bring(tool("c", tags=("new", "newer")), tool("d", required_tools=("c",)))

    assert before < set(Edge.objects.values_list("pk", flat=True))


def test_one_entry_costs_the_same_in_any_catalogue() -> None:
    bring(tool("a", required_tools=("b",)), tool("b"))
    with CaptureQueriesContext(connection) as few:
        bring(tool("a", required_tools=("b",), tags=("x",)))
    bring(*(tool(f"other_{number}", required_tools=("b",)) for number in range(40)))
    untouched = set(Edge.objects.exclude(source__action="a").values_list("pk", flat=True))

    with CaptureQueriesContext(connection) as many:
        bring(tool("a", required_tools=("b",), tags=("y",)))

    assert len(many) == len(few)
    assert untouched <= set(Edge.objects.values_list("pk", flat=True))


def test_rebuild_brings_back_all_that_is_lost() -> None:
    bring(tool("a", required_tools=("b",), tags=("X", "y")), tool("b"))
    preset = Preset.objects.create(name="Both")
    set_members(by=None, preset=preset, capabilities=list(Capability.objects.all()))
    before = edges()
    Edge.objects.all().delete()
    Trait.objects.all().delete()

    rebuild_catalog(by=None)

    assert edges() == before
    assert set(Trait.objects.values_list("name", flat=True)) == {"tool:other", "#x", "#y"}


@pytest.fixture
def admin() -> Client:
    return session_of(User.objects.create_superuser("root"))


@pytest.fixture
def pair() -> tuple[Capability, Capability]:
    return CapabilityFactory.create(action="one"), CapabilityFactory.create(action="other")


def edge_between(one: Capability, other: Capability, kind: str, weight: str) -> dict[str, object]:
    return {"source": one.pk, "target": other.pk, "kind": kind, "weight": weight}


def test_admin_adds_and_removes_an_edge(admin: Client, pair: tuple[Capability, Capability]) -> None:
    one, other = pair
    path = "/admin/catalog/edge/"

    added = admin.post(path + "add/", edge_between(other, one, "COMPOSED_WITH", "0.4"))
    assert added.status_code == 302
    edge = Edge.objects.get()
    assert (edge.source, edge.target, edge.weight, edge.origin) == (one, other, 0.4, "admin")

    assert admin.post(f"{path}{edge.pk}/delete/", {"post": "yes"}).status_code == 302
    assert not Edge.objects.exists()
    actions = AuditEntry.objects.filter(action__startswith="edge").order_by("pk")
    assert [entry.action for entry in actions] == ["edge.add", "edge.remove"]


@pytest.mark.parametrize(("weight", "itself"), [("2", False), ("-1", False), ("1", True)])
def test_wrong_edge_is_refused_with_a_word(
    admin: Client, pair: tuple[Capability, Capability], weight: str, itself: bool
) -> None:
    one, other = pair
    body = edge_between(one, one if itself else other, "DEPENDS_ON", weight)

    answer = admin.post("/admin/catalog/edge/add/", body)

    assert answer.status_code == 200
    assert not Edge.objects.exists()


def test_preset_relates_its_members(admin: Client, pair: tuple[Capability, Capability]) -> None:
    body = {
        "name": "Writing",
        "description": "",
        "members-TOTAL_FORMS": 2,
        "members-INITIAL_FORMS": 0,
        "members-0-capability": pair[0].pk,
        "members-1-capability": pair[1].pk,
    }

    assert admin.post("/admin/catalog/preset/add/", body).status_code == 302

    assert Edge.objects.get().origin == "preset"
    admin.post(f"/admin/catalog/preset/{Preset.objects.get().pk}/delete/", {"post": "yes"})
    assert not Edge.objects.exists()


HERE = "/api/v1/graph/gmail__send_email"


def client_with(people: People, *scopes: str) -> Client:
    _, raw = create_key(
        by=None, name="k", group=people.support, scopes=list(scopes), acts_for_users=True
    )
    return Client(headers={"Authorization": f"Bearer {raw}"})


def post(client: Client, **body: object) -> Any:
    said = {"user": "alice", "target": "gmail__search", "type": "DEPENDS_ON", **body}
    return client.post(HERE, json.dumps(said), content_type="application/json")


def test_admin_adds_looks_at_and_removes_an_edge(people: People) -> None:
    admin = client_with(people, "admin", "discover")

    assert post(admin, weight=0.5).status_code == 201
    assert post(admin, weight=0.6).status_code == 200
    (found,) = admin.get(HERE, {"user": "alice", "type": "DEPENDS_ON"}).json()["neighbours"]
    assert (found["full_name"], found["weight"], found["direction"]) == (
        "gmail__search",
        0.6,
        "out",
    )
    assert admin.get(HERE, {"user": "alice", "type": "DECLARED"}).json()["neighbours"] == []

    query = "?user=alice&target=gmail__search&type=DEPENDS_ON"
    assert admin.delete(HERE + query).status_code == 204
    assert admin.delete(HERE + query).status_code == 404
    actions = AuditEntry.objects.filter(action__startswith="edge").order_by("pk")
    assert [entry.action for entry in actions] == ["edge.add", "edge.add", "edge.remove"]


@pytest.mark.parametrize("target", ["payroll__pay", "wiki__delete_page", "no_such__tool"])
def test_foreign_and_unknown_targets_are_refused_alike(people: People, target: str) -> None:
    admin = client_with(people, "admin")

    answer = post(admin, target=target)

    assert answer.status_code == 404
    assert target not in answer.content.decode()


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"type": "LIKES"}, "type"),
        ({"weight": 2}, "weight"),
        ({"target": "gmail__send_email"}, "target"),
        ({"why": "because"}, "why"),
    ],
)
def test_wrong_edges_are_refused_by_field(
    people: People, wrong: dict[str, Any], field: str
) -> None:
    answer = post(client_with(people, "admin"), **wrong)

    assert answer.status_code == 400
    assert answer.json()["field"] == field


EDGE = {"target": "wiki__read_page", "type": "DEPENDS_ON"}


@pytest.fixture
def world() -> People:
    """finance has the same tools as support."""
    people = invite()
    give(people.gmail, people.finance)
    give(people.read_page, people.finance)
    return people


def admin_key(group: Group) -> Client:
    _, raw = create_key(by=None, name="k", group=group, scopes=["admin"], acts_for_users=True)
    return Client(headers={"Authorization": f"Bearer {raw}"})


def post_relation(client: Client, user: str, weight: float) -> Any:
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


def test_a_keys_edge_moves_nothing_in_another_group(world: People) -> None:
    before, own = told(world.stranger), told(world.caller)

    added = post_relation(admin_key(world.support), "alice", 1.0)

    assert (added.status_code, added.json()["for_group"]) == (201, "support")
    assert told(world.stranger) == before
    assert told(world.caller) != own
    assert needs(world.caller) == {"wiki__read_page": 1.0}
    assert AuditEntry.objects.get(action="edge.add").details["group"] == "support"


def test_a_key_takes_nothing_away_from_another_group(world: People) -> None:
    relate(
        by=None,
        source=world.send,
        target=world.read_page,
        kind="DEPENDS_ON",
        weight=0.8,
    )
    before, own = (
        told(world.stranger),
        count_edges(world.caller),
    )

    query = "?user=alice&target=wiki__read_page&type=DEPENDS_ON"
    removed = admin_key(world.support).delete("/api/v1/graph/gmail__send_email" + query)

    assert removed.status_code == 204
    assert needs(world.caller) == {}
    assert told(world.stranger) == before
    assert count_edges(world.caller) == own - 1


def test_staff_decide_for_everyone_and_a_groups_own_word_goes_before(
    world: People,
) -> None:
    root = User.objects.create_superuser("root")
    root.groups.add(world.support)
    staff = session_of(root)

    everyones = post_relation(staff, "root", 0.5)
    own = post_relation(admin_key(world.support), "alice", 0.2)

    assert (everyones.status_code, everyones.json()["for_group"]) == (201, None)
    assert own.status_code == 201
    assert (needs(world.caller), needs(world.stranger)) == (
        {"wiki__read_page": 0.2},
        {"wiki__read_page": 0.5},
    )


def test_without_the_groups_own_word_everyones_counts_again(
    world: People,
) -> None:
    edge: dict[str, Any] = {
        "source": world.send,
        "target": world.read_page,
        "by": None,
    }
    edge["kind"] = "DEPENDS_ON"
    relate(**edge, weight=0.3, group=world.support)

    assert unrelate(**edge, group=world.support)
    assert not Edge.objects.exists()  # nothing to outweigh
    assert not unrelate(**edge, group=world.support)

    relate(**edge, weight=0.5)
    assert unrelate(**edge, group=world.support)
    assert not unrelate(**edge, group=world.support)
    assert needs(world.caller) == {}
    relate(**edge, weight=0.4, group=world.support)
    assert needs(world.caller) == {"wiki__read_page": 0.4}
    world.support.delete()
    assert needs(world.stranger) == {"wiki__read_page": 0.5}
    assert Edge.objects.count() == 1


@pytest.mark.parametrize("named", ["support", "finance"])
def test_a_key_of_several_groups_names_the_one_it_decides_for(world: People, named: str) -> None:
    world.alice.groups.add(world.finance)
    _, raw = create_key(
        by=None,
        name="k",
        groups=[world.support, world.finance],
        scopes=["admin"],
        acts_for_users=True,
    )
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


def test_an_admins_key_for_all_groups_decides_for_everyone(
    world: People,
) -> None:
    root = UserFactory.create(username="root", is_staff=True, groups=[world.support])
    _, raw = create_key(by=None, name="k", all_groups=True, scopes=["admin"], owner=root)

    added = Client(headers={"Authorization": f"Bearer {raw}"}).post(
        "/api/v1/graph/gmail__send_email", {**EDGE, "weight": 1.0}, "application/json"
    )

    assert (added.status_code, added.json()["for_group"]) == (201, None)
