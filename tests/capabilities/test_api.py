"""The lookup API: parameters, refusals and answers."""

from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from acl.keys.lifecycle import create_key
from catalog.models import Capability
from tests.access.people import People, client_of
from tests.databases import as_superuser
from tests.factories import CapabilityFactory

LIST = "/api/v1/capabilities"


@pytest.fixture
def client(people: People) -> Client:
    return client_of(people.support)


def ask(client: Client, **query: Any) -> Any:
    return client.get(LIST, {"user": "alice", **query})


def test_list_is_a_page_with_its_place(client: Client) -> None:
    body = ask(client, limit=1, offset=1).json()

    assert [item["full_name"] for item in body.pop("items")] == ["gmail__send_email"]
    assert body == {"total": 3, "has_more": True, "limit": 1, "offset": 1, "hint": ""}


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": 201}, "limit"),
        ({"limit": "many"}, "limit"),
        ({"offset": -1}, "offset"),
        ({"kind": "spell"}, "kind"),
        ({"detail": "everything"}, "detail"),
        ({"category": "x" * 61}, "category"),
        ({"query": "a\x00b"}, "query"),
        ({"categroy": "search"}, "categroy"),
    ],
)
def test_wrong_filter_is_refused_by_name(client: Client, query: dict[str, Any], field: str) -> None:
    response = ask(client, **query)

    assert response.status_code == 400
    assert response.json()["field"] == field


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"names": []},
        {"names": "gmail__search"},
        {"names": [7]},
        {"names": ["x"] * 101},
        {"names": ["x" * 201]},
    ],
)
def test_wrong_batch_is_refused_by_name(client: Client, body: dict[str, Any]) -> None:
    body = {"user": "alice", **body}

    response = client.post(f"{LIST}/batch", body, content_type="application/json")

    assert response.status_code == 400
    assert response.json()["field"].split(".")[0] == "names"


def test_batch_answers_what_it_found_and_what_not(client: Client) -> None:
    body = {"user": "alice", "names": ["payroll__pay", "gmail__search"], "detail": "name_only"}

    response = client.post(f"{LIST}/batch", body, content_type="application/json")

    assert response.json() == {
        "found": [{"id": "tool:gmail__search", "full_name": "gmail__search", "tokens": 14}],
        "not_found": ["payroll__pay"],
        "hint": "",
    }


def test_one_capability_comes_in_full(client: Client) -> None:
    body = client.get(f"{LIST}/gmail__send_email", {"user": "alice"}).json()

    assert body["description"].endswith("Attachments are given by address.")
    assert {"input_schema", "content", "examples", "tags", "access"} <= body.keys()


def test_categories_give_some_names_and_count_the_others(people: People, client: Client) -> None:
    CapabilityFactory.create_batch(4, integration=people.gmail, category="search")

    body = client.get("/api/v1/categories?user=alice&names=2").json()

    found = {each["category"]: each for each in body["categories"]}["search"]
    assert (found["count"], len(found["names"]), found["more"]) == (5, 2, 3)


def test_statistics_are_the_callers_own(client: Client) -> None:
    body = client.get("/api/v1/stats", {"user": "bob"}).json()

    version = body.pop("index_version")
    assert version
    assert body == {
        "capabilities": 3,
        "integrations": 2,
        "embedded": 2,
        "pending": 1,
        "graph_nodes": 3,
        "graph_edges": 0,
    }


@pytest.mark.parametrize(
    ("scope", "status"), [("discover", 200), ("select", 403), ("execute", 403)]
)
def test_key_needs_a_scope_that_looks_things_up(people: People, scope: str, status: int) -> None:
    _, raw = create_key(
        by=None, name="b", group=people.support, scopes=[scope], acts_for_users=True
    )

    response = ask(Client(headers={"Authorization": f"Bearer {raw}"}))

    assert response.status_code == status


def test_person_who_is_logged_in_sees_their_own(people: People) -> None:
    browser = Client()
    browser.force_login(people.charlie)

    assert browser.get("/api/v1/names").json()["names"] == ["payroll__pay"]
    assert browser.get("/api/v1/names", {"user": "alice"}).status_code == 403


@pytest.mark.parametrize("path", ["capabilities", "categories", "tree", "names", "stats"])
def test_a_call_takes_as_many_statements_for_two_rows_as_for_twenty(
    people: People, client: Client, path: str
) -> None:
    few = statements(client, path)

    CapabilityFactory.create_batch(18, integration=people.gmail)

    assert statements(client, path) == few


def statements(client: Client, path: str) -> int:
    url = f"/api/v1/{path}"
    client.get(url, {"user": "alice"})
    with CaptureQueriesContext(connection) as queries:
        client.get(url, {"user": "alice"})
    return len(queries)


def test_rebuilding_makes_the_listing_an_old_one(people: People, client: Client) -> None:
    ask(client)
    # Past everything that detects changes.
    as_superuser(
        "SET CONSTRAINTS ALL IMMEDIATE; ALTER TABLE catalog_capability DISABLE TRIGGER USER",
        "UPDATE catalog_capability SET category = 'rebuilt'",
        "ALTER TABLE catalog_capability ENABLE TRIGGER USER",
    )
    assert {item["category"] for item in ask(client).json()["items"]} != {"rebuilt"}

    call_command("rebuild_catalog", "--json", verbosity=0)

    assert {item["category"] for item in ask(client).json()["items"]} == {"rebuilt"}
    assert Capability.objects.filter(category="rebuilt").exists()
