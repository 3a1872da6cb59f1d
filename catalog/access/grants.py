"""Grants of integrations and capabilities to people and groups."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import Group, Permission, User
from django.db import transaction
from django.db.models import Model, Q
from django.utils.translation import gettext as _

from acl.audit.recorder import record
from acl.models import AccessRequest, GroupPolicy, Space
from acl.rights.access_requests import grant_request
from catalog.models import (
    Capability,
    CapabilityGroupPermission,
    CapabilityUserPermission,
    Integration,
    IntegrationGroupPermission,
    IntegrationUserPermission,
    Rule,
)

_TABLES: dict[tuple[type[Model], type[Model]], type[Model]] = {
    (Integration, User): IntegrationUserPermission,
    (Integration, Group): IntegrationGroupPermission,
    (Capability, User): CapabilityUserPermission,
    (Capability, Group): CapabilityGroupPermission,
}


class GrantRefused(Exception):
    """A grant needs exactly one user or group."""

    def __init__(self) -> None:
        super().__init__(_("Choose either a user or a group."))


@transaction.atomic
def grant(
    *,
    by: User | None,
    target: Integration | Capability,
    user: User | None = None,
    group: Group | None = None,
) -> bool:
    """Grant the user (in all their groups) or the group its use; return False if it existed."""
    if not write_grant(target=target, user=user, group=group):
        return False
    record(
        by=by,
        action="grant.add",
        target=_subject_label(user, group),
        details=_target_details(target),
    )
    return True


@transaction.atomic
def revoke(
    *,
    by: User | None,
    target: Integration | Capability,
    user: User | None = None,
    group: Group | None = None,
) -> bool:
    """Revoke a grant; return False if there was none."""
    if not erase_grant(target=target, user=user, group=group):
        return False
    record(
        by=by,
        action="grant.remove",
        target=_subject_label(user, group),
        details=_target_details(target),
        groups=[group.pk] if group else None,
    )
    return True


def list_grants(
    *, user: User | None = None, group: Group | None = None
) -> tuple[list[str], list[str]]:
    """Return the slugs of granted integrations and the full names of granted capabilities.

    People's own servers are nobody's to grant, and no part of it.
    """
    names: list[list[str]] = []
    for level, column in ((Integration, "slug"), (Capability, "full_name")):
        table = _TABLES[level, User if user is not None else Group]
        owner = "owner" if level is Integration else "integration__owner"
        shared = table._default_manager.filter(**{f"content_object__{owner}": None})
        rows = shared.filter(**_subject(user, group))
        path = f"content_object__{column}"
        names.append(list(rows.order_by(path).values_list(path, flat=True)))
    return names[0], names[1]


@transaction.atomic
def grant_integrations(
    *, integrations: Iterable[Integration], group: Group, by: User | None
) -> int:
    """Grant integrations to a group; return how many grants are new."""
    permission = Permission.objects.get(
        content_type__app_label="catalog", codename="use_integration"
    )
    granted = IntegrationGroupPermission.objects.filter(group=group, permission=permission)
    had = set(granted.values_list("content_object_id", flat=True))
    new = [integration for integration in integrations if integration.pk not in had]
    IntegrationGroupPermission.objects.bulk_create(
        [
            IntegrationGroupPermission(group=group, permission=permission, content_object=target)
            for target in new
        ],
        # A concurrent request may insert the same grant.
        ignore_conflicts=True,
    )
    if new:
        slugs = sorted(integration.slug for integration in new)
        # A group's own was made by its members, who need no admin to have it.
        is_own = all(target.source_ref.get("group") == group.pk for target in new)
        record(
            by=by, action="grant.add", target=f"group {group}", details={"integrations": slugs},
            groups=[group.pk] if is_own else None,
        )  # fmt: skip
    return len(new)


@transaction.atomic
def grant_requested(
    *,
    by: User,
    request: AccessRequest,
    target: Integration | Capability,
    to_group: bool,
    note: str,
) -> AccessRequest:
    """Grant `target` to the person, or to the request's group, and answer the request."""
    answered = grant_request(by=by, request=request, note=note)
    if to_group:
        grant(by=by, target=target, group=request.group)
    else:
        grant(by=by, target=target, user=request.user)
    return answered


@transaction.atomic
def set_restricted(*, by: User | None, integration: Integration, restricted: bool) -> bool:
    """Exclude an integration from open groups' defaults, or include it; return True on a change."""
    if not write_restricted(integration=integration, restricted=restricted):
        return False
    action = "integration.restricted" if restricted else "integration.unrestricted"
    record(by=by, action=action, target=integration.slug)
    return True


@transaction.atomic
def set_requestable(*, by: User | None, integration: Integration, requestable: bool) -> bool:
    """Allow or forbid everyone to ask for its tools by name; return True on a change."""
    unlike = Integration.objects.filter(pk=integration.pk, requestable=not requestable, owner=None)
    if not unlike.update(requestable=requestable):
        return False
    action = "integration.requestable" if requestable else "integration.unrequestable"
    record(by=by, action=action, target=integration.slug)
    return True


