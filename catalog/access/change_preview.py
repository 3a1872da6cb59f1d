"""Previews of changes: who would gain and lose what."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Annotated, Any, Literal

from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import Q, QuerySet

from acl.models import GroupPolicy, Space
from acl.people.spaces import set_open
from acl.platform.answer_model import HIDDEN, Answer, Shown
from acl.rights.caller_lookup import Caller
from acl.rights.precedence import DECISIONS, Decision
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
from catalog.models import (
    Capability,
    CapabilityUserPermission,
    Integration,
    IntegrationUserPermission,
    Rule,
)

# Impact of a change: which people and spaces it could affect.
#
# Members whom rules and grants treat alike get the same answers, so only one of each class is
# evaluated.


@dataclass
class Impact:
    """A change's possible effects in one group: users and spaces."""

    users: set[int] | None = field(default_factory=set)  # None: every member
    spaces: set[int] | None = field(default_factory=set)  # and those below; None: every one
    named_users: set[int] = field(
        default_factory=set
    )  # by the change; each is a class of their own
    named_groups: set[int] = field(default_factory=set)
    named_spaces: set[int] = field(default_factory=set)  # where rules are added or removed

    def widen(self, *, users: set[int] | None, spaces: set[int] | None) -> None:
        """Add the users and spaces of another change."""
        self.users = None if self.users is None or users is None else self.users | users
        self.spaces = None if self.spaces is None or spaces is None else self.spaces | spaces


@dataclass(frozen=True, slots=True)
class MemberClass:
    """Members of a group who get the same answers in a space."""

    space: Space | None
    group: int
    users: tuple[int, ...]

    @property
    def caller(self) -> Caller:
        return Caller(self.users[0], self.group, self.space.pk if self.space else None)


def find_member_classes(
    group: int, reach: Impact, integrations: list[int] | None
) -> Iterator[MemberClass]:
    """Yield the classes of affected members, the root space first.

    `integrations` are the ones the change is about; None means all.
    """
    rules = _rules(group, integrations)
    spaces = _spaces(group, reach, rules)
    classes = _classes(group, reach, rules, integrations)
    for space in spaces:
        for users in classes:
            yield MemberClass(space, group, users)


def _rules(group: int, integrations: list[int] | None) -> QuerySet[Rule]:
    rules = Rule.objects.filter(space__group=group)
    if integrations is None:
        return rules
    about = Q(integration__in=integrations) | Q(capability__integration__in=integrations)
    return rules.filter(about)


def _spaces(group: int, reach: Impact, rules: QuerySet[Rule]) -> list[Space | None]:
    """Return the root and the spaces with rules; other spaces answer like their parent."""
    every = {space.pk: space for space in Space.objects.filter(group=group)}
    ruled = set(rules.values_list("space_id", flat=True)) | reach.named_spaces
    relevant: list[Space | None] = [
        space
        for space in every.values()
        if (space.parent_id is None or space.pk in ruled)
        and (reach.spaces is None or reach.spaces & set(_path_to_root(space, every)))
    ]
    relevant.sort(key=lambda space: (space.parent_id is not None, space.slug) if space else ())
    return relevant if every else [None]


def _path_to_root(space: Space, every: dict[int, Space]) -> list[int]:
    above: list[int] = []
    place: int | None = space.pk
    while place in every and place not in above:
        above.append(place)
        place = every[place].parent_id
    return above


def _classes(
    group: int, reach: Impact, rules: QuerySet[Rule], integrations: list[int] | None
) -> list[tuple[int, ...]]:
    """Group active members into classes, the largest first."""
    # People with rights of their own are alike to nobody, so each is a class.
    single = reach.named_users | _users_with_own_rights(rules, integrations)
    subjects = reach.named_groups | set(
        rules.exclude(group=None).values_list("group_id", flat=True)
    )
    members = User.objects.filter(groups=group, is_active=True)
    if reach.users is not None:
        members = members.filter(pk__in=reach.users)
    keys = list(members.order_by("username", "pk").values_list("pk", flat=True))
    links = User.groups.through.objects.filter(user__in=keys, group__in=subjects)
    belongs: dict[int, set[int]] = defaultdict(set)
    for user, subject in links.values_list("user_id", "group_id"):
        belongs[user].add(subject)
    classes: dict[tuple[int | None, frozenset[int]], list[int]] = defaultdict(list)
    for user in keys:
        classes[user if user in single else None, frozenset(belongs[user])].append(user)
    return sorted((tuple(users) for users in classes.values()), key=len, reverse=True)


def _users_with_own_rights(rules: QuerySet[Rule], integrations: list[int] | None) -> set[int]:
    users = set(rules.exclude(user=None).values_list("user_id", flat=True))
    on_integrations = IntegrationUserPermission.objects.all()
    on_capabilities = CapabilityUserPermission.objects.all()
    owned = Integration.objects.exclude(owner=None)
    if integrations is not None:
        owned = owned.filter(pk__in=integrations)
        on_integrations = on_integrations.filter(content_object__in=integrations)
        on_capabilities = on_capabilities.filter(content_object__integration__in=integrations)
    for grants in (on_integrations, on_capabilities):
        users |= set(grants.values_list("user_id", flat=True))
    # A server of one's own answers its owner as nobody else.
    return users | set(owned.values_list("owner_id", flat=True))


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
