"""Groups that hold all three, compared with the oracle, and the changes that separate them."""

from dataclasses import replace
from random import Random

import pytest
from django.db import transaction
from django.test import override_settings
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries
from pytest_django.fixtures import Settings

from acl.models import Space
from acl.people.spaces import create_space
from acl.rights.caller_lookup import Caller
from catalog.access.change_preview import apply, preview
from catalog.access.flow_exposure import LEGS, Leg, find_exposures
from catalog.access.rules import add_rule
from catalog.models import Capability, Rule
from tests.access.people import People, invite
from tests.access.random_worlds import random_world
from tests.access.worlds import store
from tests.examples import EXAMPLES_OF_WORLDS
from tests.factories import give
from tests.oracle import World

PRIVATE, STRANGERS, OUTSIDE = LEGS


@pytest.fixture
def people(db: None, settings: Settings) -> People:
    """Support may send and search mail, which is private; a page of the wiki is a stranger's."""
    settings.PEGBOARD_APPROVE = "propose"
    people = invite()
    flag(people.send, OUTSIDE)
    flag(people.search, PRIVATE)
    flag(people.read_page, STRANGERS)
    return people


def flag(tool: Capability, *flags: str) -> None:
    Capability.objects.filter(pk=tool.pk).update(effect_flags=list(flags))


def test_group_with_all_three_is_named_with_its_integrations(people: People) -> None:
    [found] = find_exposures().exposures

    assert found.group == people.support
    assert (found.people, found.spaces) == ((), ())
    assert {leg: [one.slug for one in tools] for leg, tools in found.legs.items()} == {
        PRIVATE: ["gmail"],
        STRANGERS: ["wiki"],
        OUTSIDE: ["gmail"],
    }


def test_smallest_change_makes_the_fewest_tools_ask(people: People) -> None:
    flag(people.delete_page, OUTSIDE)
    give(people.delete_page, people.support)

    [found] = find_exposures().exposures

    # Two tools reach outside by now, and one returns strangers' text.
    assert (found.separated_at, found.tools_changed) == (STRANGERS, 1)
    [change] = found.changes
    assert (change.target, change.effect) == (people.read_page, Rule.Effect.PROPOSE)
    seen = preview(found.changes)
    assert (seen.gains, [loss.capabilities for loss in seen.losses]) == (
        (),
        [(people.read_page.full_name,)],
    )
    apply(by=None, changes=found.changes)
    assert find_exposures().exposures == ()


def test_tool_that_asks_first_does_not_count(people: People, settings: Settings) -> None:
    settings.PEGBOARD_APPROVE = "all"

    assert find_exposures().exposures == ()


def test_one_persons_grant_is_named_and_separated_for_them_alone(people: People) -> None:
    flag(people.send)
    flag(people.pay, OUTSIDE)
    give(people.pay, people.bob)

    [found] = find_exposures().exposures

    assert found.people == ("bob",)
    assert [change.user for change in found.changes] == [people.bob]
    apply(by=None, changes=found.changes)
    assert find_exposures().exposures == ()


def test_space_that_allows_more_is_named(people: People) -> None:
    root = Space.objects.get(group=people.support, parent=None)
    lisbon = create_space(by=None, group=people.support, parent=root, name="Lisbon")
    add_rule(by=None, space=root, effect=Rule.Effect.DENY, capability=people.send)
    add_rule(by=None, space=lisbon, effect=Rule.Effect.ALLOW, capability=people.send)

    [found] = find_exposures().exposures

    assert found.spaces == ("Lisbon",)
    apply(by=None, changes=found.changes)
    assert find_exposures().exposures == ()


def test_two_groups_take_as_many_statements_as_one(
    people: People, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(5):
        assert len(find_exposures().exposures) == 1
    give(people.gmail, people.finance)
    give(people.read_page, people.finance)

    with django_assert_num_queries(5):
        assert len(find_exposures().exposures) == 2


@pytest.mark.django_db
@override_settings(PEGBOARD_APPROVE="propose")
@settings(max_examples=EXAMPLES_OF_WORLDS, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_any_world_is_read_as_by_the_oracle_and_separated(seed: int) -> None:
    random = Random(seed)
    world = random_world(random)
    flags = {pk: random.sample(LEGS, random.choice([0, 1, 1, 2])) for pk in world.capabilities}

    with transaction.atomic():
        store(world)
        for pk, own in flags.items():
            Capability.objects.filter(pk=pk).update(effect_flags=own)
        found = find_exposures().exposures
        gains = [preview(one.changes).gains for one in found]
        for one in found:
            apply(by=None, changes=one.changes)
        after = find_exposures().exposures
        transaction.set_rollback(True)

    assert {one.group.pk for one in found} == exposed_groups(world, flags)
    rooted = {group for group, parent in world.spaces.values() if parent is None}
    assert {one.group.pk for one in after} & rooted == set()
    assert gains == [() for _ in found]


def exposed_groups(world: World, flags: dict[int, list[Leg]]) -> set[int]:
    """Ask the oracle about every member in every space, with servers that are down as if up."""
    up = {pk: replace(facts, available=True) for pk, facts in world.capabilities.items()}
    world = replace(world, capabilities=up)
    callers = [
        Caller(user, group, space)
        for user, group in world.members
        # Pegboard keeps a root space for each group; worlds have groups without any space, too.
        for space in [pk for pk, facts in world.spaces.items() if facts[0] == group] or (None,)
    ]
    return {
        caller.group_id
        for caller in callers
        if len({leg for pk in running(world, caller) for leg in flags[pk]}) == len(LEGS)
    }


def running(world: World, caller: Caller) -> list[int]:
    return [pk for pk, mode in world.usable(caller).items() if mode == "allow"]
