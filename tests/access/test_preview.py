"""Previews of changes to rights: complete, and limited to what the viewer may see."""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection, transaction
from django.db.models import Model
from django.test.utils import CaptureQueriesContext
from hypothesis import given, settings
from hypothesis import strategies as st

from acl.models import AuditEntry, GroupPolicy, Space
from acl.rights.caller_lookup import Caller
from catalog.access import change_preview as previewing
from catalog.access.change_preview import Change, ChangeRefused, Shift, apply, preview
from catalog.models import Capability, Integration, IntegrationGroupPermission, Rule
from tests.access.people import People
from tests.access.random_worlds import random_target, random_world
from tests.access.worlds import store, usable
from tests.examples import EXAMPLES_OF_WORLDS
from tests.factories import CapabilityFactory, UserFactory
from tests.oracle import EFFECTS, GrantFacts, RuleFacts, World

# User, group, space, capability, before, after.
Difference = tuple[str, str, str, str, str, str]
VERBS: tuple[previewing.Verb, ...] = (
    "grant",
    "revoke",
    "rule",
    "unrule",
    "open",
    "close",
    "restrict",
    "unrestrict",
)


def told(shifts: Iterable[Shift]) -> set[Difference]:
    return {
        (user, shift.group, shift.space, name, shift.before, shift.after)
        for shift in shifts
        for user in shift.people
        for name in shift.capabilities
    }


def root_of(group: Group) -> Space:
    return Space.objects.get(group=group, parent=None)


def test_preview_leaves_no_trace(people: People) -> None:
    root = root_of(people.support)
    preview(
        [
            Change("open", group=people.support),
            Change("rule", target=people.gmail, space=root, effect=Rule.Effect.DENY),
            Change("grant", target=people.payroll, user=people.alice),
            Change("restrict", target=people.wiki),
        ]
    )

    assert not Rule.objects.exists()
    assert not AuditEntry.objects.exists()
    assert not GroupPolicy.objects.filter(open_default=True).exists()
    assert not Integration.objects.filter(restricted=True).exists()
    assert IntegrationGroupPermission.objects.count() == 2


def test_applied_changes_are_in_the_log(people: People) -> None:
    root = root_of(people.support)

    apply(
        by=people.bob,
        changes=[
            Change("grant", target=people.payroll, user=people.alice),
            Change("revoke", target=people.gmail, group=people.support),
            Change("open", group=people.support),
            Change("restrict", target=people.wiki),
            Change("rule", target=people.send, space=root, effect=Rule.Effect.DENY),
        ],
    )

    entries = AuditEntry.objects.order_by("pk").values_list("action", "by__username")
    assert list(entries) == [
        ("grant.add", "bob"),
        ("grant.remove", "bob"),
        ("group.opened", "bob"),
        ("integration.restricted", "bob"),
        ("rule.add", "bob"),
    ]
    names = {Capability.objects.get(pk=pk).full_name for pk in usable(people.caller)}
    assert names == {"gmail__search", "payroll__pay", "wiki__read_page"}
    lift = Change("unrule", target=people.send, space=root, effect=Rule.Effect.DENY)
    apply(by=people.bob, changes=[lift])
    assert people.send.pk in usable(people.caller)


def test_changes_are_made_all_or_none(people: People) -> None:
    changes = [Change("open", group=people.support), Change("close")]

    with pytest.raises(ChangeRefused):
        apply(by=people.bob, changes=changes)

    assert not GroupPolicy.objects.filter(open_default=True).exists()
    assert not AuditEntry.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("verb", VERBS)
def test_change_without_its_parts_is_refused(verb: previewing.Verb) -> None:
    with pytest.raises(ChangeRefused):
        preview([Change(verb)])


def test_people_who_are_alike_are_asked_for_once(people: People) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as asked:
            preview([Change("grant", target=people.payroll, group=people.support)])
        return len(asked)

    before = statements()
    for _ in range(20):
        UserFactory.create(groups=[people.support])

    assert statements() == before


def test_long_lists_say_how_many_more_there_are(people: People) -> None:
    for number in range(30):
        UserFactory.create(username=f"person-{number:02}", groups=[people.support])
        CapabilityFactory.create(integration=people.payroll, action=f"pay_{number:02}")

    (gain,) = preview([Change("grant", target=people.payroll, group=people.support)]).gains

    assert (len(gain.people), gain.more_people) == (12, 20)
    assert (len(gain.capabilities), gain.more_capabilities) == (12, 19)


