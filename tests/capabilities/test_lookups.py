"""Lookups by API: lists, names, overviews and groups, limited to the caller's rights."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries

from acl.keys.lifecycle import create_key
from catalog.capabilities.catalog_queries import (
    CapabilityFilters,
    Page,
    build_tree,
    get_batch,
    get_capability,
    list_capabilities,
    list_categories,
    list_names,
    statistics,
)
from catalog.models import Capability
from tests.access.people import People, client_of
from tests.databases import as_superuser
from tests.factories import (
    CapabilityFactory,
    GroupFactory,
    IntegrationFactory,
    UserFactory,
    active_model,
    give,
    take_away,
)
from tests.sessions import session_of

pytestmark = pytest.mark.django_db

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


def test_person_who_is_logged_in_sees_their_own(people: People) -> None:
    browser = session_of(people.charlie)

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


def listed(people: People, **wanted: Any) -> list[str]:
    page = list_capabilities(caller=people.caller, filters=CapabilityFilters(**wanted))
    return [item["full_name"] for item in page.items]


def test_list_has_what_the_caller_may_use_by_name(people: People) -> None:
    assert listed(people) == ["gmail__search", "gmail__send_email", "wiki__read_page"]


def test_stranger_gets_an_empty_list_and_no_error(people: People) -> None:
    people.alice.groups.clear()

    page = list_capabilities(caller=people.caller)

    assert page == Page(items=(), total=0, limit=50, offset=0, hint="")


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"kind": "skill"}, []),
        ({"kind": "any"}, ["gmail__search", "gmail__send_email", "wiki__read_page"]),
        ({"category": "communication"}, ["gmail__send_email"]),
        ({"integration": "wiki"}, ["wiki__read_page"]),
        ({"integration": "payroll"}, []),
        ({"prefix": "gmail__se"}, ["gmail__search", "gmail__send_email"]),
        ({"query": "EMAIL several"}, ["gmail__send_email"]),
        ({"query": "email salaries"}, []),
        ({"prefix": "gmail", "category": "search"}, ["gmail__search"]),
    ],
)
def test_filters_narrow_the_list(people: People, wanted: dict[str, str], found: list[str]) -> None:
    assert listed(people, **wanted) == found


def test_tags_are_searched_too(people: People) -> None:
    Capability.objects.filter(pk=people.search.pk).update(tags=["mailbox"])

    assert listed(people, query="mailbox") == ["gmail__search"]


def test_pages_follow_one_another_without_gap_or_overlap(people: People) -> None:
    first = list_capabilities(caller=people.caller, limit=2)
    second = list_capabilities(caller=people.caller, limit=2, offset=2)

    names = [item["full_name"] for page in (first, second) for item in page.items]
    assert names == ["gmail__search", "gmail__send_email", "wiki__read_page"]
    assert (first.total, second.total) == (3, 3)
    assert (first.has_more, second.has_more) == (True, False)


def test_item_says_what_a_person_needs_to_recognise_it(people: People) -> None:
    Capability.objects.filter(pk=people.send.pk).update(ai_access="propose")

    page = list_capabilities(caller=people.caller, filters=CapabilityFilters(prefix="gmail__send"))

    assert page.items == (
        {
            "id": "tool:gmail__send_email",
            "full_name": "gmail__send_email",
            "kind": "tool",
            "integration": "gmail",
            "display_name": "Send email",
            "description": "Send an email to one or several people.",
            "category": "communication",
            "side_effect": "read",
            "effect_flags": [],
            "access": "asks first",
            "readiness": "asks_first",
            "readiness_reason": "Nobody can approve its calls: an admin must add another admin, or "
            "allow self-approval. Your application carries it out.",
            "tokens": 110,
        },
    )


def test_full_detail_adds_the_schema_and_nothing_about_its_server(people: People) -> None:
    schema = {"type": "object", "properties": {"to": {"type": "string"}}}
    Capability.objects.filter(pk=people.send.pk).update(input_schema=schema, source_ref={"a": 1})

    page = list_capabilities(caller=people.caller, detail="full_schema")

    item = page.items[1]
    assert item["input_schema"] == schema
    assert item["description"] == people.send.description
    assert not {"source_ref", "pk", "definition_hash", "endpoint", "command"} & item.keys()


def test_disconnected_integration_is_left_out_with_a_hint(people: People) -> None:
    people.gmail.connection = "disconnected"
    people.gmail.save()
    people.payroll.connection = "disconnected"
    people.payroll.save()

    page = list_capabilities(caller=people.caller)

    assert [item["full_name"] for item in page.items] == ["wiki__read_page"]
    assert page.total == 1
    assert page.hint == "Not connected at the moment: gmail (2 capabilities)."


def test_hint_counts_only_what_would_have_fitted(people: People) -> None:
    people.gmail.connection = "disconnected"
    people.gmail.save()

    page = list_capabilities(caller=people.caller, filters=CapabilityFilters(integration="wiki"))

    assert page.hint == ""


@pytest.mark.parametrize("detail", ["name_only", "name_description", "full_schema"])
@pytest.mark.parametrize("count", [2, 20])
def test_list_takes_as_many_statements_for_two_rows_as_for_twenty(
    people: People, django_assert_num_queries: DjangoAssertNumQueries, detail: Any, count: int
) -> None:
    crm = IntegrationFactory.create(slug="crm")
    CapabilityFactory.create_batch(count, integration=crm)
    give(crm, people.support)
    list_names(caller=people.caller)  # fills the cache for all

    with django_assert_num_queries(4 if detail == "full_schema" else 1):
        page = list_capabilities(
            caller=people.caller, filters=CapabilityFilters(integration="crm"), detail=detail
        )

    assert len(page.items) == count


def test_capability_is_found_by_its_full_name(people: People) -> None:
    found = get_capability(caller=people.caller, full_name="gmail__send_email")

    assert found is not None
    assert found["id"] == "tool:gmail__send_email"
    assert found["action"] == "send_email"
    assert found["hint"] == ""


@pytest.mark.parametrize("name", ["payroll__pay", "wiki__delete_page", "no_such__tool", ""])
def test_foreign_and_unknown_names_are_both_nothing(
    people: People, django_assert_num_queries: DjangoAssertNumQueries, name: str
) -> None:
    with django_assert_num_queries(1):
        found = get_capability(caller=people.caller, full_name=name)

    assert found is None


def test_disconnected_capability_is_found_by_name_with_a_hint(people: People) -> None:
    people.gmail.connection = "disconnected"
    people.gmail.save()

    found = get_capability(caller=people.caller, full_name="gmail__search")

    assert found is not None
    assert found["hint"] == "Not connected at the moment: gmail (1 capability)."


def test_batch_keeps_the_order_and_names_the_missing_once(people: People) -> None:
    names = ["wiki__read_page", "payroll__pay", "gmail__search", "nothing", "nothing"]

    batch = get_batch(caller=people.caller, names=names)

    assert [item["full_name"] for item in batch.found] == ["wiki__read_page", "gmail__search"]
    assert batch.not_found == ("payroll__pay", "nothing")


def test_batch_takes_three_statements_however_many_names(
    people: People, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(3):
        get_batch(caller=people.caller, names=list_of_names(), detail="full_schema")


def list_of_names() -> list[str]:
    return [f"gmail__{number}" for number in range(98)] + ["gmail__search", "gmail__send_email"]


def test_names_of_a_caller_are_all_and_only_theirs(people: People) -> None:
    names, hint = list_names(caller=people.stranger)

    assert (names, hint) == (("payroll__pay",), "")


def test_categories_count_what_the_caller_may_use(people: People) -> None:
    categories, _ = list_categories(caller=people.caller)

    assert [(each.category, each.names) for each in categories] == [
        ("communication", ("gmail__send_email",)),
        ("other", ("wiki__read_page",)),
        ("search", ("gmail__search",)),
    ]


def test_tree_has_a_branch_for_each_integration_with_something_to_use(people: People) -> None:
    branches, _ = build_tree(caller=people.caller)

    assert [(branch.integration, branch.title) for branch in branches] == [
        ("gmail", "Gmail"),
        ("wiki", "Wiki"),
    ]
    assert [item["full_name"] for item in branches[1].capabilities] == ["wiki__read_page"]


def test_statistics_count_what_is_embedded_and_what_waits(people: People) -> None:
    figures = statistics(caller=people.caller)

    assert (figures.capabilities, figures.integrations) == (3, 2)
    assert (figures.embedded, figures.pending) == (2, 1)


def test_vectors_of_a_model_that_is_being_built_do_not_count(people: People) -> None:
    active_model()
    people.send.embeddings.update(vector_hash="of another text")

    figures = statistics(caller=people.caller)

    assert (figures.embedded, figures.pending) == (1, 2)


def test_index_version_stands_still_when_hidden_things_change(people: People) -> None:
    before = statistics(caller=people.caller).index_version

    CapabilityFactory.create(integration=people.payroll)
    people.delete_page.delete()

    assert statistics(caller=people.caller).index_version == before


def test_index_version_moves_with_what_the_caller_may_use(people: People) -> None:
    versions = {statistics(caller=people.caller).index_version}

    Capability.objects.filter(pk=people.send.pk).update(definition_hash="changed")
    versions.add(statistics(caller=people.caller).index_version)
    Capability.objects.filter(pk=people.send.pk).update(ai_access="propose")
    versions.add(statistics(caller=people.caller).index_version)
    take_away(people.gmail, people.support)
    versions.add(statistics(caller=people.caller).index_version)

    assert len(versions) == 4


@pytest.fixture
def support() -> Group:
    return GroupFactory.create(name="Support")


@pytest.fixture
def tool(support: Group) -> Capability:
    row = CapabilityFactory.create(action="send")
    give(row.integration, support)
    return row


@pytest.fixture
def person() -> Client:
    """Return a client without a key, for whoever signs in."""
    return Client()


def test_groups_of_the_caller_that_have_it_are_counted(
    person: Client, support: Group, tool: Capability
) -> None:
    sales, other = GroupFactory.create(name="Sales"), GroupFactory.create(name="Other")
    give(tool.integration, sales)
    person.force_login(UserFactory.create(groups=[support, sales, other]))

    body = {"names": [tool.full_name], "detail": "full_schema", "group": "Support"}

    assert _ask(person, tool, group="Support")["available_in_groups"] == 2
    path = "/api/v1/capabilities/batch"
    [found] = person.post(path, body, content_type="application/json").json()["found"]
    assert found["available_in_groups"] == 2


def test_groups_of_others_change_nothing(person: Client, support: Group, tool: Capability) -> None:
    person.force_login(UserFactory.create(groups=[support], is_staff=True))
    before = _ask(person, tool)

    give(tool.integration, GroupFactory.create(name="Board"))
    GroupFactory.create(name="Open house", open=True)

    assert _ask(person, tool) == before
    assert before["available_in_groups"] == 1


def test_key_counts_only_groups_that_it_works_in(support: Group, tool: Capability) -> None:
    sales = GroupFactory.create(name="Sales")
    alice = UserFactory.create(username="alice", groups=[support, sales])
    of_support = _key(support, alice)
    before = _ask(of_support, tool)

    give(tool.integration, sales)

    assert _ask(of_support, tool) == before
    assert before["available_in_groups"] == 1
    assert _ask(_key(None, alice), tool)["available_in_groups"] == 2


def test_short_details_do_not_have_it(person: Client, support: Group, tool: Capability) -> None:
    person.force_login(UserFactory.create(groups=[support]))

    assert "available_in_groups" not in _ask(person, tool, detail="compact_schema")


def _key(group: Group | None, owner: User) -> Client:
    where: dict[str, Any] = {"group": group} if group else {"all_groups": True}
    _, raw = create_key(by=None, name="k", scopes=["discover"], owner=owner, **where)
    return Client(headers={"Authorization": f"Bearer {raw}", "X-Request-ID": "same"})


def _ask(client: Client, tool: Capability, **query: str) -> Any:
    return client.get(f"/api/v1/capabilities/{tool.full_name}", query).json()
