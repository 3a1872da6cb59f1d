"""Rules, grants and the tree of spaces by services: stored, refused, audited, and warned about."""

from itertools import product
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection, transaction

from acl.models import AuditEntry, GroupPolicy, Space
from acl.people.spaces import (
    SpaceRefused,
    create_space,
    delete_space,
    ensure_root,
    move_space,
    rename_space,
    set_open,
)
from acl.rights.precedence import NO, RULE_KINDS, SUBJECT, TARGET, beats, place_of
from catalog.access.grants import GrantRefused, grant, revoke, set_restricted
from catalog.access.rules import (
    RuleConflict,
    RuleInWords,
    RuleRefused,
    add_rule,
    find_conflicts,
    find_warnings,
    remove_rule,
)
from catalog.models import Rule
from tests.access.people import People
from tests.access.worlds import usable
from tests.factories import GroupFactory, lay_down

DENY, PROPOSE, ALLOW = Rule.Effect.DENY, Rule.Effect.PROPOSE, Rule.Effect.ALLOW


@pytest.fixture
def root(people: People) -> Space:
    return Space.objects.get(group=people.support, parent=None)


@pytest.fixture
def desk(people: People, root: Space) -> Space:
    return create_space(by=None, group=people.support, parent=root, name="Desk")


def cases(warnings: list[RuleConflict]) -> list[int]:
    return [warning.case for warning in warnings]


def last_entry() -> tuple[str, str, dict[str, Any]]:
    entry = AuditEntry.objects.order_by("pk").last()
    assert entry is not None
    return entry.action, entry.target, entry.details


def test_rule_holds_at_once_and_is_in_the_log(people: People, root: Space) -> None:
    rule = add_rule(
        by=people.bob, space=root, effect=DENY, integration=people.gmail, user=people.alice
    )

    assert people.send.pk not in usable(people.caller)
    assert last_entry() == (
        "rule.add",
        "deny gmail in support/root",
        {"space": "support/root", "effect": "deny", "target": "gmail", "subject": "alice"},
    )

    remove_rule(by=people.bob, rule=rule)

    assert people.send.pk in usable(people.caller)
    assert last_entry()[0] == "rule.remove"


def test_same_rule_is_laid_down_once(people: People, root: Space) -> None:
    rules = [add_rule(by=None, space=root, effect=DENY, capability=people.send) for _ in range(2)]

    assert rules[0] == rules[1]
    assert AuditEntry.objects.filter(action="rule.add").count() == 1


def test_rule_removed_twice_is_recorded_once(people: People, root: Space) -> None:
    rule = add_rule(by=None, space=root, effect=DENY, capability=people.send)
    again = Rule.objects.get(pk=rule.pk)

    remove_rule(by=None, rule=rule)
    remove_rule(by=None, rule=again)

    assert AuditEntry.objects.filter(action="rule.remove").count() == 1


def test_wrong_rules_are_refused(people: People, root: Space) -> None:
    wrong: list[dict[str, Any]] = [
        {"effect": DENY},
        {"effect": DENY, "integration": people.gmail, "capability": people.send},
        {"effect": 3, "integration": people.gmail},
        {
            "effect": DENY,
            "integration": people.gmail,
            "user": people.alice,
            "group": people.finance,
        },
    ]
    for rule in wrong:
        with pytest.raises(RuleRefused):
            add_rule(by=None, space=root, **rule)
    assert not Rule.objects.exists()
    assert not AuditEntry.objects.exists()


# Which cases are warned about, tests/access/test_cases.py asks for each of them.


@pytest.mark.parametrize("order", ["deny first", "allow first"])
def test_exception_beside_a_deny_is_warned_about(people: People, root: Space, order: str) -> None:
    deny: dict[str, Any] = {"effect": DENY, "integration": people.gmail}
    allow: dict[str, Any] = {"effect": ALLOW, "capability": people.send}
    first, second = (deny, allow) if order == "deny first" else (allow, deny)
    add_rule(by=None, space=root, **first)

    (warning,) = find_warnings(space=root, **second)

    assert warning.case == 27
    assert "“deny gmail” overrides “allow gmail__send_email”" in warning.sentence
    assert "grant only gmail__send_email" in warning.instead


def test_what_the_warning_offers_works(people: People, root: Space, desk: Space) -> None:
    add_rule(by=None, space=root, effect=DENY, integration=people.gmail)
    add_rule(by=None, space=root, effect=ALLOW, capability=people.send)
    assert people.send.pk not in usable(people.caller)

    add_rule(by=None, space=desk, effect=ALLOW, capability=people.send)

    inside = type(people.caller)(people.alice.pk, people.support.pk, desk.pk)
    assert people.send.pk in usable(inside)
    assert find_warnings(space=desk, effect=ALLOW, capability=people.send) == []


def test_precise_deny_further_up_is_warned_about(people: People, root: Space, desk: Space) -> None:
    add_rule(by=None, space=root, effect=DENY, capability=people.send)

    found = find_warnings(space=desk, effect=ALLOW, integration=people.gmail)

    assert cases(found) == [30]
    assert found[0].instead == "To keep the deny, add “deny gmail__send_email” in Desk as well."


