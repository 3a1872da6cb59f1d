"""Review of definitions: a person approves, rejects or forgets what waits."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from acl.audit.recorder import record
from catalog.locks import lock_catalog, lock_definitions
from catalog.models import Capability, Definition, Integration, RuntimeCapability
from catalog.registration.definition_acceptance import (
    accept_definitions,
    clear_proposal,
    enable_capabilities,
)
from catalog.registration.tool_renames import carry_rename, rename_of

Standing = Definition.Standing


class ChangedSinceError(Exception):
    """The text changed since the admin saw it."""


class NotReadableError(Exception):
    """The text to approve cannot be stored; the message says why."""


def list_waiting(integration: Integration) -> QuerySet[Definition]:
    """Return the definitions that need a review."""
    rows = Definition.objects.filter(integration=integration, standing__in=Definition.WAITING)
    return rows.order_by("name", "pk")


@transaction.atomic
def approve_definitions(
    *, by: User, integration: Integration, seen: Mapping[str, str], apart: Collection[str] = ()
) -> list[str]:
    """Pin the reviewed texts and enable their capabilities; return the names.

    `seen` maps names to the digests the person saw. A renamed tool gets what hangs on its old name,
    unless it is among `apart`: only so can an approval lose a deny. Raises ChangedSinceError if a
    text changed meanwhile, and NotReadableError if it cannot be stored.
    """
    lock_definitions(integration.pk)
    rows = _load_seen(integration, seen, (*Definition.WAITING, Standing.REJECTED))
    _check_live(integration, seen)
    back = [row for row in rows if row.standing == Standing.RETURNED or not row.proposed]
    _restore(integration, back)
    forward = [row for row in rows if row not in back]
    renames = {row.name: rename for row in forward if (rename := rename_of(row))}
    accept_definitions(integration, forward, by)
    if refused := [row for row in forward if row.problem]:
        raise NotReadableError("; ".join(f"{row.name}: {row.problem}" for row in refused))
    for row in rows:
        details: dict[str, object] = {"tool": row.name, "definition": row.approved_hash}
        if rename := renames.get(row.name):
            details |= {"old_name": rename.old}
            details["left" if row.name in apart else "carried"] = dict(rename.hangs)
            if row.name not in apart:
                carry_rename(row, rename)
        record(by=by, action="definition.approve", target=integration.slug, details=details)
    return [row.name for row in rows]


@transaction.atomic
def reject_definitions(*, by: User, integration: Integration, seen: Mapping[str, str]) -> list[str]:
    """Reject the reviewed texts until they change; return the names."""
    lock_definitions(integration.pk)
    rows = _load_seen(integration, seen, Definition.WAITING)
    for row in rows:
        details = {"tool": row.name, "definition": row.proposed_hash or row.approved_hash}
        record(by=by, action="definition.reject", target=integration.slug, details=details)
        if row.standing == Standing.RETURNED:
            row.proposed = row.proposed_hash = ""
        row.standing = Standing.REJECTED
        row.save()
    return [row.name for row in rows]


@transaction.atomic
def forget_gone(*, by: User, integration: Integration, names: Iterable[str]) -> list[str]:
    """Delete tools that their server no longer has, and their rights; return the names."""
    lock_definitions(integration.pk)
    rows = Definition.objects.filter(
        integration=integration, standing=Standing.GONE, name__in=list(names)
    )
    removed = list(rows.values_list("name", flat=True))
    if not removed:
        return []
    lock_catalog()
    Capability.objects.filter(integration=integration, action__in=removed).delete()
    rows.delete()
    details = {"tools": removed}
    record(by=by, action="definition.remove", target=integration.slug, details=details)
    return removed


def seen_digest(row: Definition) -> str:
    """Return the digest of the text shown, so that an approval binds to it."""
    if row.standing == Standing.RETURNED:
        return row.approved_hash
    return row.proposed_hash or row.approved_hash


def _restore(integration: Integration, rows: Sequence[Definition]) -> None:
    for row in rows:
        clear_proposal(row)
        row.save()
    enable_capabilities(integration, [row.name for row in rows])


def _check_live(integration: Integration, names: Iterable[str]) -> None:
    """Raise NotReadableError if one of them defines a runtime capability that was retired."""
    retired = RuntimeCapability.objects.filter(
        integration=integration, name__in=list(names), state=RuntimeCapability.State.RETIRED
    )
    if found := list(retired.order_by("name").values_list("name", flat=True)):
        raise NotReadableError("; ".join(f"{name}: it was retired" for name in found))


def _load_seen(
    integration: Integration, seen: Mapping[str, str], standing: Sequence[str]
) -> list[Definition]:
    rows = Definition.objects.filter(
        integration=integration, name__in=list(seen), standing__in=standing
    )
    found = list(rows.order_by("name", "pk"))
    if len(found) != len(seen) or any(seen_digest(row) != seen[row.name] for row in found):
        raise ChangedSinceError
    return found
