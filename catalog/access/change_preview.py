"""Previews of changes: who would gain and lose what."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any, Literal

from django.contrib.auth.models import Group, User
from django.db import transaction

from acl.models import GroupPolicy, Space
from acl.people.spaces import set_open
from acl.platform.answer_model import HIDDEN, Answer, Shown
from acl.rights.precedence_sql import DECISIONS, Decision
from catalog.access._change_impact import Impact, MemberClass, find_member_classes
from catalog.access.grants import (
    erase_grant,
    grant,
    revoke,
    set_restricted,
    write_grant,
    write_restricted,
)
from catalog.access.rules import add_rule, remove_rule, rules_like, write_rule
from catalog.access.usable_ids import load_access_modes
from catalog.models import Capability, Integration, Rule

Verb = Literal["grant", "revoke", "rule", "unrule", "open", "close", "restrict", "unrestrict"]
# Classes of people evaluated per preview, with two statements each: bounds the response time.
MAX_CLASSES = 100
MOST_SHIFTS = 40
MOST_NAMES = 12


class ChangeRefused(Exception):
    """The change does not have exactly the fields of its verb."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of rights.

    grant, revoke: `target` and `user` or `group`. rule, unrule: `space`, `effect`, `target`, and
    optionally `user` or `group` (otherwise everyone). open, close: `group`. restrict, unrestrict:
    an integration as `target`.
    """

    verb: Verb
    target: Integration | Capability | None = None
    user: User | None = None
    group: Group | None = None
    space: Space | None = None
    effect: Rule.Effect | None = None


@dataclass(frozen=True, slots=True)
class Shift(Answer):
    """People who would gain or lose the same tools."""

    group: str
    # Spaces below it without rules of their own follow.
    space: Annotated[str, Shown("Its slug; empty where the group has no spaces.")]
    space_name: Annotated[str, HIDDEN]
    people: Annotated[tuple[str, ...], Shown("The first twelve.")]
    people_count: int
    capabilities: Annotated[tuple[str, ...], Shown("The first twelve.")]
    capability_count: int
    before: Annotated[Decision, HIDDEN]
    after: Annotated[Decision, HIDDEN]

    @property
    def more_people(self) -> int:
        return self.people_count - len(self.people)

    @property
    def more_capabilities(self) -> int:
        return self.capability_count - len(self.capabilities)


@dataclass(frozen=True, slots=True)
class Preview:
    """The effects of changes. From “asks first” to “runs” is a gain, the reverse a loss."""

    gains: tuple[Shift, ...]
    losses: tuple[Shift, ...]
    more: int  # gains and losses that are left out
    not_worked_out: int  # people beyond MAX_CLASSES, who were not evaluated

    @property
    def changes_nothing(self) -> bool:
        return not (self.gains or self.losses or self.not_worked_out)


def preview(changes: Sequence[Change]) -> Preview:
    """Apply the changes, compare everyone's rights, and roll back."""
    for change in changes:
        _check(change)
    integrations = _integrations(changes)
    everyone = (
        members
        for group, reach in sorted(_reaches(changes).items())
        for members in find_member_classes(group, reach, integrations)
    )
    classes = list(islice(everyone, MAX_CLASSES))
    not_evaluated = sum(len(members.users) for members in everyone)
    with transaction.atomic():
        before = [load_access_modes(members.caller, integrations) for members in classes]
        for change in changes:
            _write(change)
        after = [load_access_modes(members.caller, integrations) for members in classes]
        transaction.set_rollback(True)
    return sum_up(find_differences(classes, before, after), not_evaluated)


@transaction.atomic
def apply(*, by: User | None, changes: Sequence[Change]) -> None:
    """Apply all changes, each with its audit entry."""
    for change in changes:
        _check(change)
        _store(change, by)


def _check(change: Change) -> None:
    """Raise ChangeRefused unless the change has exactly the fields of its verb."""
    subjects = [subject for subject in (change.user, change.group) if subject is not None]
    match change.verb:
        case "grant" | "revoke":
            fits = change.target is not None and len(subjects) == 1
        case "rule" | "unrule":
            stands = change.space is not None and change.effect is not None
            fits = stands and change.target is not None and len(subjects) < 2
        case "open" | "close":
            fits = change.group is not None and change.user is None
        case "restrict" | "unrestrict":
            fits = isinstance(change.target, Integration) and not subjects
    if not fits:
        raise ChangeRefused(f"“{change.verb}” has missing or unexpected fields.")


def _integrations(changes: Iterable[Change]) -> list[int] | None:
    """Return the integrations the changes are about; None means all."""
    keys = set()
    for change in changes:
        if change.target is None:
            return None
        target = change.target
        keys.add(target.pk if isinstance(target, Integration) else target.integration_id)
    return sorted(keys)


