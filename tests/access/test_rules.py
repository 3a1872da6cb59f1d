"""Rules and grants by the services: stored, refused, audited, and warned about."""

from itertools import product
from typing import Any

import pytest
from django.contrib.auth.models import Group

from acl.models import AuditEntry, Space
from acl.people.spaces import create_space
from catalog.access.grants import GrantRefused, grant, revoke, set_restricted
from catalog.access.rules import RuleConflict, RuleRefused, add_rule, find_warnings, remove_rule
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
