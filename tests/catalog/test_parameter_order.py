"""The order of a tool's parameters, from its source to the clients, in a real Postgres."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.db import DataError, connection, transaction
from django.test import Client

from acl.rights.caller_lookup import Caller
from catalog.embedding.jobs import embed_pending
from catalog.embedding.texts import embedding_text
from catalog.formats.descriptors import Descriptor
from catalog.formats.loader import load_path
from catalog.models import Capability, Definition, Embedding, Integration
from catalog.registration._derived_columns import restore_order
from catalog.registration.definition_comparison import store_definitions
from catalog.registration.register import register
from discovery.select._candidate_rows import CandidateQuery
from discovery.select.candidates import find_candidates
from marketplace.models import Installation
from tests.catalog.builders import WordyEmbedder, store, tool
from tests.factories import GroupFactory, IntegrationFactory, UserFactory, active_model, give
from tests.mcp.asking import ask, call
from tests.web.conftest import new_key

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("gate_as_usual")]

# In jsonb: price, flight, airline, options.
ORDER = ["airline", "flight", "options", "price"]
AS_JSONB = ["price", "flight", "airline", "options"]
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "airline": {"type": "string", "enum": ["LH", "KL"], "description": "Its code."},
        "flight": {"type": "string"},
        "options": {"type": "object", "properties": {"window": {}, "meal": {}}},
        "price": {"type": "number"},
    },
    "required": ["flight"],
}
LISTED = {"name": "book_flight", "description": "Books a flight.", "inputSchema": SCHEMA}


def book_flight(**more: Any) -> Descriptor:
    return tool("book_flight", "Books a flight.", integration="travel", input_schema=SCHEMA, **more)


def stored() -> Capability:
    return Capability.objects.get(action="book_flight")


def names_in(schema: Any) -> list[str]:
    return list(schema["properties"])


def sort_as_jsonb() -> None:
    """Give the rows the order that earlier releases stored."""
    with connection.cursor() as cursor:
        cursor.execute("UPDATE catalog_capability SET input_schema = input_schema::jsonb")


def test_stored_and_embedded_text_keep_the_order(embedder: WordyEmbedder) -> None:
    store(book_flight(output_schema={"properties": {"seat": {}, "id": {}}}))
    embed_pending()

    row = stored()
    assert json.dumps(row.input_schema) == json.dumps(SCHEMA)
    assert names_in(row.output_schema) == ["seat", "id"]
    assert row.parameters_summary == "airline?, flight, options?, price?"
    assert any("book flight (airline, flight, options, price):" in text for text in embedder.texts)


def test_benchmarks_embed_the_text_of_the_product(tmp_path: Path) -> None:
    line = {"id": "book_flight", "name": "book_flight", "server": "Travel"} | {
        "description": "Books a flight.",
        "input_schema": SCHEMA,
        "tags": [],
    }
    (tmp_path / "catalog.jsonl").write_text(json.dumps(line))
    loaded = load_path(tmp_path / "catalog.jsonl")

    register(loaded, by=None, source="test")

    in_product = Capability.objects.select_related("integration").get()
    assert embedding_text(in_product) == embedding_text(loaded.capabilities[0])
    assert "(airline, flight, options, price)" in embedding_text(in_product)


def test_clients_get_the_order_over_every_door() -> None:
    support = GroupFactory.create(name="support")
    alice = UserFactory.create(username="alice", groups=[support])
    store(book_flight())
    travel = stored().integration
    Integration.objects.filter(pk=travel.pk).update(
        transport="http", connection="connected", unconfirmed=False
    )
    give(travel, support)
    raw = new_key(support, "select", "discover", owner=alice)
    client = Client(headers={"Authorization": f"Bearer {raw}"})
    name = stored().full_name

    url = f"/api/v1/capabilities/{name}?user=alice&detail=full_schema"
    assert names_in(client.get(url).json()["input_schema"]) == ORDER
    asked = {"user": "alice", "message": name}
    for style, key in (("mcp", "inputSchema"), ("anthropic", "input_schema")):
        answer = client.post("/api/v1/select", asked | {"format": style}, "application/json").json()
        assert names_in(answer["tools"][0][key]) == ORDER
    tiers = client.post("/api/v1/discover", asked, "application/json").json()["tier2"]["text"]
    assert [tiers.index(f'"{one}":') for one in ORDER] == sorted(
        tiers.index(f'"{one}":') for one in ORDER
    )
    own = new_key(support, "discover", "execute", owner=alice, acts_for_users=False)
    over_mcp = call(own, "get_tool", name=name)["structuredContent"]
    assert names_in(over_mcp["input_schema"]) == ORDER
    for path in ("/mcp", "/mcp/travel"):
        listed = ask(own, "tools/list", path=path).json()["result"]["tools"]
        assert [names_in(one["inputSchema"]) for one in listed if "book" in one["name"]] == [ORDER]
    assert names_in(_found(Caller(alice.pk, support.pk))) == ORDER


def _found(caller: Caller) -> Any:
    query = CandidateQuery(
        caller=caller, model="", vectors=None, words=[{}], names=["travel__book_flight"]
    )
    (one,) = find_candidates(query).found
    return one.input_schema


def test_rows_of_earlier_releases_get_the_order_when_they_are_registered_again(
    sent: list[list[int]],
) -> None:
    store(book_flight())
    embed_pending()
    sort_as_jsonb()
    before, hashes = stored(), list(Embedding.objects.values_list("text_hash", "vector_hash"))
    assert names_in(before.input_schema) == AS_JSONB
    sent.clear()

    report = store(book_flight())

    assert (report.unchanged, report.changed, report.held) == (1, 0, [])
    after = stored()
    assert names_in(after.input_schema) == ORDER
    assert (after.state, after.reviewed) == ("approved", before.reviewed)
    assert list(Embedding.objects.values_list("text_hash", "vector_hash")) == hashes
    assert sent == []
    assert restore_order([book_flight()]) == 0


def test_server_restores_the_order_once_and_reorders_nothing_later() -> None:
    admin = UserFactory.create(is_superuser=True)
    travel = IntegrationFactory.create(slug="travel")
    active_model()
    store_definitions(integration=travel, tools=[LISTED], by=admin)
    text = Definition.objects.get(name="book_flight").approved
    assert names_in(json.loads(text)["inputSchema"]) == ORDER
    sort_as_jsonb()
    Definition.objects.update(approved=json.dumps(LISTED, sort_keys=True, separators=(",", ":")))

    again = store_definitions(integration=travel, tools=[LISTED], by=None)

    assert (again.unchanged, again.changed, again.waiting) == (1, [], {})
    assert names_in(stored().input_schema) == ORDER
    assert Definition.objects.get(name="book_flight").approved == text
    turned = SCHEMA | {"properties": dict(reversed(SCHEMA["properties"].items()))}
    shuffled = store_definitions(
        integration=travel, tools=[LISTED | {"inputSchema": turned}], by=None
    )
    assert (shuffled.unchanged, shuffled.changed) == (1, [])
    assert names_in(stored().input_schema) == ORDER


def test_order_alone_passes_the_net_below_the_gate_and_a_new_name_does_not() -> None:
    store(book_flight())

    sort_as_jsonb()
    assert stored().state == "approved"
    turned = json.dumps(SCHEMA).replace("airline", "carrier")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE catalog_capability SET input_schema = %s::json", [turned])

    assert stored().state == "quarantined"
    assert restore_order([book_flight()]) == 0


@pytest.mark.parametrize("bad", ["\x00", "\ud800"])
def test_columns_refuse_what_jsonb_refuses(bad: str) -> None:
    store(book_flight())
    for table, column in (
        (Capability._meta.db_table, "input_schema"),
        (Installation._meta.db_table, "tools"),
    ):
        if table == Installation._meta.db_table:
            Installation.objects.create(integration=stored().integration)
        statement = f"UPDATE {table} SET {column} = %s::json"  # noqa: S608 - our own names
        with pytest.raises(DataError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement, [json.dumps([bad])])