def test_precise_deny_above_a_broad_allow_is_warned_about(
    people: People, root: Space, desk: Space
) -> None:
    add_rule(by=None, space=desk, effect=PROPOSE, integration=people.gmail)

    assert cases(find_warnings(space=root, effect=DENY, capability=people.send)) == [30]
    assert find_warnings(space=root, effect=DENY, integration=people.gmail) == []


def test_rules_that_never_meet_are_not_warned_about(
    people: People, root: Space, desk: Space
) -> None:
    beside = create_space(by=None, group=people.support, parent=root, name="Beside")
    foreign = Space.objects.get(group=people.finance)
    interns = GroupFactory.create(name="interns")
    lay_down(DENY, people.send, beside)
    lay_down(DENY, people.send, foreign)
    lay_down(DENY, people.send, desk, user=people.bob)
    lay_down(DENY, people.send, desk, group=interns)
    lay_down(DENY, people.search, root)

    assert find_warnings(space=desk, effect=ALLOW, capability=people.send, user=people.alice) == []


def test_member_of_a_denied_group_is_warned_about(people: People, root: Space, desk: Space) -> None:
    interns: Group = GroupFactory.create(name="interns")
    lay_down(DENY, people.send, root, group=interns)
    allow: dict[str, Any] = {"space": desk, "effect": ALLOW, "integration": people.gmail}
    assert find_warnings(**allow, user=people.alice) == []

    people.alice.groups.add(interns)

    assert cases(find_warnings(**allow, user=people.alice)) == [30]


def test_warnings_are_bounded(people: People, root: Space, desk: Space) -> None:
    for number in range(15):
        lay_down(DENY, people.send, root, group=GroupFactory.create(name=f"team {number}"))
    people.alice.groups.set(Group.objects.all())

    found = find_warnings(space=desk, effect=ALLOW, integration=people.gmail, user=people.alice)

    assert len(found) == 10


# Grants


def test_grants_are_given_and_taken_back_once(people: People) -> None:
    subjects: tuple[dict[str, Any], ...] = ({"user": people.alice}, {"group": people.support})
    for target, subject in product((people.payroll, people.pay), subjects):
        assert grant(by=people.bob, target=target, **subject)
        assert not grant(by=people.bob, target=target, **subject)
        assert people.pay.pk in usable(people.caller)
        assert revoke(by=people.bob, target=target, **subject)
        assert not revoke(by=people.bob, target=target, **subject)
        assert people.pay.pk not in usable(people.caller)
    assert AuditEntry.objects.filter(action="grant.add").count() == 4
    assert AuditEntry.objects.filter(action="grant.remove").count() == 4


def test_grant_is_for_one_subject(people: People) -> None:
    with pytest.raises(GrantRefused):
        grant(by=None, target=people.pay)
    with pytest.raises(GrantRefused):
        grant(by=None, target=people.pay, user=people.alice, group=people.support)


def test_integration_is_restricted_once(people: People) -> None:
    answers = [
        set_restricted(by=people.bob, integration=people.wiki, restricted=restricted)
        for restricted in (True, True, False)
    ]

    assert answers == [True, False, True]
    assert AuditEntry.objects.filter(action__startswith="integration.").count() == 2


RULES = [
    RuleInWords(
        kind.effect,
        f"Space {distance}",
        "it",
        kind.target_kind,
        "them",
        kind.subject_kind,
        distance,
    )
    for kind, distance in product(RULE_KINDS, range(2))
]


def test_who_wrote_a_more_precise_rule_is_warned_if_it_loses() -> None:
    pairs = [
        (one, other)
        for one, other in product(RULES, RULES)
        if (one.effect == NO) > (other.effect == NO)
    ]

    for deny, other in pairs:
        winner, loser = (deny, other) if beats(deny, other) else (other, deny)
        # Everyone expects a nearer deny to win.
        is_surprising = any(
            place_of(loser, by) < place_of(winner, by) for by in (TARGET, SUBJECT)
        ) and not (winner is deny and winner.distance < loser.distance)
        assert bool(list(find_conflicts(deny, other))) == is_surprising, f"{winner} beats {loser}"


def root_of(group: Group) -> Space:
    return Space.objects.get(group=group, parent=None)


def below(parent: Space, name: str) -> Space:
    return create_space(by=None, group=parent.group, parent=parent, name=name)


def actions() -> list[str]:
    return list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))


def test_new_space_hangs_below_its_parent_and_is_in_the_log(people: People) -> None:
    desk = create_space(by=people.bob, group=people.support, parent=None, name="Night  desk")

    assert (desk.name, desk.slug, desk.parent) == ("Night desk", "night-desk", root_of(desk.group))
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.target, entry.by) == (
        "space.created",
        "support/night-desk",
        people.bob,
    )


@pytest.mark.parametrize(
    ("name", "slugs"),
    [
        ("Desk", ["desk", "desk-2", "desk-3"]),
        ("Бюро", ["space", "space-2", "space-3"]),
        ("x" * 120, ["x" * 60, "x" * 58 + "-2", "x" * 58 + "-3"]),
    ],
)
def test_slugs_are_unique_in_the_group(people: People, name: str, slugs: list[str]) -> None:
    root = root_of(people.support)

    assert [below(root, name).slug for _ in range(3)] == slugs
    assert below(root_of(people.finance), name).slug == slugs[0]


