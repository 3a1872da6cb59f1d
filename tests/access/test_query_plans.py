"""Query plans: rights are computed once, and a selection reads few of many capabilities."""

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import pytest
from django.db import connection
from pytest_django import DjangoDbBlocker

from acl.platform.database_connections import Table, table_of
from acl.rights.caller_lookup import Caller
from catalog.lexical import DIMENSIONS
from catalog.models import Capability, Embedding, EmbeddingModel, LexicalVector
from discovery.select import candidates
from discovery.select._candidate_rows import CandidateQuery
from tests.access.query_plans import WORKED_OUT_ONCE, is_asked_for_each_row, nodes
from tests.access.worlds import store
from tests.databases import as_superuser, check_what_was_deferred, taken_back
from tests.oracle import CapabilityFacts, GrantFacts, IntegrationFacts, RuleFacts, World

CAPABILITIES = 400


@pytest.mark.django_db
def test_rights_are_read_once_and_not_for_each_capability() -> None:
    # The tables were never analysed, as after an import, so the planner has no statistics.
    pks = range(1, CAPABILITIES + 1)
    world = World(
        users={1: True},
        groups={1: True},
        members={(1, 1)},
        spaces={1: (1, None)},
        integrations={pk: IntegrationFacts() for pk in range(1, 21)},
        capabilities={pk: CapabilityFacts(1 + pk % 20) for pk in pks},
        rules={RuleFacts(1, 0, capability=pk) for pk in pks[::7]},
        grants={GrantFacts(group=1, capability=pk) for pk in pks[::5]},
    )
    store(world)
    caller = Caller(1, 1)
    found = Capability.objects.usable_by(caller)

    plan = list(nodes(json.loads(found.explain(format="json", analyze=True))[0]["Plan"]))

    loops = {
        node["Relation Name"]: node["Actual Loops"] for node in plan if "Relation Name" in node
    }
    assert {loops[name] for name in WORKED_OUT_ONCE & loops.keys()} == {1}
    assert not [node for node in plan if is_asked_for_each_row(node)]


SELECTABLE, INTEGRATIONS, SPACES, RULES = 3000, 150, 50, 5000
SMALL, LARGE = Caller(1, 1), Caller(2, 2)
VECTORS = ("catalog_embedding", "catalog_lexicalvector")
EMPTIED = ("acl_space", "catalog_integration", "catalog_embeddingmodel")


@pytest.fixture(scope="module")
def stored(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[World]:
    """The world of all tests of the file, which only read it."""
    with taken_back(django_db_blocker):
        made = build()
        check_what_was_deferred()
        yield made


@pytest.fixture
def world(stored: World, db: None) -> World:
    return stored


def build() -> World:
    """Store a world of 150 integrations, one for group 1, with 5,000 rules in 50 spaces."""
    random = Random(7)
    world = World(
        users={1: True, 2: True},
        groups={1: False, 2: True},
        members={(1, 1), (2, 2)},
        spaces={1: (1, None), 2: (2, None)}
        | {pk: (1 + pk % 2, 1 + pk % 2) for pk in range(3, SPACES + 1)},
        integrations={pk: IntegrationFacts() for pk in range(1, INTEGRATIONS + 1)},
        capabilities={
            pk: CapabilityFacts(1 + pk % INTEGRATIONS) for pk in range(1, SELECTABLE + 1)
        },
        grants={GrantFacts(group=1, integration=5)},
    )
    as_superuser(f"TRUNCATE {', '.join(EMPTIED)} CASCADE")
    while len(world.rules) < RULES:
        target = random.choice(
            [
                {"integration": random.randint(6, INTEGRATIONS)},
                {"capability": random.randint(1, SELECTABLE)},
            ]
        )
        world.rules.add(RuleFacts(random.randint(3, SPACES), random.randrange(3), **target))
    world.rules |= {RuleFacts(1, 0, capability=pk) for pk in range(4, SELECTABLE, 450)}
    store(world)
    fill_vectors()
    return world


def fill_vectors() -> None:
    model = EmbeddingModel.objects.create(name="made-up", dimension=384, active=True)
    vectors = np.random.default_rng(1).standard_normal((SELECTABLE, 384)).astype(np.float32)
    Embedding.objects.bulk_create(
        Embedding(
            capability_id=pk, model=model, text_hash="x", vector_hash="x", vector=vectors[pk - 1]
        )
        for pk in range(1, SELECTABLE + 1)
    )
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO catalog_lexicalvector (capability_id, terms)"
            " SELECT id, ('{' || 1 + id %% 900 || ':1.5,' || 1000 + id %% 90 || ':0.5}/' || %s)"
            "::sparsevec FROM catalog_capability",
            [DIMENSIONS],
        )
    assert LexicalVector.objects.count() == SELECTABLE


