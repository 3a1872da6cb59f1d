"""Rules of delegation: each compares what would be handed out with what the actor holds now.

A refusal names the field of the request that asks for too much, and says what to do instead.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import Group, User

from acl.delegation.authority import (
    Actor,
    Authority,
    authority_of,
    permissions_by,
    permissions_of,
)
from acl.models import ApiKey, Invitation, ServiceAccount
from acl.models.rank import Rank, rank_of


class DelegationRefused(Exception):
    """The actor would hand out more power than they hold. `field` asks for too much."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(reason)
        self.field = field


@dataclass(frozen=True, slots=True)
class WantedKey:
    """Power of a key to create or rotate. `groups` is None for all groups of its subject."""

    scopes: frozenset[str]
    groups: frozenset[int] | None
    owner: User | None = None
    acts_for_users: bool = False
    expires_at: datetime | None = None


def check_key_authority(actor: Actor, wanted: WantedKey) -> Rank:
    """Return the rank that the new key gets. Raise DelegationRefused if the key would be able to
    do anything that the actor cannot do at this moment."""
    own = authority_of(actor)
    if ApiKey.Scope.ADMIN not in own.scopes:
        raise DelegationRefused("scopes", "Only an admin, or a key with scope admin, makes keys.")
    if beyond := wanted.scopes - own.scopes:
        named = ", ".join(sorted(beyond))
        raise DelegationRefused("scopes", f"You do not have these scopes yourself: {named}.")
    if wanted.acts_for_users and not own.acts_for_users:
        raise DelegationRefused(
            "acts_for_users",
            "You may not act for other people, so your keys may not either. "
            "Ask an admin who has the permission 'Can act for other people'.",
        )
    _check_reach(own, wanted)
    _check_owner(own, wanted)
    if not own.outlasts(wanted.expires_at):
        raise DelegationRefused(
            "expires_at",
            f"Your own key ends on {own.ends_at:%Y-%m-%d %H:%M}: choose an earlier end.",
        )
    return min(own.rank, rank_of(wanted.owner)) if wanted.owner else Rank.MEMBER


def _check_reach(own: Authority, wanted: WantedKey) -> None:
    if own.reaches(wanted.groups):
        return
    owner_id = wanted.owner.pk if wanted.owner else None
    follows = own.follows_owner and owner_id == own.person_id and not wanted.acts_for_users
    if wanted.groups is None and follows:
        return
    raise DelegationRefused("groups", "A group is named that you do not administer.")


def _check_owner(own: Authority, wanted: WantedKey) -> None:
    owner = wanted.owner
    if owner is None or owner.pk == own.person_id:
        return
    is_program = ServiceAccount.objects.filter(user=owner).exists()
    if not own.acts_for_users and not (is_program and own.rank >= Rank.STAFF):
        raise DelegationRefused(
            "owner",
            "The key would act as somebody else. Own it yourself, or use a service account.",
        )
    if not _includes(own, owner):
        raise DelegationRefused("owner", "This person may do more than you.")
    # Its owner would decide about approvals: that is a person's, or an admin's to hand out.
    if ApiKey.Scope.ADMIN in wanted.scopes and own.rank < Rank.STAFF:
        raise DelegationRefused("owner", "A key with scope admin is its own owner's to create.")


def check_person(actor: Actor, person: User) -> None:
    """Raise DelegationRefused unless the actor may change this person's account."""
    if not may_change_person(actor, person):
        raise DelegationRefused(
            "person", "This person may do more than you. Ask an admin with more rights."
        )


def may_change_person(actor: Actor, person: User) -> bool:
    """Return True if the person has no power that the actor lacks. Flags of a deactivated person
    count too: they come back to life with the account."""
    own = authority_of(actor)
    return own.rank >= Rank.STAFF and _includes(own, person)


def may_act_as(actor: Actor, person: User) -> bool:
    """Return True if the actor may act as this person, or set what they sign in with, which comes
    to the same."""
    own = authority_of(actor)
    return person.pk == own.person_id or (own.acts_for_users and _includes(own, person))


def check_groups(actor: Actor, groups: Iterable[Group]) -> None:
    """Raise DelegationRefused unless the actor may make somebody a member of all these groups."""
    own, wanted = authority_of(actor), list(groups)
    if wanted and own.rank < Rank.STAFF:
        raise DelegationRefused("groups", "Only an admin adds people to groups.")
    if not own.reaches(frozenset(group.pk for group in wanted)):
        raise DelegationRefused("groups", "A group is named that you do not administer.")
    if not own.has_permissions(permissions_by(wanted)):
        raise DelegationRefused(
            "groups", "Membership of this group brings admin permissions that you do not have."
        )


def check_role(actor: Actor, role: str) -> None:
    """Raise DelegationRefused unless the actor may invite somebody as this."""
    own = authority_of(actor)
    needed = Rank.SUPERUSER if role == Invitation.Role.ADMIN else Rank.STAFF
    if own.rank < needed:
        raise DelegationRefused("role", "Only an admin who may do everything can invite admins.")


def check_flags(
    actor: Actor, *, is_staff: bool, is_superuser: bool, permissions: frozenset[str]
) -> None:
    """Raise DelegationRefused unless the actor may give somebody these flags and permissions."""
    own = authority_of(actor)
    if is_superuser and own.rank < Rank.SUPERUSER:
        raise DelegationRefused("is_superuser", "Only a superuser makes superusers.")
    if is_staff and own.rank < Rank.STAFF:
        raise DelegationRefused("is_staff", "Only an admin makes admins.")
    if not own.has_permissions(permissions):
        raise DelegationRefused(
            "user_permissions", "You do not have all of these permissions yourself."
        )


def _includes(own: Authority, person: User) -> bool:
    flags = (
        Rank.SUPERUSER if person.is_superuser else Rank.STAFF if person.is_staff else Rank.MEMBER
    )
    if own.rank < flags:
        return False
    return own.has_permissions(permissions_of(person))
