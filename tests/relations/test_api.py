"""Neighbours and edges by API."""

import json
from typing import Any

import pytest
from django.test import Client

from acl.keys.lifecycle import create_key
from acl.models import AuditEntry
from catalog.models import Edge
from tests.access.people import People, invite

pytestmark = pytest.mark.django_db
HERE = "/api/v1/graph/gmail__send_email"


@pytest.fixture
def people() -> People:
    return invite()


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


def test_who_is_no_admin_changes_nothing(people: People) -> None:
    client = client_with(people, "select", "discover", "execute")

    assert post(client).status_code == 403
    assert (
        client.delete(f"{HERE}?user=alice&target=gmail__search&type=DEPENDS_ON").status_code == 403
    )
    assert client.get(HERE, {"user": "alice"}).status_code == 200
    assert not Edge.objects.exists()


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
