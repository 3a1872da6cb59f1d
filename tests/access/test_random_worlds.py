"""The rights statement against the oracle, in random worlds."""

from random import Random

import pytest
from django.db import transaction
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.access.random_worlds import (
    CAPABILITIES,
    callers_of,
    random_application,
    random_world,
    united_callers,
)
from tests.access.worlds import (
    decided,
    expected_holders,
    explained,
    requestable,
    store,
    stored_holders,
    usable,
)
from tests.examples import EXAMPLES_OF_WORLDS


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
