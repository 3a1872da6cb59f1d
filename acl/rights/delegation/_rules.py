"""Rules of delegation: each compares what would be handed out with what the actor holds now.

A refusal names the field of the request that asks for too much, and says what to do instead.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import Group, User
from django.utils.translation import gettext as _

from acl.models import ApiKey, Invitation, ServiceAccount
from acl.models.api_key import Rank, hold_key, rank_of
from acl.platform.answer_model import FieldRefused
from acl.rights.delegation.authority import (
    EVERY_SCOPE,
    OWN_SCOPES,
    Actor,
    Authority,
    KeyHolder,
    authority_of,
    permissions_by,
    permissions_of,
)


class DelegationRefused(FieldRefused):
    """The actor would hand out more power than they hold. `field` asks for too much."""


@dataclass(frozen=True, slots=True)
class RequestedKey:
    """Power of a key to create or rotate. `groups` is None for all groups of its subject."""

    scopes: frozenset[str]
    groups: frozenset[int] | None
    owner: User | None = None
    acts_for_users: bool = False
    expires_at: datetime | None = None
    application: int | None = None


def check_key_authority(actor: Actor, key: RequestedKey) -> Rank:
    """Return the rank that the new key gets. Raise DelegationRefused if the key would be able to
    do anything that the actor cannot do at this moment."""
    authority = authority_of(actor)
    if ApiKey.Scope.ADMIN not in authority.scopes:
        raise DelegationRefused(
            "scopes", _("Only an admin, or a key with the scope admin, can create keys.")
        )
    if beyond := key.scopes - authority.scopes:
        names = ", ".join(sorted(beyond))
        raise DelegationRefused(
            "scopes", _("You do not have these scopes yourself: %(scopes)s.") % {"scopes": names}
        )
    if key.acts_for_users and not authority.acts_for_users:
        raise DelegationRefused(
            "acts_for_users",
            _(
                "You may not act for other people, so your keys may not either. "
                "Ask an admin who has the permission 'Can act for other people'."
            ),
        )
    _check_reach(authority, key)
    _check_owner(authority, key)
    if authority.application not in (None, key.application):
        raise DelegationRefused(
            "application", _("A key of an application makes keys of this application only.")
        )
    if not authority.outlasts(key.expires_at):
        raise DelegationRefused(
            "expires_at",
            _("Your own key expires on %(time)s: choose an earlier expiry.")
            % {"time": f"{authority.ends_at:%Y-%m-%d %H:%M}"},
        )
    return min(authority.rank, rank_of(key.owner)) if key.owner else Rank.MEMBER


def _check_reach(authority: Authority, key: RequestedKey) -> None:
    if authority.reaches(key.groups):
        return
    owner_id = key.owner.pk if key.owner else None
    follows = authority.follows_owner and owner_id == authority.person_id and not key.acts_for_users
    if key.groups is None and follows:
        return
    raise DelegationRefused("groups", _("You do not administer all of these groups."))


def _check_owner(authority: Authority, key: RequestedKey) -> None:
    owner = key.owner
    if owner is None or owner.pk == authority.person_id:
        return
    is_program = ServiceAccount.objects.filter(user=owner).exists()
    if not authority.acts_for_users and not (is_program and authority.rank >= Rank.STAFF):
        raise DelegationRefused(
            "owner",
            _("The key would act as another person. Own it yourself, or use a service account."),
        )
    if not _includes(authority, owner):
        raise DelegationRefused("owner", _("This person has more rights than you."))
    # Its owner would decide about approvals: that is a person's, or an admin's to hand out.
    if ApiKey.Scope.ADMIN in key.scopes and authority.rank < Rank.STAFF:
        raise DelegationRefused(
            "owner", _("A key with the scope admin can only be created by its own owner.")
        )


def check_installation(actor: Actor) -> None:
    """Raise DelegationRefused for a key that does not administer the whole installation. Of keys,
    only an admin's for all groups does; which people do, the doors ask."""
    if isinstance(actor, KeyHolder) and authority_of(actor).administers is not None:
        raise DelegationRefused(
            "groups",
            _("This concerns the whole installation. Use an admin's key for all groups."),
        )


def check_group(actor: Actor, group: Group) -> None:
    """Raise DelegationRefused for a key that does not administer this group."""
    if isinstance(actor, KeyHolder) and not authority_of(actor).manages(frozenset({group.pk})):
        raise DelegationRefused("groups", _("You do not administer all of these groups."))


