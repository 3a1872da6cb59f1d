"""Power of an actor at this moment, as a point in a lattice."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.contrib.auth.models import Group, Permission, User
from django.db.models import Q

from acl.models import ApiKey
from acl.models.api_key import Rank, rank_of

# A recognised API key: the power that its request may use.

_ADMINISTER = frozenset({ApiKey.Scope.ADMIN, ApiKey.Scope.SCIM})


@dataclass(frozen=True, slots=True)
class KeyApplication:
    """The chat application of a key, as far as its requests need it."""

    id: int
    name: str
    defaults: Mapping[str, Any] = field(default_factory=dict, hash=False)
    calls_a_minute: int | None = None
    calls_a_day: int | None = None
    tokens_a_day: int | None = None
    cpu_a_minute: int | None = None


@dataclass(frozen=True, slots=True)
class KeyHolder:
    """The sender of a valid key. DRF takes it for the request's user.

    `group_ids` are the groups that the key covers at this moment; None covers every group.
    `rank` is the most that both the key and its owner have, now.
    """

    key_id: int
    name: str
    prefix: str
    owner_id: int | None
    acts_for_users: bool
    scopes: frozenset[str]
    group_ids: frozenset[int] | None
    all_groups: bool = False
    rank: Rank = Rank.MEMBER
    expires_at: datetime | None = None
    application: KeyApplication | None = None
    is_connection: bool = False  # of a client that a person connected by OAuth
    is_authenticated: bool = True
    is_active: bool = True
    is_staff: bool = False
    is_anonymous: bool = False

    @property
    def application_id(self) -> int | None:
        """Return the id of the key's application, if it has one."""
        return self.application.id if self.application else None

    def covers(self, group_id: int) -> bool:
        """Return True if the key works in this group."""
        return self.group_ids is None or group_id in self.group_ids

    @property
    def is_of_the_installation(self) -> bool:
        """Return True for an admin's key for all groups. It administers the whole installation;
        any other key administers its own groups, whoever owns it."""
        return (
            self.all_groups and self.rank >= Rank.STAFF and not _ADMINISTER.isdisjoint(self.scopes)
        )

    def knows_of(self, group_id: int) -> bool:
        """Return True if the key may know of this group."""
        return self.is_of_the_installation or self.covers(group_id)

    def administered(self, field: str = "group") -> Q:
        """Limit rows to what the key administers; `field` leads to the group of a row."""
        return Q() if self.is_of_the_installation else self.in_groups(field)

    def in_groups(self, field: str = "group") -> Q:
        """Limit rows to the key's groups; `field` leads to the group of a row."""
        return Q() if self.group_ids is None else Q(**{f"{field}__in": self.group_ids})


ACT_FOR_OTHERS = "acl.act_for_others"
# A person by session, a key, or nobody: the operator at the shell, who owns the installation.
Actor = User | KeyHolder | None
OWN_SCOPES = frozenset({ApiKey.Scope.SELECT, ApiKey.Scope.DISCOVER, ApiKey.Scope.EXECUTE})
EVERY_SCOPE = frozenset(ApiKey.Scope.values)


@dataclass(frozen=True, slots=True)
class Authority:
    """The power to act and to hand out. None stands for everything there is: every Django
    permission, every group, no end."""

    person_id: int | None = None  # as whom the actor acts without naming anyone
    rank: Rank = Rank.MEMBER
    permissions: frozenset[str] | None = frozenset()  # "app_label.codename"
    scopes: frozenset[str] = frozenset()
    groups: frozenset[int] | None = frozenset()
    administers: frozenset[int] | None = frozenset()  # groups whose members and spaces it changes
    follows_owner: bool = False  # its groups are all those of its owner, also later ones
    acts_for_users: bool = False
    ends_at: datetime | None = None
    application: int | None = None  # whose key it is: what it makes belongs there, too

    def has_permissions(self, permissions: frozenset[str] | None) -> bool:
        """Return True if all of these Django permissions are among the actor's own."""
        if self.permissions is None:
            return True
        return permissions is not None and permissions <= self.permissions

    def reaches(self, groups: frozenset[int] | None) -> bool:
        """Return True if the actor's power extends to all of these groups."""
        if self.groups is None:
            return True
        return groups is not None and groups <= self.groups

    def manages(self, groups: frozenset[int]) -> bool:
        """Return True if the actor administers all of these groups."""
        return self.administers is None or groups <= self.administers

    def manages_person(self, person: User) -> bool:
        """Return True if the actor administers all that the person belongs to. Who is in no group
        belongs to the installation."""
        if self.administers is None:
            return True
        groups = frozenset(Group.objects.filter(user=person).values_list("pk", flat=True))
        return bool(groups) and groups <= self.administers

    def outlasts(self, end: datetime | None) -> bool:
        """Return True if what ends then would not outlive the actor's own credential."""
        return self.ends_at is None or (end is not None and end <= self.ends_at)


