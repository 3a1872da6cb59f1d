"""Edges and presets in the admin."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from acl.models import AuditEntry
from catalog.models import Capability, Edge, Preset
from tests.factories import CapabilityFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


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
