"""Candidates by an index on vectors: those of all rows, for who may use most of the catalogue."""

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext, override_settings
from hypothesis import given, settings
from hypothesis import strategies as st

from acl.models import Space
from acl.rights.caller_lookup import Caller
from catalog.embedding.vector_index import VectorIndex, create_statement, find_index
from catalog.models import Capability, EmbeddingModel, Rule
from catalog.models.relation import Kind
from discovery.select import _nearest_candidates, _nearest_rows
from discovery.select._candidate_rows import CandidateQuery, Candidates
from discovery.select._nearest_candidates import count_usable, find_in_postgres, known_callers
from discovery.select._nearest_rows import Unanswered
from discovery.select.candidates import find_among_nearest, find_candidates
from tests.access.random_worlds import callers_of, random_world
from tests.access.worlds import store
from tests.databases import as_superuser
from tests.factories import (
    CapabilityFactory,
    GroupFactory,
    IntegrationFactory,
    UserFactory,
    give,
    lay_down,
)
from tests.select.indexed import EVERYWHERE, MODEL, comparable, fill, random_query


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    known_callers.clear()
    yield
    known_callers.clear()


@pytest.mark.django_db
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_they_are_those_of_all_rows_in_any_world(seed: int) -> None:
    random = Random(seed)
    world = random_world(random)

    with transaction.atomic():
        store(world)
        fill(random)
        model = EmbeddingModel.objects.get(name=MODEL)
        index = VectorIndex(model.pk, model.dimension)
        for caller in callers_of(world, random)[:8]:
            query = random_query(caller, random)
            known, _ = count_usable(query, index)
            found = find_among_nearest(query, known)
            assert isinstance(found, Candidates)
            assert without_names(found) == without_names(find_candidates(query))
        transaction.set_rollback(True)


def without_names(found: Candidates) -> dict[str, object]:
    """Leave out relations by a shared name, which need counts of everything."""
    relations = [
        relation
        for relation in found.relations
        if relation.kind not in (Kind.TAGGED_WITH, Kind.SAME_CATEGORY)
    ]
    return comparable(found) | {"relations": sorted(map(tuple, relations))}


@pytest.fixture
def query(db: None) -> CandidateQuery:
    """Return a query of a caller who may use 40 of 60; the others are nearer to it.

    The table begins without rows that other tests have left: while some transaction of the run
    might still see one that was updated in place, Postgres uses no newer index.
    """
    as_superuser("TRUNCATE catalog_embedding")
    group = GroupFactory.create()
    olga = UserFactory.create(groups=[group])
    hers, hidden = IntegrationFactory.create(), IntegrationFactory.create()
    give(hers, group)
    numbers = np.random.default_rng(4)
    for place in range(60):
        spread, integration = (0.3, hers) if place % 3 else (0.01, hidden)
        vector = np.eye(3)[0] + numbers.standard_normal(3) * spread
        CapabilityFactory.create(integration=integration, vector=vector.tolist())
    return CandidateQuery(
        caller=Caller(olga.pk, group.pk),
        model=MODEL,
        vectors=np.eye(3, dtype=np.float32)[:1],
        words=[{EVERYWHERE: 1.0}],
    )


@pytest.fixture
def index(query: CandidateQuery) -> VectorIndex:
    model = EmbeddingModel.objects.get(name=MODEL)
    built = VectorIndex(model.pk, model.dimension)
    as_superuser("SET CONSTRAINTS ALL IMMEDIATE", create_statement(built))
    assert find_index(MODEL) == built
    return built


@pytest.mark.parametrize("most", [5, 40])
def test_hidden_ones_take_no_place(
    query: CandidateQuery, index: VectorIndex, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_nearest_rows, "READ", most)
    monkeypatch.setattr(_nearest_rows, "LOOKED_AT", 3)
    known, _ = count_usable(query, index)
    nearest = sorted(find_candidates(query).found, key=lambda one: -(one.cosines[0] or 0))

    with by_the_index(index):
        found = find_among_nearest(query, known)

    assert isinstance(found, Candidates)
    assert (found.usable, len(nearest)) == (40, 40)
    assert {one.pk for one in found.found} == {one.pk for one in nearest[:most]}


