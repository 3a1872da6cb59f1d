"""Candidates by the index equal those by SQL alone, and follow every change at once."""

from dataclasses import replace
from datetime import timedelta
from random import Random
from threading import Thread
from time import monotonic

import numpy as np
import pytest
from django.db import connection, connections, transaction
from django.test.utils import CaptureQueriesContext, override_settings
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from acl.rights.caller_lookup import Caller
from catalog.embedding.embedder import cosines_of
from catalog.lexical import query_vector
from catalog.models import (
    Capability,
    Embedding,
    EmbeddingModel,
    IndexVersion,
    RuntimeCapability,
    Trait,
)
from catalog.search_index.rows import best_rows
from discovery.select._candidate_rows import CandidateQuery
from discovery.select._indexed_candidates import find_by_index
from discovery.select.candidates import find_candidates
from tests.access.people import People, invite
from tests.access.random_worlds import (
    callers_of,
    random_world,
    united_callers,
)
from tests.access.worlds import store
from tests.factories import CapabilityFactory, give, take_away
from tests.select.conftest import Shop
from tests.select.indexed import (
    EVERYWHERE,
    assert_same_way,
    by_index,
    fill,
    give_words,
    index_kept,
    random_query,
    unit,
)

MESSAGES = (
    "send an email to the team and then look at my calendar",
    "translate a text into German, please",
    "cron__list",
)


@pytest.mark.django_db
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_both_ways_find_the_same_in_any_world(seed: int) -> None:
    random = Random(seed)
    world = random_world(random)

    with transaction.atomic(), index_kept():
        store(world)
        fill(random)
        for caller in [*callers_of(world, random)[:6], *united_callers(random)[:4]]:
            found = assert_same_way(random_query(caller, random))
            assert {one.pk for one in found.found} <= world.capabilities.keys()
        transaction.set_rollback(True)


@given(
    rows=st.integers(0, 3) | st.sampled_from((511, 512, 513, 1100)),
    texts=st.integers(1, 6),
    seed=st.integers(0, 2**32),
)
def test_cosines_are_the_products_of_each_row_with_each_text(
    rows: int, texts: int, seed: int
) -> None:
    dice = np.random.default_rng(seed)
    matrix, vectors = (
        dice.standard_normal((count, 24)).astype(np.float32) for count in (rows, texts)
    )

    assert cosines_of(matrix, vectors) == pytest.approx(vectors @ matrix.T, abs=1e-4)


@given(
    scores=st.lists(st.sampled_from((0.0, 0.5, 1.0, 2.0)) | st.floats(0, 2, width=32)),
    most=st.integers(1, 9),
    every=st.integers(1, 3),
)
def test_best_rows_are_the_first_of_all_in_order(
    scores: list[float], most: int, every: int
) -> None:
    rows = list(range(0, len(scores), every))

    best = best_rows(np.array(scores, np.float32), np.array(rows, np.int32), most, above=0.0)

    in_order = sorted((row for row in rows if scores[row] > 0), key=lambda row: -scores[row])
    assert best == in_order[:most]


def test_whole_selections_are_the_same(shop: Shop) -> None:
    with index_kept():
        for message in MESSAGES:
            indexed = shop.ask(message)
            assert find_by_index(query_of(shop.alice, message)) is not None
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("discovery.select.selector.find_by_index", lambda _: None)
                assert _without_time(indexed) == _without_time(shop.ask(message))


def _without_time(selection: object) -> dict[str, object]:
    return {
        name: getattr(selection, name)
        for name in selection.__slots__  # type: ignore[attr-defined]
        if name not in {"timings", "workings"}
    }


def query_of(caller: Caller, message: str) -> CandidateQuery:
    from catalog.embedding.query_vectors import embed_queries

    said = embed_queries([message])
    return CandidateQuery(
        caller=caller, model=said.model, vectors=said.vectors, words=[query_vector(message)]
    )


@pytest.fixture
def people(db: None) -> People:
    people = invite()
    give_words()
    return people


def asks(people: People) -> CandidateQuery:
    return CandidateQuery(
        caller=people.caller,
        model=EmbeddingModel.objects.get(active=True).name,
        vectors=np.ones((1, 3), dtype=np.float32),
        words=[{EVERYWHERE: 1.0}],
    )


def names(query: CandidateQuery) -> set[str]:
    return {one.full_name for one in by_index(query).found}


def test_warm_selection_takes_one_statement_and_the_first_one_more(people: People) -> None:
    query = asks(people)
    with index_kept():
        by_index(query)
        with CaptureQueriesContext(connection) as warm:
            find_by_index(query)
        take_away(people.gmail, people.support)
        with CaptureQueriesContext(connection) as after_a_revoke:
            find_by_index(query)

    assert len(warm) == 1
    assert len(after_a_revoke) == 3  # it noticed, read the rights again, and the candidates


def test_revoked_and_granted_tools_go_and_come_at_once(people: People) -> None:
    query = asks(people)
    with index_kept():
        assert "gmail__send_email" in names(query)
        take_away(people.gmail, people.support)
        assert names(query) == {"wiki__read_page"}
        give(people.payroll, people.support)
        assert names(query) == {"wiki__read_page", "payroll__pay"}


