"""The version of the rights: whatever is changed, and however, equal versions mean equal rights.

Changes are raw statements on the tables themselves, since the product is not the only one who
writes there: a person at psql, a cascade, a restored backup.
"""

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction
from hypothesis import given, settings
from hypothesis import strategies as st

from acl.platform.prepared_statements import rows_of
from acl.rights.caller_lookup import Caller
from acl.rights.statement import rights_parameters
from acl.rights.version import merge_changes, version_sql
from catalog.access.usable_ids import VERSION_SQL, usable_ids
from catalog.querysets import TABLES
from catalog.registration.scratch_catalog import scratch_catalog
from tests.access.random_worlds import callers_of, random_world, united_callers
from tests.access.raw_changes import some_change
from tests.access.worlds import store, usable
from tests.databases import as_superuser, check_what_was_deferred
from tests.examples import EXAMPLES_OF_STORIES
from tests.oracle import CapabilityFacts, GrantFacts, IntegrationFacts, World

CHANGES = 12


def version_of(caller: Caller) -> tuple[Any, ...]:
    statement = f"SELECT {version_sql(TABLES.ended)}, ({VERSION_SQL})"
    return tuple(rows_of(statement, rights_parameters(caller))[0])


class Memory:
    """Answers by caller and version; a second answer at a version has to be the first."""

    def __init__(self, callers: list[Caller]) -> None:
        self.callers = callers
        self.answers: dict[tuple[Caller, tuple[Any, ...]], object] = {}

    def look(self) -> None:
        for caller in self.callers:
            answer = usable(caller)
            key = (caller, version_of(caller))
            assert self.answers.setdefault(key, answer) == answer
            assert usable_ids(caller).ids == answer.keys()


@pytest.mark.django_db
@settings(max_examples=EXAMPLES_OF_STORIES, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_equal_versions_mean_equal_rights_whatever_is_changed(seed: int) -> None:
    random = Random(seed)
    world = random_world(random)
    callers = [*callers_of(world, random)[:4], *united_callers(random)[:2]]

    with transaction.atomic():
        store(world)
        check_what_was_deferred()
        memory = Memory(callers)
        memory.look()
        for _ in range(CHANGES):
            with transaction.atomic():
                as_superuser(some_change(random))  # some tables are not the product's to change
                memory.look()
                transaction.set_rollback(random.random() < 0.3)
            memory.look()
            if random.random() < 0.2:
                versions = [version_of(caller) for caller in callers]
                merge_changes()
                assert [version_of(caller) for caller in callers] == versions
        transaction.set_rollback(True)


@pytest.fixture
def other() -> Iterator[Any]:
    """A second connection, as that of another process."""
    second = connection.copy()
    yield second
    second.close()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("seed", range(EXAMPLES_OF_STORIES))
def test_transactions_that_end_in_any_order_leave_nothing_remembered_too_long(
    seed: int, other: Any
) -> None:
    random = Random(seed)
    world = random_world(random)
    with transaction.atomic():  # groups get their policies at the end otherwise
        store(world)
    memory = Memory(callers_of(world, random)[:4])
    memory.look()
    for _ in range(CHANGES // 2):
        # One is changed and stays open while the reader's own change commits.
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '50ms'")
            _changed(cursor.execute, random)
        memory.look()
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '50ms'")
            _changed(cursor.execute, random)
            cursor.execute("RESET lock_timeout")  # later tests have this connection too
        memory.look()
        other.rollback() if random.random() < 0.3 else other.commit()
        other.set_autocommit(True)
        memory.look()


def _changed(execute: Callable[[str], object], random: Random) -> None:
    """Change something; two who want the same row do not wait for each other here."""
    statement = some_change(random)
    while statement.startswith(("TRUNCATE", "UPDATE auth_permission")):  # locks all the others out
        statement = some_change(random)
    try:
        execute(statement)
    except OperationalError:
        return


@pytest.mark.django_db
def test_nothing_is_remembered_of_a_scratch_catalogue_which_counts_no_changes() -> None:
    caller = Caller(1, 1)
    world = first_world(caller)

    with scratch_catalog():
        store(world)
        before = usable_ids(caller).ids
        connection.cursor().execute("DELETE FROM catalog_integrationgrouppermission")
        after = usable_ids(caller).ids

    assert (before, after) == (frozenset({1}), frozenset())


def first_world(caller: Caller) -> World:
    user, group = caller.user_id, caller.group_id
    return World(
        users={user: True},
        groups={group: False},
        members={(user, group)},
        spaces={1: (group, None)},
        integrations={1: IntegrationFacts()},
        capabilities={1: CapabilityFacts(1)},
        grants={GrantFacts(group=group, integration=1)},
    )
