"""Changes of rights in random order: after each one all answers equal the oracle's (ACL-2)."""

from collections.abc import Iterable
from dataclasses import replace

import pytest
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.test import Client
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from acl.models import Space
from acl.people.spaces import SpaceRefused, create_space, delete_space, move_space, set_open
from acl.rights.caller_lookup import Caller
from catalog.capabilities.catalog_queries import list_names
from catalog.models import Capability, Integration, Rule
from discovery.select._candidate_rows import CandidateQuery
from tests.access.people import client_of
from tests.access.worlds import (
    REVIEW,
    capability_row,
    expected_holders,
    explained,
    integration_row,
    rule_row,
    store,
    stored_holders,
    usable,
)
from tests.databases import as_superuser
from tests.examples import EXAMPLES_OF_STORIES
from tests.factories import give, take_away
from tests.oracle import CapabilityFacts, GrantFacts, IntegrationFacts, RuleFacts, World
from tests.select.indexed import EVERYWHERE, by_index, give_words, index_kept

USERS, GROUPS, SPACES = (1, 2, 3), (1, 2), (1, 2, 3, 4)
CALLERS = [
    *(Caller(user, group) for user in USERS for group in GROUPS),
    *(Caller(1, 1, space) for space in (2, 3, 4)),
]
integrations = st.sampled_from((1, 2, 3))
capabilities = st.sampled_from(range(1, 10))
yes_or_no = st.booleans()
targets: st.SearchStrategy[dict[str, int]] = st.one_of(
    st.builds(dict, integration=integrations), st.builds(dict, capability=capabilities)
)
holders: st.SearchStrategy[dict[str, int]] = st.one_of(
    st.builds(dict, user=st.sampled_from(USERS)), st.builds(dict, group=st.sampled_from(GROUPS))
)


def first_world() -> World:
    """Return a world: group 1 has three levels of spaces; group 2 is open, without any."""
    return World(
        users=dict.fromkeys(USERS, True),
        groups={1: False, 2: True},
        members={(1, 1), (2, 1), (2, 2), (3, 2)},
        spaces={1: (1, None), 2: (1, 1), 3: (1, 2), 4: (1, 1)},
        integrations=dict.fromkeys((1, 2, 3), IntegrationFacts()),
        capabilities={pk: CapabilityFacts(1 + pk % 3) for pk in range(1, 10)},
        grants={GrantFacts(group=1, integration=1)},
    )


