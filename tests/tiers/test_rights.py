"""Tier 0 and the full injection against the oracle of rights, in random worlds."""

from random import Random

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acl.rights.caller_lookup import Caller
from catalog.models import Capability
from discovery.answer import all_tools
from discovery.answer.tiers.state import categories_at, read_state
from tests.access.random_worlds import GROUPS, USERS, random_world
from tests.access.worlds import store
from tests.examples import EXAMPLES
from tests.oracle import World


@pytest.mark.django_db
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32))
def test_categories_and_everything_are_what_one_may_use(seed: int) -> None:
    with transaction.atomic():
        world = random_world(Random(seed))
        store(world)
        for user in USERS:
            for group in GROUPS:
                check(world, Caller(user, group))
        transaction.set_rollback(True)


def check(world: World, caller: Caller) -> None:
    usable = world.usable(caller)
    names = {row.pk: row.full_name for row in Capability.objects.filter(pk__in=usable)}

    categories = categories_at(read_state(caller, keys=[], full=[]).key, caller)
    tools = all_tools.read(caller)

    assert sum(one.count for one in categories) == len(usable)
    assert {name for one in categories for name in one.names} <= set(names.values())
    assert {tool.name: tool.asks_first for tool in tools} == {
        names[pk]: effect == "propose" for pk, effect in usable.items()
    }