def test_tool_whose_time_is_over_goes_without_any_change(people: People) -> None:
    life = RuntimeCapability.objects.create(
        integration=people.gmail,
        name="send_email",
        full_name="gmail__send_email",
        group=people.support,
        expires_at=timezone.now() + timedelta(days=1),
    )
    query = asks(people)
    with index_kept():
        assert "gmail__send_email" in names(query)
        # As if a day had passed: nothing that anybody counts has changed.
        RuntimeCapability.objects.filter(pk=life.pk).update(expires_at=timezone.now())
        assert "gmail__send_email" not in names(query)
        assert by_index(query).usable == 2


def test_new_tools_vectors_words_and_relations_count_at_once(people: People) -> None:
    query = asks(people)
    with index_kept():
        names(query)
        new = CapabilityFactory.create(integration=people.gmail, action="archive", vector=[1, 1, 1])
        assert_same_way(query)
        Embedding.objects.filter(capability=new).update(vector=[1, -1, 0])
        assert_same_way(query)
        Trait.objects.filter(capability=new).delete()
        assert_same_way(query)
        new.delete()
        assert_same_way(query)


def test_hidden_tools_leave_no_trace(people: People) -> None:
    query = asks(people)
    with index_kept():
        before = assert_same_way(query)
        CapabilityFactory.create(integration=people.payroll, action="archive", vector=[1, 1, 1])
        after = assert_same_way(query)

    assert before == after


def test_hidden_tool_of_a_server_one_may_use_moves_no_rank(people: People) -> None:
    vectors = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1]], dtype=np.float32)
    query = replace(
        asks(people),
        vectors=vectors,
        words=[{EVERYWHERE: 1.0}] * 3,
        abilities=np.eye(3, dtype=np.float32),
    )
    own = {people.send.pk, people.search.pk}
    with index_kept():
        alone = assert_same_way(query)
        add_tool(people, [0, 1, 0]).delete()
        own.add(add_tool(people, [0, 1, 0]).pk)
        before, by_sql = assert_same_way(query), find_candidates(query)
        hidden = add_tool(people, [1, 1, 1])
        Capability.objects.filter(pk=hidden.pk).update(ai_access="blocked")
        after, after_by_sql = assert_same_way(query), find_candidates(query)
        Capability.objects.filter(pk=hidden.pk).update(ai_access="execute")
        shown = assert_same_way(query)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("catalog.search_index.rows.MOST_TOOLS", 2)
            assert not by_index(replace(query, kind="tool")).servers

    assert (after, after_by_sql) == (before, by_sql)
    assert before.servers.keys() == own & {one.pk for one in before.found}  # the wiki has one tool
    assert before.servers[people.send.pk] == pytest.approx([1, 0.5, 0.5])
    assert shown.servers[people.send.pk] == pytest.approx(_cosines_of_mean(query))
    # A tool alone has no mean beside itself, and a message of one clause asks for none.
    assert not alone.servers
    assert not find_candidates(asks(people)).servers


def add_tool(people: People, vector: list[float]) -> Capability:
    return CapabilityFactory.create(integration=people.gmail, action=f"do_{vector}", vector=vector)


def _cosines_of_mean(query: CandidateQuery) -> list[float]:
    assert query.vectors is not None
    mean = unit(np.array([1, 1, 0]) + unit([1, 1, 1]))
    return [float(mean @ unit(vector)) for vector in query.vectors]


def test_larger_catalogue_is_left_to_sql(people: People) -> None:
    with index_kept(), override_settings(PEGBOARD_INDEX_MOST=4):  # there are five
        assert find_by_index(asks(people)) is None


def test_catalogue_whose_changes_are_not_counted_is_left_to_sql(people: People) -> None:
    IndexVersion.objects.all().delete()
    with index_kept():
        assert find_by_index(asks(people)) is None


def test_processes_keep_no_index_unless_they_serve(people: People) -> None:
    assert find_by_index(asks(people)) is None


def test_selection_of_a_stranger_has_nothing(people: People) -> None:
    with index_kept():
        found = by_index(
            CandidateQuery(
                caller=Caller(people.charlie.pk, people.support.pk),
                model=asks(people).model,
                vectors=np.ones((1, 3), dtype=np.float32),
                words=[{EVERYWHERE: 1.0}],
            )
        )

    assert (found.found, found.usable, found.tokens) == ([], 0, 0)


@pytest.mark.django_db(transaction=True)
def test_no_answer_has_what_was_revoked_before_it_was_asked() -> None:
    people = invite()
    give_words()
    query = asks(people)
    revoked: list[tuple[float, float]] = []  # from the commit until before the next grant
    answers: list[tuple[float, float, bool]] = []
    until = monotonic() + 1.0

    def ask() -> None:
        while monotonic() < until:
            began = monotonic()
            found = find_by_index(query)
            if found is not None:
                has = any(one.full_name == "gmail__send_email" for one in found.found)
                answers.append((began, monotonic(), has))
        connections.close_all()

    with index_kept():
        by_index(query)
        threads = [Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        while monotonic() < until:
            take_away(people.gmail, people.support)
            began = monotonic()
            find_candidates(query)  # for as long as this takes
            revoked.append((began, monotonic()))
            give(people.gmail, people.support)
        for thread in threads:
            thread.join()

    within = [
        has
        for began, ended, has in answers
        if any(start <= began and ended <= end for start, end in revoked)
    ]
    assert not any(within)
    assert any(has for _, _, has in answers)