OPERATOR = Authority(
    rank=Rank.SUPERUSER,
    permissions=None,
    scopes=EVERY_SCOPE,
    groups=None,
    administers=None,
    acts_for_users=True,
)


def authority_of(actor: Actor) -> Authority:
    """Read the actor's power from the database: an object that was loaded earlier may be stale."""
    if actor is None:
        return OPERATOR
    if isinstance(actor, KeyHolder):
        return _authority_of_key(actor)
    person = User.objects.filter(pk=actor.pk, is_active=True).first()
    return _authority_of_person(person) if person else Authority()


def person_behind(actor: Actor) -> User | None:
    """Return the person whom the audit log names: the actor, or the owner of their key."""
    if isinstance(actor, KeyHolder):
        return User.objects.filter(pk=actor.owner_id).first() if actor.owner_id else None
    return actor


def acts_for_others(person: User) -> bool:
    """Return True for staff who have the permission. Superusers have every permission."""
    return person.is_active and person.is_staff and person.has_perm(ACT_FOR_OTHERS)


def permissions_of(person: User) -> frozenset[str] | None:
    """Return the person's Django permissions, those by their groups included. They are read from
    the rows: Django says that the inactive have none, and remembers what it once read."""
    if person.is_superuser:
        return None
    return given_permissions(person)


def given_permissions(person: User) -> frozenset[str]:
    """Return the permissions that were given to the person or their groups, one by one."""
    direct = person.user_permissions.values_list("content_type__app_label", "codename")
    names = frozenset(f"{app}.{codename}" for app, codename in direct)
    return names | permissions_by(person.groups.all())


def permissions_by(groups: Iterable[Group]) -> frozenset[str]:
    """Return the Django permissions that membership of these groups brings."""
    permissions = Permission.objects.filter(group__in=[group.pk for group in groups])
    pairs = permissions.values_list("content_type__app_label", "codename")
    return frozenset(f"{app}.{codename}" for app, codename in pairs)


def _authority_of_person(person: User) -> Authority:
    rank, permissions = rank_of(person), permissions_of(person)
    is_staff = rank >= Rank.STAFF
    return Authority(
        person_id=person.pk,
        rank=rank,
        permissions=permissions,
        scopes=EVERY_SCOPE if is_staff else OWN_SCOPES,
        # The staff administers every group; see docs/access.md.
        groups=None if is_staff else frozenset(person.groups.values_list("pk", flat=True)),
        administers=None if is_staff else frozenset(),
        follows_owner=True,
        acts_for_users=acts_for_others(person),
    )


def _authority_of_key(holder: KeyHolder) -> Authority:
    owner = User.objects.filter(pk=holder.owner_id or 0, is_active=True).first()
    rank = min(holder.rank, rank_of(owner)) if owner else Rank.MEMBER
    return Authority(
        person_id=owner.pk if owner else None,
        rank=rank,
        permissions=_permissions_of_key(owner, rank),
        scopes=holder.scopes,
        groups=holder.group_ids,
        administers=_administered_by(holder, rank),
        follows_owner=holder.all_groups,
        acts_for_users=holder.acts_for_users,
        ends_at=holder.expires_at,
        application=holder.application_id,
    )


def _administered_by(holder: KeyHolder, rank: Rank) -> frozenset[int] | None:
    if rank < Rank.STAFF:
        return frozenset()
    return None if holder.is_of_the_installation else holder.group_ids or frozenset()


def _permissions_of_key(owner: User | None, rank: Rank) -> frozenset[str] | None:
    """Permissions are for admins: a key of a member has none, and one that was made before its
    owner became a superuser has those that were given one by one."""
    if owner is None or rank == Rank.MEMBER:
        return frozenset()
    return permissions_of(owner) if rank == Rank.SUPERUSER else given_permissions(owner)