def test_preview_of_too_many_says_whom_it_left_out(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(previewing, "MAX_CLASSES", 1)
    change = [Change("restrict", target=people.payroll)]
    GroupPolicy.objects.update(open_default=True)

    found = preview(change)

    assert [loss.group for loss in found.losses] == ["support"]
    assert found.not_worked_out == 1  # charlie of finance


def test_gains_and_losses_are_bounded(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(previewing, "MOST_SHIFTS", 1)
    GroupPolicy.objects.update(open_default=True)
    people.payroll.integrationgrouppermission_set.all().delete()

    found = preview([Change("restrict", target=people.payroll)])

    assert (len(found.losses), found.more, found.not_worked_out) == (1, 1, 0)


def random_change(random: Random, world: World) -> tuple[Change, World]:
    """Draw a change, and apply it to the oracle's world."""
    after, verb = deepcopy(world), random.choice(VERBS)
    about = random_target(random)
    users, groups = sorted(world.users), sorted(world.groups)
    subject = random.choice([{"user": random.choice(users)}, {"group": random.choice(groups)}])
    group = random.choice(groups)
    if verb in {"grant", "revoke"}:
        change = Change(verb, target=thing(about), **someone(subject))
        facts = GrantFacts(**about, **subject)
        (after.grants.add if verb == "grant" else after.grants.discard)(facts)
    elif verb in {"rule", "unrule"}:
        rule = RuleFacts(
            random.choice(sorted(world.spaces)),
            random.randrange(3),
            **about,
            **random.choice([{}, subject]),
        )
        if verb == "unrule" and world.rules:
            rule = random.choice(sorted(world.rules, key=repr))
        (after.rules.add if verb == "rule" else after.rules.discard)(rule)
        change = Change(
            verb,
            target=thing({"integration": rule.integration, "capability": rule.capability}),
            **someone({"user": rule.user, "group": rule.group}),
            space=Space.objects.get(pk=rule.space),
            effect=Rule.Effect(rule.effect),
        )
    elif verb in {"open", "close"}:
        change = Change(verb, group=Group.objects.get(pk=group))
        after.groups[group] = verb == "open"
    else:
        pk = random.choice(sorted(world.integrations))
        change = Change(verb, target=Integration.objects.get(pk=pk))
        old = world.integrations[pk]
        if old.owner is None:
            after.integrations[pk] = replace(old, restricted=verb == "restrict")
    return change, after


def thing(about: Mapping[str, int | None]) -> Integration | Capability:
    if (integration := about.get("integration")) is not None:
        return Integration.objects.get(pk=integration)
    return Capability.objects.get(pk=about["capability"] or 0)


def someone(subject: Mapping[str, int | None]) -> dict[str, Any]:
    models: dict[str, type[Model]] = {"user": User, "group": Group}
    return {
        kind: models[kind]._default_manager.get(pk=pk)
        for kind, pk in subject.items()
        if pk is not None
    }


def expected(before: World, after: World) -> set[Difference]:
    """Compute the differences by the oracle, for every member in every space."""
    found: set[Difference] = set()
    for user, group in before.members:
        own: list[int | None] = [pk for pk, (owner, _) in before.spaces.items() if owner == group]
        for space in own or [None]:
            for pk, facts in before.capabilities.items():
                caller = Caller(user, group, space)
                answers = before.answer(caller, pk), after.answer(caller, pk)
                if answers[0] != answers[1]:
                    name = f"integration-{facts.integration}__action_{pk}"
                    place = f"space-{space}" if space else ""
                    found.add((f"user-{user}", f"group-{group}", place, name, *answers))
    return found


@pytest.mark.django_db
@settings(max_examples=2 * EXAMPLES_OF_WORLDS, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_preview_equals_the_oracle_in_any_world(seed: int) -> None:
    random = Random(seed)
    world = random_world(random)
    with transaction.atomic():
        store(world)
        changes, after = [], world
        for _ in range(random.choice([1, 1, 2, 3])):
            change, after = random_change(random, after)
            changes.append(change)

        found = preview(changes)
        rules = set(Rule.objects.values_list("space_id", flat=True))
        transaction.set_rollback(True)

    stated = told(found.gains) | told(found.losses)
    every = expected(world, after)
    assert found.changes_nothing == (not stated)
    assert stated <= every
    # An omitted space has no rules of its own: it answers as its parent does.
    stands = rules | {change.space.pk for change in changes if change.space}
    roots = {pk for pk, (_, parent) in world.spaces.items() if parent is None}
    places = {f"space-{pk}" for pk in roots | ruled_about(world, after, changes) & stands}
    places.add("")
    assert stated >= {one for one in every if one[2] in places}
    for shift in (*found.gains, *found.losses):
        assert (EFFECTS.index(shift.after) > EFFECTS.index(shift.before)) == (shift in found.gains)
    assert found.not_worked_out == found.more == 0


def ruled_about(world: World, after: World, changes: list[Change]) -> set[int]:
    """Return the spaces with rules about the subjects of the changes."""
    targets = {c.target.pk if isinstance(c.target, Integration) else c.target.integration_id
               for c in changes if c.target is not None}  # fmt: skip
    anything = any(change.target is None for change in changes)
    return {
        rule.space
        for rule in world.rules | after.rules
        if anything
        or (rule.integration or world.capabilities[rule.capability or 0].integration) in targets
    }