@transaction.atomic
def set_application_executes(*, by: User | None, integration: Integration, executes: bool) -> bool:
    """Say that the chat application carries out its calls, or not; return True on a change."""
    unlike = Integration.objects.filter(pk=integration.pk, application_executes=not executes)
    if not unlike.update(application_executes=executes):
        return False
    action = "integration.application_executes" if executes else "integration.described"
    record(by=by, action=action, target=integration.slug)
    return True


def write_grant(
    *, target: Integration | Capability, user: User | None = None, group: Group | None = None
) -> bool:
    """Insert a grant without an audit entry, for previews; return False if it existed."""
    table, row = _row(target, user, group)
    return bool(table._default_manager.get_or_create(**row)[1])


def erase_grant(
    *, target: Integration | Capability, user: User | None = None, group: Group | None = None
) -> bool:
    """Delete a grant without an audit entry, for previews; return False if there was none."""
    table, row = _row(target, user, group)
    return bool(table._default_manager.filter(**row).delete()[0])


def write_restricted(*, integration: Integration, restricted: bool) -> bool:
    """Set the flag without an audit entry, for previews; return True on a change."""
    # A person's own server stays as it is: the database keeps it from everyone else.
    unlike = Integration.objects.filter(pk=integration.pk, restricted=not restricted, owner=None)
    return bool(unlike.update(restricted=restricted))


def _row(
    target: Integration | Capability, user: User | None, group: Group | None
) -> tuple[type[Model], dict[str, Any]]:
    """Return the grant's table and columns."""
    subject = _subject(user, group)
    level: type[Model] = Integration if isinstance(target, Integration) else Capability
    permission = Permission.objects.get(
        content_type__app_label="catalog", codename=f"use_{level._meta.model_name}"
    )
    table = _TABLES[level, User if user is not None else Group]
    return table, {**subject, "content_object": target, "permission": permission}


def _subject(user: User | None, group: Group | None) -> dict[str, Any]:
    if (user is None) == (group is None):
        raise GrantRefused
    return {"user": user} if user is not None else {"group": group}


def _subject_label(user: User | None, group: Group | None) -> str:
    return f"user {user}" if user is not None else f"group {group}"


def _target_details(target: Integration | Capability) -> dict[str, list[str]]:
    return {
        "integrations" if isinstance(target, Integration) else "capabilities": [str(target)],
    }


# Most people, rules and groups of an integration that are listed.
_LISTED = 30


@dataclass(frozen=True, slots=True)
class StoredAccess:
    """Stored grants and rules of an integration. The Access pages show the effective rights."""

    groups: tuple[Group, ...]
    tool_groups: tuple[Group, ...]  # with a grant of single tools
    open_groups: int
    people: tuple[User, ...]
    people_in_all: int
    rules: tuple[Rule, ...]
    root_spaces: tuple[Space, ...]  # of the groups that have all of it, for a rule about one tool

    @property
    def is_empty(self) -> bool:
        """Return True if nothing gives anyone access."""
        allowing = any(rule.effect != Rule.Effect.DENY for rule in self.rules)
        return not (self.groups or self.tool_groups or self.open_groups or self.people or allowing)


def stored_access(integration: Integration) -> StoredAccess:
    """Return who was granted the integration or tools of it, and the rules about them."""
    whole = {"content_object": integration, "permission__codename": "use_integration"}
    single = {
        "content_object__integration": integration,
        "permission__codename": "use_capability",
    }
    granted = Group.objects.filter(
        pk__in=IntegrationGroupPermission.objects.filter(**whole).values("group")
    )
    by_tool = CapabilityGroupPermission.objects.filter(**single).values("group")
    people = User.objects.filter(
        Q(pk__in=IntegrationUserPermission.objects.filter(**whole).values("user"))
        | Q(pk__in=CapabilityUserPermission.objects.filter(**single).values("user"))
    )
    policies = GroupPolicy.objects.filter(open_default=True)
    is_open = policies.none() if integration.restricted else policies
    roots = Space.objects.filter(parent=None).filter(
        Q(group__in=granted) | Q(group__in=is_open.values("group"))
    )
    rules = Rule.objects.filter(Q(integration=integration) | Q(capability__integration=integration))
    return StoredAccess(
        groups=tuple(granted.order_by("name", "pk")),
        tool_groups=tuple(Group.objects.filter(pk__in=by_tool).order_by("name", "pk")),
        open_groups=is_open.count(),
        people=tuple(people.order_by("username", "pk")[:_LISTED]),
        people_in_all=people.count(),
        rules=tuple(
            rules.select_related("space__group", "capability", "user", "group").order_by(
                "space__group__name", "space__name", "pk"
            )[:_LISTED]
        ),
        root_spaces=tuple(roots.select_related("group").order_by("group__name", "pk")[:_LISTED]),
    )