class ChangingRights(RuleBasedStateMachine):
    """State machine: it changes the database as the product does, and the oracle's world with
    it."""

    def __init__(self) -> None:
        super().__init__()
        self.transaction = transaction.atomic()
        self.transaction.__enter__()
        self.world = first_world()
        store(self.world)
        # Ids of new spaces must not collide with the world's.
        as_superuser("SELECT setval('acl_space_id_seq', nextval('acl_space_id_seq') + 100)")
        self.client: Client = client_of(Group.objects.get(pk=1))
        self.index = index_kept()  # by the process, all along
        self.index.__enter__()

    def teardown(self) -> None:
        self.index.__exit__(None, None, None)
        transaction.set_rollback(True)
        self.transaction.__exit__(None, None, None)

    @rule(holder=holders, about=targets, granted=yes_or_no)
    def grant_or_revoke(self, holder: dict[str, int], about: dict[str, int], granted: bool) -> None:
        thing, who = self.thing(**about), self.holder(**holder)
        if thing is None or who is None:
            return
        (give if granted else take_away)(thing, who)
        (self.world.grants.add if granted else self.world.grants.discard)(
            GrantFacts(**holder, **about)
        )

    @rule(
        space=st.sampled_from(SPACES),
        effect=st.integers(0, 2),
        holder=st.one_of(st.builds(dict), holders),
        about=targets,
    )
    def lay_down_a_rule(
        self, space: int, effect: int, holder: dict[str, int], about: dict[str, int]
    ) -> None:
        known = not holder or self.holder(**holder)
        facts = RuleFacts(space, effect, **holder, **about)
        if known and self.thing(**about) and space in self.world.spaces:
            rule_row(facts).save()
            self.world.rules.add(facts)

    @rule(about=targets)
    def lift_the_rules(self, about: dict[str, int]) -> None:
        Rule.objects.filter(**{f"{name}_id": pk for name, pk in about.items()}).delete()
        self.world.rules = {
            facts
            for facts in self.world.rules
            if any(getattr(facts, name) != pk for name, pk in about.items())
        }

    @rule(user=st.sampled_from(USERS), group=st.sampled_from(GROUPS), inside=yes_or_no)
    def join_or_leave(self, user: int, group: int, inside: bool) -> None:
        if group not in self.world.groups:
            return
        members = User.objects.get(pk=user).groups
        (members.add if inside else members.remove)(group)
        (self.world.members.add if inside else self.world.members.discard)((user, group))

    @rule(user=st.sampled_from(USERS), active=yes_or_no)
    def activate_or_deactivate(self, user: int, active: bool) -> None:
        User.objects.filter(pk=user).update(is_active=active)
        self.world.users[user] = active

    @rule(group=st.sampled_from(GROUPS), is_open=yes_or_no)
    def open_or_close(self, group: int, is_open: bool) -> None:
        if group in self.world.groups:
            set_open(by=None, group=Group.objects.get(pk=group), is_open=is_open)
            self.world.groups[group] = is_open

    @rule(pk=integrations, enabled=yes_or_no, approved=yes_or_no, restricted=yes_or_no)
    def switch_an_integration(
        self, pk: int, enabled: bool, approved: bool, restricted: bool
    ) -> None:
        if pk in self.world.integrations:
            Integration.objects.filter(pk=pk).update(
                enabled=enabled, state=REVIEW[approved], restricted=restricted
            )
            self.world.integrations[pk] = IntegrationFacts(enabled, approved, restricted)

    @rule(
        pk=capabilities,
        available=yes_or_no,
        access=st.sampled_from(["execute", "propose", "blocked"]),
    )
    def switch_a_capability(self, pk: int, available: bool, access: str) -> None:
        if pk in self.world.capabilities:
            Capability.objects.filter(pk=pk).update(available=available, ai_access=access)
            self.world.capabilities[pk] = replace(
                self.world.capabilities[pk], available=available, ai_access=access
            )

    @rule(pk=integrations)
    def uninstall_or_install_again(self, pk: int) -> None:
        if pk in self.world.integrations:
            Integration.objects.get(pk=pk).delete()
            self.forget(integration={pk}, capability=self.world.bring(pk))
            return
        integration_row(pk, IntegrationFacts()).save()
        self.world.integrations[pk] = IntegrationFacts()
        for number in range(1, 10):
            if 1 + number % 3 == pk:
                facts = self.world.capabilities[number] = CapabilityFacts(pk)
                capability_row(number, facts).save()

    @rule()
    def remove_the_second_group(self) -> None:
        Group.objects.filter(pk=2).delete()
        self.world.groups.pop(2, None)
        self.world.members = {member for member in self.world.members if member[1] != 2}
        self.forget(group={2})

    @rule(pk=st.sampled_from(SPACES), parent=st.sampled_from(SPACES))
    def move_a_space(self, pk: int, parent: int) -> None:
        if {pk, parent} <= self.world.spaces.keys():
            space, new = Space.objects.get(pk=pk), Space.objects.get(pk=parent)
            if pk == 1 or self.is_below(parent, pk):
                with pytest.raises(SpaceRefused):
                    move_space(by=None, space=space, parent=new)
            else:
                move_space(by=None, space=space, parent=new)
                self.world.spaces[pk] = (1, parent)

    @rule(pk=st.sampled_from(SPACES[1:]))
    def remove_or_make_a_space(self, pk: int) -> None:
        spaces = self.world.spaces
        if pk in spaces:
            delete_space(by=None, space=Space.objects.get(pk=pk))
            _, parent = spaces.pop(pk)
            for below in [other for other in spaces if spaces[other][1] == pk]:
                spaces[below] = (1, parent)
            self.forget(space={pk})
        else:
            made = create_space(by=None, group=Group.objects.get(pk=1), parent=None, name="New")
            Space.objects.filter(pk=made.pk).update(id=pk)
            spaces[pk] = (1, 1)

    @invariant()
    def every_way_in_equals_the_oracle(self) -> None:
        for caller in CALLERS:
            expected = self.world.usable(caller)
            assert usable(caller) == expected
            assert set(list_names(caller=caller)[0]) == self.names(expected)

    @invariant()
    def explain_equals_the_oracle(self) -> None:
        known = self.world.capabilities
        for caller in CALLERS:
            answers = {pk: self.world.answer(caller, pk) for pk in known}
            assert explained(caller, known) == answers
        for pk in known:
            assert stored_holders(pk) == expected_holders(self.world, pk)

    @invariant()
    def candidates_by_the_index_equal_the_oracle(self) -> None:
        give_words()
        for caller in CALLERS if Capability.objects.exists() else ():
            query = CandidateQuery(
                caller=caller, model="none", vectors=None, words=[{EVERYWHERE: 1}]
            )
            found = by_index(query)
            modes = {one.pk: "propose" if one.asks_first else "allow" for one in found.found}
            assert modes == self.world.usable(caller)
            assert found.usable == len(modes)

    @invariant()
    def the_api_equals_the_oracle(self) -> None:
        answer = self.client.get("/api/v1/names", {"user": "user-1"})
        expected = self.names(self.world.usable(Caller(1, 1)))
        if answer.status_code == 403:  # not a member, or inactive: there is nobody to ask for
            assert not expected
        else:
            assert set(answer.json()["names"]) == expected

    def names(self, keys: Iterable[int]) -> set[str]:
        facts = self.world.capabilities
        return {f"integration-{facts[pk].integration}__action_{pk}" for pk in keys}

    def is_below(self, space: int | None, other: int) -> bool:
        """Return True if the space is the other one or below it."""
        while space is not None:
            if space == other:
                return True
            space = self.world.spaces[space][1]
        return False

    def thing(self, **about: int) -> Integration | Capability | None:
        model = Integration if "integration" in about else Capability
        return model.objects.filter(pk=next(iter(about.values()))).first()

    def holder(self, **holder: int) -> User | Group | None:
        model = User if "user" in holder else Group
        return model.objects.filter(pk=next(iter(holder.values()))).first()

    def forget(self, **gone: set[int]) -> None:
        """Remove what the database deletes with its rows."""
        self.world.integrations = without(self.world.integrations, gone.get("integration", set()))
        self.world.capabilities = without(self.world.capabilities, gone.get("capability", set()))
        for kind, keys in gone.items():
            self.world.rules = {r for r in self.world.rules if getattr(r, kind) not in keys}
            self.world.grants = {g for g in self.world.grants if getattr(g, kind, None) not in keys}


def without(rows: dict, keys: set[int]) -> dict:
    return {pk: facts for pk, facts in rows.items() if pk not in keys}


@pytest.mark.django_db
def test_after_each_change_everything_equals_the_oracle() -> None:
    run_state_machine_as_test(
        ChangingRights,
        settings=settings(
            max_examples=EXAMPLES_OF_STORIES,
            stateful_step_count=15,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
