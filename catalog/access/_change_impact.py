"""Impact of a change: which people and spaces it could affect.

Members whom rules and grants treat alike get the same answers, so only one of each class is
evaluated.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from acl.models import Space
from acl.rights.caller_lookup import Caller
from catalog.models import CapabilityUserPermission, IntegrationUserPermission, Rule


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
    if integrations is not None:
        on_integrations = on_integrations.filter(content_object__in=integrations)
        on_capabilities = on_capabilities.filter(content_object__integration__in=integrations)
    for grants in (on_integrations, on_capabilities):
        users |= set(grants.values_list("user_id", flat=True))
    return users