@pytest.mark.parametrize("name", ["", "  ", "x" * 121])
def test_space_needs_a_name(people: People, name: str) -> None:
    with pytest.raises(SpaceRefused):
        below(root_of(people.support), name)


def test_renamed_space_keeps_its_slug(people: People) -> None:
    desk = below(root_of(people.support), "Desk")

    rename_space(by=people.bob, space=desk, name="Front desk")

    desk.refresh_from_db()
    assert (desk.name, desk.slug) == ("Front desk", "desk")
    assert actions() == ["space.created", "space.renamed"]


def test_parent_of_another_group_is_refused(people: People) -> None:
    desk = below(root_of(people.support), "Desk")
    foreign = root_of(people.finance)

    with pytest.raises(SpaceRefused):
        create_space(by=None, group=people.support, parent=foreign, name="Night")
    with pytest.raises(SpaceRefused):
        move_space(by=None, space=desk, parent=foreign)


def test_space_takes_all_below_it_along(people: People) -> None:
    root = root_of(people.support)
    day, night = below(root, "Day"), below(root, "Night")
    desk = below(day, "Desk")

    move_space(by=people.bob, space=day, parent=night)

    assert Space.objects.get(pk=day.pk).parent == night
    assert Space.objects.get(pk=desk.pk).parent == day
    assert actions()[-1] == "space.moved"


def test_space_is_not_moved_under_itself(people: People) -> None:
    day = below(root_of(people.support), "Day")
    desk = below(below(day, "Front"), "Desk")

    for parent in (day, desk):
        with pytest.raises(SpaceRefused):
            move_space(by=None, space=day, parent=parent)


def test_root_is_neither_moved_nor_removed(people: People) -> None:
    root = root_of(people.support)
    desk = below(root, "Desk")

    with pytest.raises(SpaceRefused):
        move_space(by=None, space=root, parent=desk)
    with pytest.raises(SpaceRefused):
        delete_space(by=None, space=root)


def test_what_was_below_a_removed_space_moves_up_and_its_rules_go(people: People) -> None:
    root = root_of(people.support)
    day = below(root, "Day")
    desk = below(day, "Desk")
    lay_down(Rule.Effect.DENY, people.gmail, day)
    kept = lay_down(Rule.Effect.ALLOW, people.gmail, desk)

    delete_space(by=people.bob, space=day)

    assert Space.objects.get(pk=desk.pk).parent == root
    assert list(Rule.objects.all()) == [kept]
    entry = AuditEntry.objects.order_by("pk").last()
    assert entry is not None
    assert entry.details == {"parent": "root", "moved up": ["desk"], "rules": 1}


def test_tree_grows_no_deeper_than_the_statement_walks(people: People) -> None:
    place = root_of(people.support)
    for number in range(2, 33):
        place = below(place, f"Level {number}")
    other = below(root_of(people.support), "Other")
    below(other, "Below")

    with pytest.raises(SpaceRefused):
        below(place, "Level 33")
    with pytest.raises(SpaceRefused):
        move_space(by=None, space=other, parent=Space.objects.get(slug="level-31"))


def test_refused_change_leaves_no_entry(people: People) -> None:
    with pytest.raises(SpaceRefused):
        delete_space(by=None, space=root_of(people.support))

    assert actions() == []


def test_group_is_opened_and_closed_once(people: People) -> None:
    answers = [
        set_open(by=people.bob, group=people.support, is_open=is_open)
        for is_open in (True, True, False)
    ]

    assert answers == [True, False, True]
    assert actions() == ["group.opened", "group.closed"]


def at_the_end_of_the_transaction() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")


@pytest.mark.django_db
def test_group_made_anywhere_gets_a_root_and_a_policy() -> None:
    one = Group.objects.create(name="sales")
    many = Group.objects.bulk_create(Group(name=f"team {number}") for number in range(3))

    at_the_end_of_the_transaction()

    for group in (one, *many):
        assert root_of(group).slug == "root"
        assert not GroupPolicy.objects.get(group=group).open_default


@pytest.mark.django_db
def test_group_made_with_a_root_keeps_it() -> None:
    group = Group.objects.create(name="sales")
    root = ensure_root(group)

    at_the_end_of_the_transaction()

    assert ensure_root(group) == root_of(group) == root


def test_removed_root_comes_back_empty(people: People) -> None:
    root = root_of(people.support)
    lay_down(Rule.Effect.ALLOW, people.gmail, below(root, "Desk"))

    root.delete()
    at_the_end_of_the_transaction()

    assert root_of(people.support).slug == "root"
    assert not Rule.objects.exists()


def test_removed_group_takes_everything_along(people: People) -> None:
    with transaction.atomic():
        below(root_of(people.support), "Desk")
        people.support.delete()

    at_the_end_of_the_transaction()

    assert not Space.objects.exclude(group=people.finance).exists()
