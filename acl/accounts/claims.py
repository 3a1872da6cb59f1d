"""Claims of a provider at sign-in, mapped to groups and admin status.

Only what the operator mapped is given or taken: everything else a person has stays as it is.
"""

import logging
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group, User
from django.db import transaction

from acl.audit.recorder import record

logger = logging.getLogger(__name__)


@transaction.atomic
def apply_claims(*, person: User, claims: Mapping[str, Any], new: bool = False) -> None:
    """Apply mapped groups and admin status, with an audit entry for changes."""
    User.objects.select_for_update().get(pk=person.pk)  # two sign-ins at once would mix
    values = claimed_values(claims, settings.PEGBOARD_OIDC_GROUPS_CLAIM)
    added, removed = _map_groups(person, values)
    admin = _map_admin(person, values)
    details = {"added": added, "removed": removed, "admin": admin}
    changes = {name: value for name, value in details.items() if value not in (None, [])}
    if new:
        record(by=None, action="person.joined", target=person.username, details=changes)
    elif changes:
        record(by=None, action="person.groups_mapped", target=person.username, details=changes)


def claimed_values(claims: Mapping[str, Any], name: str) -> frozenset[str]:
    """Return the values of the claim. Dots lead into objects if no claim has the whole name."""
    found: Any = claims.get(name)
    if found is None:
        found = claims
        for part in name.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
    if isinstance(found, str):
        found = [found]
    if not isinstance(found, list):
        return frozenset()
    return frozenset(value for value in found if isinstance(value, str))


def _map_groups(person: User, values: frozenset[str]) -> tuple[list[str], list[str]]:
    """Apply the mapped groups. Return the names of added and removed groups."""
    mapping = settings.PEGBOARD_OIDC_GROUPS
    wanted = {group for value, group in mapping if value in values}
    groups = {group.name: group for group in Group.objects.filter(name__in=_names(mapping))}
    had = set(person.groups.filter(name__in=_names(mapping)).values_list("name", flat=True))
    if missing := wanted - groups.keys():
        logger.warning("There are no groups named %s", ", ".join(sorted(missing)))
    added = sorted((wanted & groups.keys()) - had)
    removed = sorted(had - wanted)
    person.groups.add(*(groups[name] for name in added))
    person.groups.remove(*(groups[name] for name in removed))
    return added, removed


def _names(mapping: tuple[tuple[str, str], ...]) -> set[str]:
    return {group for _, group in mapping}


def _map_admin(person: User, values: frozenset[str]) -> bool | None:
    """Apply the admin mapping. Return True or False if it changed, else None."""
    wanted = settings.PEGBOARD_OIDC_ADMIN_GROUP
    if not wanted or person.is_superuser == (wanted in values):
        return None
    if person.is_superuser and not _other_admins(person):
        logger.warning("%s stays an admin: there is no other", person.username)
        return None
    person.is_staff = person.is_superuser = not person.is_superuser
    person.save(update_fields=["is_staff", "is_superuser"])
    return person.is_superuser


def _other_admins(person: User) -> bool:
    admins = User.objects.filter(is_superuser=True, is_active=True).exclude(pk=person.pk)
    return admins.exists()