def check_person(actor: Actor, person: User) -> None:
    """Raise DelegationRefused unless the actor may change this person's account."""
    if not may_change_person(actor, person):
        raise DelegationRefused(
            "person", _("This person has more rights than you. Ask an admin with more rights.")
        )


def may_change_person(actor: Actor, person: User) -> bool:
    """Return True if the person has no power that the actor lacks. Flags of a deactivated person
    count too: they come back to life with the account."""
    authority = authority_of(actor)
    return (
        authority.rank >= Rank.STAFF
        and authority.manages_person(person)
        and _includes(authority, person)
    )


def check_member(actor: Actor, person: User) -> None:
    """Raise DelegationRefused if the person has a power, as an admin or by permissions, that the
    actor lacks: then their memberships are not the actor's to end."""
    authority = authority_of(actor)
    if authority.rank < Rank.STAFF or not _includes(authority, person):
        raise DelegationRefused(
            "person", _("This person has more rights than you. Ask an admin with more rights.")
        )


def may_act_as(actor: Actor, person: User) -> bool:
    """Return True if the actor may act as this person, or set what they sign in with, which comes
    to the same."""
    authority = authority_of(actor)
    if person.pk == authority.person_id:
        return True
    return (
        authority.acts_for_users
        and authority.manages_person(person)
        and _includes(authority, person)
    )


def check_groups(actor: Actor, groups: Iterable[Group]) -> None:
    """Raise DelegationRefused unless the actor may make someone a member of all these groups."""
    authority, joined = authority_of(actor), list(groups)
    if joined and authority.rank < Rank.STAFF:
        raise DelegationRefused("groups", _("Only an admin can add people to groups."))
    if not authority.manages(frozenset(group.pk for group in joined)):
        raise DelegationRefused("groups", _("You do not administer all of these groups."))
    if not authority.has_permissions(permissions_by(joined)):
        raise DelegationRefused(
            "groups", _("Members of this group get admin permissions that you do not have.")
        )


def check_invitation(actor: Actor, role: str, groups: Iterable[Group]) -> None:
    """Raise DelegationRefused unless the actor holds all that the invited person will: a rank,
    scopes, groups, and no end."""
    authority, is_admin = authority_of(actor), role == Invitation.Role.ADMIN
    if authority.rank < (Rank.SUPERUSER if is_admin else Rank.STAFF):
        raise DelegationRefused("role", _("Only a superuser can invite admins."))
    if beyond := (EVERY_SCOPE if is_admin else OWN_SCOPES) - authority.scopes:
        names = ", ".join(sorted(beyond))
        raise DelegationRefused(
            "role", _("You do not have these scopes yourself: %(scopes)s.") % {"scopes": names}
        )
    if not authority.outlasts(None):
        raise DelegationRefused(
            "role",
            _("Your key expires, but people stay. Invite with a key that does not expire."),
        )
    joined = list(groups)
    if authority.administers is not None:  # the invited person also joins these
        joined += Group.objects.filter(policy__joined_by_default=True)
    if is_admin or not joined:
        check_installation(actor)
    if is_admin and not authority.acts_for_users:
        raise DelegationRefused("role", _("Only a superuser can invite admins."))
    check_groups(actor, joined)


def hold_credential(actor: Actor) -> None:
    """Lock the actor's key until the end of the transaction. Raise DelegationRefused if it has
    ended since the request came."""
    if isinstance(actor, KeyHolder) and not hold_key(actor.key_id):
        raise DelegationRefused("key", _("Your own key has ended."))


def check_flags(
    actor: Actor, *, is_staff: bool, is_superuser: bool, permissions: frozenset[str]
) -> None:
    """Raise DelegationRefused unless the actor may give someone these flags and permissions."""
    authority = authority_of(actor)
    if is_superuser and authority.rank < Rank.SUPERUSER:
        raise DelegationRefused("is_superuser", _("Only a superuser can make someone a superuser."))
    if is_staff and authority.rank < Rank.STAFF:
        raise DelegationRefused("is_staff", _("Only an admin can make someone an admin."))
    if not authority.has_permissions(permissions):
        raise DelegationRefused(
            "user_permissions", _("You do not have all of these permissions yourself.")
        )


def _includes(authority: Authority, person: User) -> bool:
    flags = (
        Rank.SUPERUSER if person.is_superuser else Rank.STAFF if person.is_staff else Rank.MEMBER
    )
    if authority.rank < flags:
        return False
    return authority.has_permissions(permissions_of(person))
