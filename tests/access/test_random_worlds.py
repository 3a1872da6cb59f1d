"""The rights statement, its version and django-guardian against the oracle, in random worlds."""

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import Group, Permission, User
from django.contrib.contenttypes.models import ContentType
from django.db import OperationalError, connection, transaction
from django.utils import timezone
from guardian.core import ObjectPermissionChecker
from guardian.models import GroupObjectPermission, UserObjectPermission
from guardian.shortcuts import assign_perm, get_objects_for_user
from hypothesis import given, settings
from hypothesis import strategies as st

from acl.platform.database_connections import rows_of
from acl.rights.caller_lookup import Caller
from acl.rights.statement import rights_parameters
from acl.rights.version import merge_changes, version_sql
from catalog.access.usable_ids import VERSION_SQL, usable_ids
from catalog.models import Capability, Integration
from catalog.querysets import TABLES
from catalog.registration.catalog_rebuild import scratch_catalog
from tests.access.people import People
from tests.access.random_worlds import (
    CAPABILITIES,
    callers_of,
    random_application,
    random_world,
    united_callers,
)
from tests.access.raw_changes import some_change
from tests.access.worlds import (
    decided,
    expected_holders,
    explained,
    requestable,
    store,
    stored_holders,
    usable,
)
from tests.databases import as_superuser, check_what_was_deferred
from tests.examples import EXAMPLES_OF_STORIES, EXAMPLES_OF_WORLDS
from tests.factories import CapabilityFactory, IntegrationFactory, give, take_away
from tests.oracle import CapabilityFacts, GrantFacts, IntegrationFacts, World
from tests.replays import replayed

pytestmark = pytest.mark.django_db


@pytest.mark.django_db
@settings(max_examples=EXAMPLES_OF_WORLDS, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_several_groups_answer_as_the_oracle_unites_them(seed: int) -> None:
    random = Random(seed)
    world = random_world(random)
    callers = united_callers(random)

    with transaction.atomic():
        store(world)
        answers = {caller: usable(caller) for caller in callers}
        asked = {caller: requestable(caller) for caller in callers}
        transaction.set_rollback(True)

    assert answers == {caller: world.usable(caller) for caller in callers}
    assert asked == {caller: world.requestable(caller) for caller in callers}


@pytest.mark.django_db
@settings(max_examples=EXAMPLES_OF_WORLDS, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_the_statement_equals_the_oracle_in_any_world(seed: int) -> None:
    random = Random(seed)
    world = random_world(random)
    callers = callers_of(world, random)

    with transaction.atomic():
        store(world)
        answers = {caller: usable(caller) for caller in callers}
        said = {caller: explained(caller, CAPABILITIES) for caller in callers}
        # `explained` has asked Python for what decides, too: a few more by the facts alone.
        decisions = {caller: decided(caller, CAPABILITIES) for caller in callers[::4]}
        asked = {caller: requestable(caller) for caller in callers}
        application = random_application(random)
        held = {pk: stored_holders(pk, application) for pk in CAPABILITIES}
        transaction.set_rollback(True)

    assert answers == {caller: world.usable(caller) for caller in callers}
    assert asked == {caller: world.requestable(caller) for caller in callers}
    assert said == {
        caller: {pk: world.answer(caller, pk) for pk in CAPABILITIES} for caller in callers
    }
    assert decisions == {caller: said[caller] for caller in callers[::4]}
    assert held == {pk: expected_holders(world, pk, application) for pk in CAPABILITIES}


def test_world_is_put_back_unless_it_was_built_at_another_time() -> None:
    build = replayed(lambda: IntegrationFactory.create(slug="wiki"))
    made = []

    with time_machine.travel("2031-01-01T00:00:00Z"):
        made.append(build())
    for _ in range(2):
        Integration.objects.all().delete()
        made.append(build())

    elsewhere, first, second = made
    assert elsewhere.created_at > timezone.now() >= first.created_at
    assert (second.pk, second.created_at) == (first.pk, first.created_at)
    assert elsewhere.pk != first.pk


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
    user, group = caller.user_id, caller.group_id
    world = World(
        users={user: True},
        groups={group: False},
        members={(user, group)},
        spaces={1: (group, None)},
        integrations={1: IntegrationFacts()},
        capabilities={1: CapabilityFacts(1)},
        grants={GrantFacts(group=group, integration=1)},
    )

    with scratch_catalog():
        store(world)
        before = usable_ids(caller).ids
        connection.cursor().execute("DELETE FROM catalog_integrationgrouppermission")
        after = usable_ids(caller).ids

    assert (before, after) == (frozenset({1}), frozenset())


def names(people: People) -> set[str]:
    return set(Capability.objects.usable_by(people.caller).values_list("full_name", flat=True))


def test_inactive_user_may_use_nothing_though_guardian_lists_it(people: People) -> None:
    give(people.delete_page, people.alice)
    people.alice.is_active = False
    people.alice.save()

    listed = get_objects_for_user(people.alice, "catalog.use_capability", Capability)

    assert people.delete_page in listed
    assert names(people) == set()


@pytest.mark.parametrize("codename", ["use_capability", "use_integration"])
def test_permission_on_the_model_opens_nothing(people: People, codename: str) -> None:
    permission = Permission.objects.get(codename=codename)
    people.alice.user_permissions.add(permission)
    people.support.permissions.add(permission)
    alice = User.objects.get(pk=people.alice.pk)

    assert alice.has_perm(f"catalog.{codename}")
    assert names(people) == {"gmail__send_email", "gmail__search", "wiki__read_page"}


def test_superuser_has_no_short_cut(people: People) -> None:
    User.objects.filter(pk=people.alice.pk).update(is_superuser=True, is_staff=True)

    assert names(people) == {"gmail__send_email", "gmail__search", "wiki__read_page"}


def test_revoked_grant_is_gone_though_a_kept_checker_still_says_yes(people: People) -> None:
    checker = ObjectPermissionChecker(people.support)
    assert checker.has_perm("use_integration", people.gmail)

    take_away(people.gmail, people.support)

    assert checker.has_perm("use_integration", people.gmail)
    assert names(people) == {"wiki__read_page"}


def test_new_capability_inherits_nothing_from_the_old_one_with_its_key(people: People) -> None:
    key = people.read_page.pk
    people.read_page.delete()

    CapabilityFactory.create(pk=key, integration=people.wiki, action="drop_all_pages")

    assert names(people) == {"gmail__send_email", "gmail__search"}


def test_grants_are_rows_of_the_direct_tables_only(people: People) -> None:
    give(people.send, people.alice)

    assert not UserObjectPermission.objects.exists()
    assert not GroupObjectPermission.objects.exists()


def test_other_permission_on_the_object_does_not_count(people: People) -> None:
    assign_perm("catalog.view_integration", people.support, people.wiki)
    assign_perm("catalog.change_capability", people.alice, people.delete_page)

    assert "wiki__delete_page" not in names(people)


def test_permission_of_the_same_name_about_another_model_changes_nothing(people: People) -> None:
    other = ContentType.objects.get_for_model(Group).pk
    as_superuser(
        "INSERT INTO auth_permission (content_type_id, codename, name)"  # noqa: S608 - a number
        f" VALUES ({other}, 'use_integration', 'x')"
    )

    assert names(people) == {"gmail__send_email", "gmail__search", "wiki__read_page"}