def forget_statistics() -> None:
    """Drop the statistics, which an earlier `ANALYZE` may have created."""
    as_superuser(
        "SELECT pg_clear_attribute_stats(schemaname, tablename, attname, inherited)"
        " FROM pg_stats WHERE schemaname = 'public'",
        "SELECT pg_clear_relation_stats('public', relname) FROM pg_class"
        " WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i')",
    )


def plan_of(caller: Caller) -> list[dict[str, Any]]:
    """Return the executed plan of the selection's statement."""
    plans: list[dict[str, Any]] = []

    def explained(statement: str, parameters: dict[str, Any]) -> Table:
        told = table_of(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", parameters).rows[0][0]
        plans.append((json.loads(told) if isinstance(told, str) else told)[0]["Plan"])
        return table_of(statement, parameters)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "table_of", explained)
        candidates.find_candidates(
            CandidateQuery(
                caller=caller,
                model="made-up",
                vectors=np.ones((1, 384), dtype=np.float32),
                words=[{7: 1.0, 1005: 2.0}],
                use_experience=True,
            )
        )
    return list(nodes(plans[0]))


def read(plan: list[dict[str, Any]], *tables: str) -> Iterator[dict[str, Any]]:
    return (node for node in plan if node.get("Relation Name") in tables)


@pytest.mark.parametrize("analysed", [False, True], ids=["never analysed", "analysed"])
def test_small_allowed_set_never_scans_the_vectors(world: World, analysed: bool) -> None:
    forget_statistics()
    if analysed:
        as_superuser("ANALYZE")

    plan = plan_of(SMALL)

    usable = len(world.usable(SMALL))
    assert 10 < usable < 30
    nodes_read = list(read(plan, *VECTORS))
    assert len(nodes_read) >= 4
    assert {node["Node Type"] for node in nodes_read} <= {"Index Scan", "Bitmap Heap Scan"}
    rows = [node["Actual Rows"] * node["Actual Loops"] for node in nodes_read]
    assert max(rows) <= usable


def test_rights_are_worked_out_once_beside_5000_rules(world: World) -> None:
    forget_statistics()
    guessed = [plan_of(SMALL), plan_of(LARGE)]
    as_superuser("ANALYZE")
    for plan in (*guessed, plan_of(SMALL), plan_of(LARGE)):
        check_that_rights_are_worked_out_once(plan)


def check_that_rights_are_worked_out_once(plan: list[dict[str, Any]]) -> None:
    looked_at = list(read(plan, *WORKED_OUT_ONCE - {"catalog_integration", "catalog_rule"}))
    assert {node["Actual Loops"] for node in looked_at} <= {1}
    assert not [node for node in plan if is_asked_for_each_row(node)]
    # The rules of each space on the path to the root are read once.
    rules = list(read(plan, "catalog_rule"))
    assert sum(node["Actual Loops"] for node in rules) <= 2


def test_never_analysed_tables_keep_the_shape_of_the_plan(world: World) -> None:
    forget_statistics()
    before = [rows_read(plan_of(caller)) for caller in (SMALL, LARGE)]
    as_superuser("ANALYZE")

    after = [rows_read(plan_of(caller)) for caller in (SMALL, LARGE)]

    # Estimates differ, and so do plans; none may read many more rows than the other.
    for guessed, known in zip(before, after, strict=True):
        for table in (*VECTORS, "catalog_capability", "catalog_rule"):
            assert guessed[table] <= 2 * known[table] + SELECTABLE


def rows_read(plan: list[dict[str, Any]]) -> dict[str, float]:
    """Return the rows read by table, including those filtered out."""
    found: dict[str, float] = {}
    for node in plan:
        if "Relation Name" in node:
            rows = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
            name = node["Relation Name"]
            found[name] = found.get(name, 0) + rows * node["Actual Loops"]
    return found