def _reaches(changes: Iterable[Change]) -> dict[int, Impact]:
    """Return the affected users and spaces by group."""
    reaches: dict[int, Impact] = defaultdict(Impact)
    opened = {change.group.pk for change in changes if change.verb == "open" and change.group}
    for change in changes:
        users = {change.user.pk} if change.user else None
        spaces = {change.space.pk} if change.space else None
        for group in _groups(change, opened):
            reaches[group].widen(users=users, spaces=spaces)
    for reach in reaches.values():
        reach.named_users = {change.user.pk for change in changes if change.user}
        reach.named_groups = {change.group.pk for change in changes if change.group}
        reach.named_spaces = {change.space.pk for change in changes if change.space}
    return reaches


def _groups(change: Change, opened: set[int]) -> set[int]:
    if change.space is not None:
        return {change.space.group_id}
    if change.group is not None:
        return {change.group.pk}
    if change.user is not None:
        return set(change.user.groups.values_list("pk", flat=True))
    policies = GroupPolicy.objects.filter(open_default=True)
    return opened | set(policies.values_list("group_id", flat=True))


def _write(change: Change) -> None:
    """Write the rows without audit entries."""
    target, group = change.target, change.group
    if change.verb in {"grant", "revoke"} and target is not None:
        write = write_grant if change.verb == "grant" else erase_grant
        write(target=target, user=change.user, group=group)
    elif change.verb == "rule" and change.space is not None:
        write_rule(space=change.space, **_rule_fields(change))
    elif change.verb == "unrule":
        rules_like(_rule(change)).delete()
    elif change.verb in {"open", "close"}:
        is_open = {"open_default": change.verb == "open"}
        GroupPolicy.objects.update_or_create(group=group, defaults=is_open)
    elif isinstance(target, Integration):
        write_restricted(integration=target, restricted=change.verb == "restrict")


def _store(change: Change, by: User | None) -> None:
    """Apply the change through the services, which write audit entries."""
    target, group = change.target, change.group
    if change.verb in {"grant", "revoke"} and target is not None:
        store = grant if change.verb == "grant" else revoke
        store(by=by, target=target, user=change.user, group=group)
    elif change.verb == "rule" and change.space is not None:
        add_rule(by=by, space=change.space, **_rule_fields(change))
    elif change.verb == "unrule":
        for rule in rules_like(_rule(change)):
            remove_rule(by=by, rule=rule)
    elif change.verb in {"open", "close"} and group is not None:
        set_open(by=by, group=group, is_open=change.verb == "open")
    elif isinstance(target, Integration):
        set_restricted(by=by, integration=target, restricted=change.verb == "restrict")


def _rule_fields(change: Change) -> dict[str, Any]:
    """Return the rule's fields except its space."""
    on_integration = isinstance(change.target, Integration)
    return {
        "effect": change.effect,
        "integration": change.target if on_integration else None,
        "capability": None if on_integration else change.target,
        "user": change.user,
        "group": change.group,
    }


def _rule(change: Change) -> Rule:
    return Rule(space=change.space, **_rule_fields(change))


# Group, space, mode before and after, and capabilities: users with equal keys form one shift.
Key = tuple[int, Space | None, int, int, frozenset[int]]


def find_differences(
    classes: list[MemberClass], before: list[dict[int, int]], after: list[dict[int, int]]
) -> dict[Key, list[int]]:
    """Return the users of each shift."""
    shifts: dict[Key, list[int]] = defaultdict(list)
    for members, had, has in zip(classes, before, after, strict=True):
        changed: dict[tuple[int, int], set[int]] = defaultdict(set)
        for pk in had.keys() | has.keys():
            if had.get(pk, 0) != has.get(pk, 0):
                changed[had.get(pk, 0), has.get(pk, 0)].add(pk)
        for (old, new), pks in sorted(changed.items()):
            shifts[members.group, members.space, old, new, frozenset(pks)] += members.users
    return shifts


def sum_up(shifts: dict[Key, list[int]], not_evaluated: int) -> Preview:
    """Return the shifts as gains and losses; `not_evaluated` people were not evaluated."""
    gains = [(key, users) for key, users in shifts.items() if key[3] > key[2]]
    losses = [(key, users) for key, users in shifts.items() if key[3] < key[2]]
    more = max(0, len(gains) - MOST_SHIFTS) + max(0, len(losses) - MOST_SHIFTS)
    groups = Group.objects.in_bulk({key[0] for key in shifts})
    return Preview(
        gains=tuple(_shift(key, users, groups) for key, users in gains[:MOST_SHIFTS]),
        losses=tuple(_shift(key, users, groups) for key, users in losses[:MOST_SHIFTS]),
        more=more,
        not_worked_out=not_evaluated,
    )


def _shift(key: Key, users: list[int], groups: dict[int, Group]) -> Shift:
    group, space, before, after, pks = key
    names = User.objects.filter(pk__in=users).order_by("username", "pk")
    capabilities = Capability.objects.filter(pk__in=pks).order_by("full_name", "pk")
    return Shift(
        group=groups[group].name,
        space=space.slug if space else "",
        space_name=space.name if space else "",
        people=tuple(names.values_list("username", flat=True)[:MOST_NAMES]),
        people_count=len(users),
        capabilities=tuple(capabilities.values_list("full_name", flat=True)[:MOST_NAMES]),
        capability_count=len(pks),
        before=DECISIONS[before],
        after=DECISIONS[after],
    )
