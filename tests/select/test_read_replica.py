"""A read replica for select: real servers, and a clock that the tests turn."""

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import get_args
from uuid import uuid4

import numpy as np
import pytest
from django.db import connection, connections, transaction
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext
from prometheus_client import REGISTRY
from pytest_django import DjangoDbBlocker
from pytest_django.fixtures import Settings

from acl.models import ReplicaBeat
from acl.platform import read_replica as routing
from acl.platform.database_connections import table_of
from acl.platform.read_replica import ALIAS, read_replica, replica_database
from catalog.embedding.vector_index import VectorIndex
from catalog.models import Capability, EmbeddingModel
from discovery.select._candidate_rows import CandidateQuery, Candidates
from discovery.select._indexed_candidates import find_by_index
from discovery.select._nearest_candidates import count_usable
from discovery.select._nearest_rows import Unanswered
from discovery.select.candidates import _statement, find_among_nearest, find_candidates
from tests.access.people import People, client_of, invite
from tests.access.query_plans import nodes
from tests.factories import give, take_away
from tests.select.indexed import by_index, comparable, index_kept
from tests.streaming import Streaming, address_of, django_on, streaming

BOUND = 8
BRIEF = BOUND / 4


@pytest.fixture(scope="module")
def servers(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[tuple[Streaming, People]]:
    with streaming() as servers, django_db_blocker.unblock():
        with django_on(servers.primary):
            people = invite()
        yield servers, people


@dataclass
class World:
    """The servers, the people, and the time."""

    servers: Streaming
    people: People
    now: float = 1000.0

    @property
    def query(self) -> CandidateQuery:
        return CandidateQuery(
            caller=self.people.caller,
            model="made-up",
            vectors=np.array([[1, 0, 0]], dtype=np.float32),
            words=[{7: 1.0}],
            use_graph=True,
            may_lag=True,
        )

    def ask(self) -> tuple[list[str], str]:
        """Return the names that are found, and which server answered, or why the primary did."""
        before = outcomes()
        found = find_candidates(self.query)
        (outcome,) = (name for name, count in outcomes().items() if count != before[name])
        return names(found), outcome

    def select(self) -> tuple[bool, str]:
        """Return whether the API selects the tool for a message, and which server answered."""
        client = client_of(self.people.support)
        before = outcomes()
        body = {"message": "send an email", "user": "alice"}
        response = client.post("/api/v1/select", body, "application/json")
        (outcome,) = (name for name, count in outcomes().items() if count != before[name])
        found = {item["full_name"] for item in response.json()["selected"]}
        return "gmail__send_email" in found, outcome

    def keep_up(self) -> None:
        """Beat twice, and let the replica show both, whether or not it was late for the first."""
        for _ in range(2):
            self.now += BRIEF
            _, outcome = self.ask()
            self.servers.catch_up()
        assert outcome == "replica"


@pytest.fixture
def world(
    servers: tuple[Streaming, People],
    transactional_db: None,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[World]:
    world = World(*servers)
    settings.PEGBOARD_REPLICA_STALENESS = BOUND
    monkeypatch.setattr(routing, "clock", lambda: world.now)
    own = connection.settings_dict | replica_database(
        world.servers.replica.url(), connection.settings_dict["OPTIONS"]["options"]
    )
    with django_on(world.servers.primary):
        monkeypatch.setitem(
            connections.settings, ALIAS, own | dict(address_of(world.servers.replica))
        )
        read_replica.forget()
        yield world
        connections[ALIAS].close()
        del connections[ALIAS]


def outcomes() -> dict[str, float]:
    return {
        outcome: REGISTRY.get_sample_value("pegboard_replica_reads_total", {"outcome": outcome})
        or 0.0
        for outcome in get_args(routing.Outcome)
    }


def names(found: Candidates) -> list[str]:
    return sorted(candidate.full_name for candidate in found.found)


SUPPORT = ["gmail__send_email", "wiki__read_page"]


def test_without_a_bound_the_replica_is_never_asked(world: World, settings: Settings) -> None:
    settings.PEGBOARD_REPLICA_STALENESS, settings.PEGBOARD_REPLICA_URL = 0, "postgresql://away/x"

    with CaptureQueriesContext(connection) as asked:
        for query in (world.query, replace(world.query, may_lag=False)):
            assert names(find_candidates(query)) == SUPPORT

    first, second = (one["sql"] for one in asked.captured_queries)
    assert first == second
    assert connections[ALIAS].connection is None
    assert not ReplicaBeat.objects.exists()
    assert "STALENESS is 0" in Client().get("/readyz").json()["parts"]["replica"]["note"]


def test_along_an_index_on_vectors_it_answers_for_the_rights_that_are_known(world: World) -> None:
    world.keep_up()
    model = EmbeddingModel.objects.get()
    known, _ = count_usable(world.query, VectorIndex(model.pk, model.dimension))
    before = outcomes()["replica"]

    found = find_among_nearest(world.query, known)
    of_others = find_among_nearest(world.query, replace(known, version="of others"))

    assert isinstance(found, Candidates)
    assert (names(found), of_others) == (SUPPORT, Unanswered.OTHER_RIGHTS)
    assert outcomes()["replica"] == before + 2


def test_answers_are_the_primarys_within_the_bound(world: World) -> None:
    primary = comparable(find_candidates(replace(world.query, may_lag=False)))
    gone = ReplicaBeat.objects.create(
        process=uuid4(), number=1, beaten_at=Now() - timedelta(days=2)
    )
    assert world.ask() == (SUPPORT, "no_beat")
    assert not ReplicaBeat.objects.filter(pk=gone.pk)  # another process, which has ended
    world.keep_up()

    with CaptureQueriesContext(connection) as asked:
        assert comparable(find_candidates(world.query)) == primary
    assert not asked.captured_queries
    with transaction.atomic():
        assert world.ask()[1] == "transaction"

    # A revocation that the replica does not show yet is shown for no longer than the bound.
    with world.servers.paused():
        take_away(world.people.gmail, world.people.support)
        world.now += BOUND
        assert world.ask() == (SUPPORT, "replica")
        assert world.select() == (True, "replica")
        assert not Capability.objects.usable_by(world.people.caller).filter(action="send_email")
        world.now += 0.01
        assert world.ask() == (["wiki__read_page"], "too_old")
        assert world.select() == (False, "resting")
        world.now += BRIEF
        assert world.ask()[1] == "too_old"
        assert "further behind" in read_replica.problem
    world.servers.catch_up()
    world.keep_up()
    assert world.ask() == (["wiki__read_page"], "replica")
    assert not read_replica.problem
    give(world.people.gmail, world.people.support)


def test_too_old_a_replica_reads_the_beat_alone(world: World) -> None:
    world.ask()
    world.keep_up()
    gate = {"beat_process": read_replica._beats.process, "beat_least": 2**40}
    statement = _statement(1, 1, 0, True, 0, united=False)
    explained = f"EXPLAIN (ANALYZE, FORMAT JSON) {routing._gated(statement)}"

    told = table_of(explained, world.query.parameters() | gate, alias=ALIAS).rows[0][0]

    plan = (json.loads(told) if isinstance(told, str) else told)[0]["Plan"]
    read = {node.get("Relation Name") for node in nodes(plan) if node["Actual Loops"]}
    assert read == {None, "acl_replicabeat"}


def test_an_index_newer_than_the_replica_is_kept(world: World) -> None:
    world.ask()
    world.keep_up()
    with index_kept() as kept:
        with world.servers.paused():
            Capability.objects.filter(full_name="wiki__read_page").update(description="Read it.")
            find_by_index(world.query)  # reads the index, from the primary
            index = kept.at("made-up")

            with CaptureQueriesContext(connection) as asked:
                found = by_index(world.query)

            assert "Read it." in {candidate.description for candidate in found.found}
            assert len(asked) == 1  # the replica's answer did not count
            assert index is not None
            assert kept.at("made-up") is index
        world.servers.catch_up()
        with CaptureQueriesContext(connection) as asked:
            assert comparable(by_index(world.query)) == comparable(found)
        assert not asked.captured_queries


def test_in_doubt_the_primary_answers(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routing, "PATIENCE_SECONDS", 0.2)
    world.ask()
    world.keep_up()

    # A clock of the replica that is behind, as if the primary's were an hour ahead.
    ReplicaBeat.objects.update(beaten_at=Now() + timedelta(hours=1))
    world.servers.catch_up()
    assert world.ask() == (SUPPORT, "clock_behind")
    world.keep_up()

    # A server that hangs: its connection is open, and nothing answers.
    backend = connections[ALIAS].connection.info.backend_pid
    os.kill(backend, signal.SIGSTOP)
    assert world.ask() == (SUPPORT, "unreachable")
    assert world.ask() == (SUPPORT, "resting")
    os.kill(backend, signal.SIGCONT)
    world.now += 10
    world.ask()
    world.keep_up()

    # A primary that takes no writes: nothing proves how old the replica is.
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
    world.now += BOUND + 1
    assert world.ask() == (SUPPORT, "no_beat")
    world.now += BRIEF
    assert world.ask() == (SUPPORT, "too_old")
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = off")
    world.keep_up()

    with world.servers.killed():
        pass
    world.servers.catch_up()
    assert world.ask() == (SUPPORT, "replica")  # over a new connection

    with world.servers.killed():
        assert world.ask() == (SUPPORT, "unreachable")
        world.now += 10
        world.ask()
        assert world.ask() == (SUPPORT, "unreachable")
        assert "does not respond" in Client().get("/readyz").json()["parts"]["replica"]["problem"]
    world.now += 10
    world.keep_up()

    # Promoted, it is a primary of its own; this is the end of the pair.
    world.servers.ask_replica("SELECT pg_promote()")
    assert world.ask() == (SUPPORT, "not_a_replica")
