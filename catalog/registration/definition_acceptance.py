"""Acceptance of definitions: pinning their texts, and storing and enabling their capabilities."""

from collections.abc import Iterator, Sequence

from django.contrib.auth.models import User
from django.utils import timezone

from catalog.formats.descriptors import IntegrationDescriptor
from catalog.locks import lock_catalog
from catalog.models import Capability, Definition, Integration
from catalog.models.integration import ReviewState
from catalog.registration.register import store_reviewed
from catalog.trust.fingerprint import parse_definition
from catalog.trust.gate import Origin, UnreviewedDefinition, admit
from catalog.trust.stored_definition import INTEGRATION_TEXTS, is_descriptor, read_descriptor
from catalog.trust.tool_list import build_descriptor, read_tool

Standing = Definition.Standing


def accept_definitions(
    integration: Integration, rows: Sequence[Definition], by: User | None
) -> list[Definition]:
    """Pin the proposed texts and store their capabilities; return the stored ones."""
    if not rows:
        return []
    _accept_texts(integration, [*_matching_texts(integration, rows)], by)
    rows = [row for row in rows if row.name]
    about = build_descriptor(integration)
    read = {row.name: _read(row, about) for row in rows}
    descriptors = {name: one.descriptor for name, one in read.items() if one is not None}
    reviewed = [
        admit(one, pinned=row.proposed_hash) for row in rows if (one := read[row.name]) is not None
    ]
    report = store_reviewed(reviewed, integration=integration, by=by)
    hashes = Capability.objects.filter(integration=integration, action__in=list(descriptors))
    stored = dict(hashes.values_list("action", "definition_hash"))
    taken = []
    for row in rows:
        wanted = descriptors.get(row.name)
        if wanted is None or stored.get(row.name) != wanted.definition_hash:
            reasons = "; ".join(str(one) for one in report.defects)
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
    own = Definition.objects.filter(
        integration=integration, name="", standing__in=Definition.WAITING
    ).first()
    if own is None:
        return
    chosen = any(not row.name for row in rows)
    described = {parse_definition(row.proposed).get("description") for row in rows if row.name}
    only_there = all(finding["where"] == "description" for finding in own.findings)
    if chosen or (only_there and parse_definition(own.proposed).get("description") in described):
        yield next((row for row in rows if not row.name), own)


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
