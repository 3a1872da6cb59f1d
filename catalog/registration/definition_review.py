"""Review of definitions: a person approves, rejects or forgets what waits."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from acl.audit.recorder import record
from catalog.formats.descriptors import IntegrationDescriptor
from catalog.locks import lock_catalog, lock_definitions
from catalog.models import Capability, Definition, Integration, RuntimeCapability
from catalog.models.integration import ReviewState
from catalog.registration.register import store_reviewed
from catalog.registration.tool_renames import carry_rename, rename_of
from catalog.trust.gate import Origin, UnreviewedDefinition, admit
from catalog.trust.stored_definition import INTEGRATION_TEXTS, is_descriptor, read_descriptor
from catalog.trust.tool_list import build_descriptor, parse_definition, read_tool

# Acceptance of definitions: pinning their texts, and storing and enabling their capabilities.


def accept_definitions(
    integration: Integration, rows: Sequence[Definition], by: User | None
) -> list[Definition]:
    """Pin the proposed texts and store their capabilities; return the stored ones."""
    if not rows:
        return []
    _accept_texts(integration, [*_matching_texts(integration, rows)], by)
    rows = [row for row in rows if row.name]
    about = build_descriptor(integration)
    parsed = {row.name: _read(row, about) for row in rows}
    descriptors = {name: item.descriptor for name, item in parsed.items() if item is not None}
    reviewed = [
        admit(item, pinned=row.proposed_hash)
        for row in rows
        if (item := parsed[row.name]) is not None
    ]
    report = store_reviewed(reviewed, integration=integration, by=by)
    hashes = Capability.objects.filter(integration=integration, action__in=list(descriptors))
    stored = dict(hashes.values_list("action", "definition_hash"))
    taken = []
    for row in rows:
        descriptor = descriptors.get(row.name)
        if descriptor is None or stored.get(row.name) != descriptor.definition_hash:
            reasons = "; ".join(str(item) for item in report.defects)
            row.problem = (row.problem or reasons or "It cannot be read.")[:500]
        else:
            _pin(row, by)
            taken.append(row)
        row.save()
    enable_capabilities(integration, [row.name for row in taken])
    return taken


def enable_capabilities(integration: Integration, names: Sequence[str]) -> None:
    """Approve and enable these capabilities."""
    if names:
        lock_catalog()
        Capability.objects.filter(integration=integration, action__in=names).update(
            state=ReviewState.APPROVED, available=True, unavailable_reason=""
        )


def clear_proposal(row: Definition) -> None:
    row.standing, row.findings = Standing.APPROVED, []
    row.proposed = row.proposed_hash = row.problem = ""


def _pin(row: Definition, by: User | None) -> None:
    row.approved, row.approved_hash = row.proposed, row.proposed_hash
    row.approved_by, row.approved_at = by, timezone.now()
    row.standing = Standing.APPROVED
    row.proposed = row.proposed_hash = row.problem = ""


def _read(row: Definition, about: IntegrationDescriptor) -> UnreviewedDefinition | None:
    """Parse the proposed text with the current reader; None if it cannot be read."""
    definition = parse_definition(row.proposed)
    if is_descriptor(definition):
        return UnreviewedDefinition(read_descriptor(definition), Origin(row.origin))
    descriptor = read_tool(about, definition).descriptor
    if descriptor is None:
        return None
    return UnreviewedDefinition(descriptor, Origin(row.origin), definition)


def _matching_texts(integration: Integration, rows: Sequence[Definition]) -> Iterator[Definition]:
    """Yield the integration's own definition if it is decided along with these.

    A skill and its integration share a description, so one decision covers both.
    """
    definition = Definition.objects.filter(
        integration=integration, name="", standing__in=Definition.WAITING
    ).first()
    if definition is None:
        return
    chosen = any(not row.name for row in rows)
    described = {parse_definition(row.proposed).get("description") for row in rows if row.name}
    only_there = all(finding["where"] == "description" for finding in definition.findings)
    if chosen or (
        only_there and parse_definition(definition.proposed).get("description") in described
    ):
        yield next((row for row in rows if not row.name), definition)


def _accept_texts(integration: Integration, rows: Sequence[Definition], by: User | None) -> None:
    """Store an integration's own texts."""
    for row in rows:
        definition = parse_definition(row.proposed)
        for name in INTEGRATION_TEXTS:
            setattr(integration, name, str(definition.get(name, "")))
        integration.title = integration.title or integration.slug
        integration.save(update_fields=[*INTEGRATION_TEXTS, "updated_at"])
        _pin(row, by)
        row.save()


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
    *, by: User, integration: Integration, digests: Mapping[str, str], apart: Collection[str] = ()
) -> list[str]:
    """Pin the reviewed texts and enable their capabilities; return the names.

    `digests` maps names to the digests the person saw. A renamed tool gets what hangs on its old
    name, unless it is among `apart`: only so can an approval lose a deny.

    Raises ChangedSinceError if a text changed meanwhile, and NotReadableError if it cannot be
    stored.
    """
    lock_definitions(integration.pk)
    rows = _load_seen(integration, digests, (*Definition.WAITING, Standing.REJECTED))
    # Raise NotReadableError if one of them defines a runtime capability that was retired.
    retired = RuntimeCapability.objects.filter(
        integration=integration, name__in=list(digests), state=RuntimeCapability.State.RETIRED
    )
    if retired_names := list(retired.order_by("name").values_list("name", flat=True)):
        raise NotReadableError("; ".join(f"{name}: it was retired" for name in retired_names))
    back = [row for row in rows if row.standing == Standing.RETURNED or not row.proposed]
    for row in back:
        clear_proposal(row)
        row.save()
    enable_capabilities(integration, [row.name for row in back])
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
def reject_definitions(
    *, by: User, integration: Integration, digests: Mapping[str, str]
) -> list[str]:
    """Reject the reviewed texts until they change; return the names."""
    lock_definitions(integration.pk)
    rows = _load_seen(integration, digests, Definition.WAITING)
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


def _load_seen(
    integration: Integration, digests: Mapping[str, str], standing: Sequence[str]
) -> list[Definition]:
    rows = Definition.objects.filter(
        integration=integration, name__in=list(digests), standing__in=standing
    )
    definitions = list(rows.order_by("name", "pk"))
    if len(definitions) != len(digests) or any(
        seen_digest(row) != digests[row.name] for row in definitions
    ):
        raise ChangedSinceError
    return definitions