@contextmanager
def by_the_index(index: VectorIndex) -> Iterator[None]:
    """Make Postgres use it, although there are few rows, and assert that it did."""
    counted = "SELECT pg_stat_get_xact_numscans(%s::regclass)"
    with connection.cursor() as cursor:
        for way in ("seqscan", "bitmapscan", "sort", "hashjoin", "mergejoin"):
            cursor.execute(f"SET LOCAL enable_{way} = off")
        cursor.execute(counted, [index.name])
        before = cursor.fetchone()[0]
        yield
        cursor.execute(counted, [index.name])
        assert cursor.fetchone()[0] > before


@override_settings(PEGBOARD_INDEX_MOST=10)
def test_caller_of_most_gets_them_from_the_second_time_on(
    query: CandidateQuery, index: VectorIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    with CaptureQueriesContext(connection) as first:
        whole = find_in_postgres(query)
    monkeypatch.delattr(_nearest_candidates, "find_candidates")
    with CaptureQueriesContext(connection) as second:
        found = find_in_postgres(query)

    assert (len(first), len(second)) == (3, 1)  # the first looks for the index, and counts
    assert without_names(found) == without_names(whole)


@override_settings(PEGBOARD_INDEX_MOST=10)
def test_withdrawn_right_is_gone_with_the_next_selection(
    query: CandidateQuery, index: VectorIndex
) -> None:
    first, *_ = find_in_postgres(query).found
    space = Space.objects.get(group=query.caller.group_id)
    lay_down(Rule.Effect.DENY, Capability.objects.get(pk=first.pk), space)

    for _ in range(2):  # by all rows, since the rights are others, and by the index
        found = find_in_postgres(query)
        assert first.pk not in {one.pk for one in found.found}
        assert found.usable == 39


@override_settings(PEGBOARD_INDEX_MOST=10)
def test_scan_that_ends_before_it_has_enough_gives_way_to_all_rows(
    query: CandidateQuery, index: VectorIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The 20 nearest are hidden; pgvector ends a scan after a number of rows."""
    whole = find_in_postgres(query)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL hnsw.max_scan_tuples = 20")
    monkeypatch.setattr(_nearest_rows, "LOOKED_AT", 3)

    with by_the_index(index), CaptureQueriesContext(connection) as sent:
        known, _ = count_usable(query, index)
        assert find_among_nearest(query, known) is Unanswered.ENDED_EARLY
        assert comparable(find_in_postgres(query)) == comparable(whole)
        assert comparable(find_in_postgres(query)) == comparable(whole)

    assert len(sent) == 6  # what is known of the caller stays, and is not counted again


@pytest.mark.parametrize(("most", "statements"), [(10, (2, 1)), (40, (1, 1))])
def test_without_an_index_or_for_few_it_costs_a_look_a_minute_at_most(
    query: CandidateQuery, most: int, statements: tuple[int, int]
) -> None:
    with override_settings(PEGBOARD_INDEX_MOST=most):
        for expected in statements:
            with CaptureQueriesContext(connection) as sent:
                find_in_postgres(query)
            assert len(sent) == expected


@pytest.mark.django_db(transaction=True)
def test_command_builds_shows_and_drops_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CommandError, match="No model"):
        call_command("vector_index", "build")
    EmbeddingModel.objects.create(name=MODEL, dimension=8, active=True)

    for action in ("status", "build", "build", "drop", "drop"):
        call_command("vector_index", action)
    told = capsys.readouterr().out.splitlines()

    name = f"catalog_embedding_nearest_{EmbeddingModel.objects.get().pk}"
    assert told[0].startswith("There is no index")
    assert told[1] == told[2] == f"{name}, of {MODEL}, has 16 kB."
    assert told[3:] == [f"Dropped: {name}.", "There is none."]
