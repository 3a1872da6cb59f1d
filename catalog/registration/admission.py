"""Review of descriptors: what passes is stored, what is held waits in a `Definition`.

Reviews are idempotent: an approved or rejected definition keeps its state until its text changes.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models.expressions import RawSQL
from django.utils import timezone

from catalog.formats.descriptors import Defect, Descriptor, IntegrationDescriptor
from catalog.models import Capability, Definition, Integration
from catalog.models.integration import ReviewState
from catalog.registration.descriptor_rows import StoredCapabilities, file_of, is_unchanged
from catalog.registration.tool_renames import find_renames
from catalog.trust.findings import Finding
from catalog.trust.gate import (
    HeldDefinition,
    Origin,
    ReviewedDefinition,
    ReviewedIntegration,
    UnreviewedDefinition,
    admit,
    digest_of_definition,
    examine,
    examine_integration,
    review,
    review_integration,
)
from catalog.trust.impersonation import IntegrationDefinitions, find_shadows_of
from catalog.trust.stored_definition import (
    INTEGRATION_TEXTS,
    descriptor_of_row,
    texts_of_descriptor,
    write_descriptor,
    write_integration,
)
from catalog.trust.tool_list import digest_text

Standing = Definition.Standing


@dataclass(slots=True)
class AdmissionVerdict:
    """The gate's result for some descriptors; `decided` are the definitions of passed ones."""

    passed: list[ReviewedDefinition] = field(default_factory=list)
    held: list[HeldDefinition] = field(default_factory=list)
    decided: list[Definition] = field(default_factory=list)
    unchanged: int = 0
    defects: list[Defect] = field(default_factory=list)


def review_descriptors(
    descriptors: Sequence[Descriptor], integrations: Mapping[str, Integration], *, origin: Origin
) -> AdmissionVerdict:
    """Review new and changed descriptors; unchanged approved ones are not read again."""
    stored, verdict = StoredCapabilities(descriptors), AdmissionVerdict()
    rows = _load_definitions(integrations.values())
    differing: list[Descriptor] = []
    for descriptor in descriptors:
        row = stored.row(descriptor, integrations[descriptor.integration])
        if row and is_unchanged(row, descriptor) and row.state == ReviewState.APPROVED:
            verdict.unchanged += 1
        else:
            differing.append(descriptor)
    # One query for all of them, instead of one per definition.
    shadows = _find_shadows(differing, integrations)
    new = [
        descriptor
        for descriptor in differing
        if stored.row(descriptor, integrations[descriptor.integration]) is None
    ]
    renames = _find_renames(new, descriptors, integrations)
    for descriptor in differing:
        at = integrations[descriptor.integration].pk, descriptor.action
        noticed = (*renames.get(id(descriptor), ()), *shadows.get(id(descriptor), ()))
        definition = UnreviewedDefinition(descriptor, origin, noticed=noticed)
        _decide(definition, rows.get(at), verdict)
    return verdict


def hold(held: Sequence[HeldDefinition], integrations: Mapping[str, Integration]) -> None:
    """Store held definitions for review, and quarantine their capabilities."""
    rows = _load_definitions(integrations.values())
    for definition in held:
        integration = integrations[definition.descriptor.integration]
        row = rows.get((integration.pk, definition.descriptor.action))
        stored = Capability.objects.filter(
            integration=integration, identifier=definition.descriptor.identifier
        )
        _propose(row or _new_row(integration, definition), definition, is_known=stored.exists())
        stored.update(state=ReviewState.QUARANTINED)


def settle(verdict: AdmissionVerdict, *, stored: bool) -> None:
    """Delete waiting definitions whose capability has passed now."""
    waited = [row for row in verdict.decided if row.standing in Definition.WAITING]
    for row in waited if stored else []:
        Capability.objects.filter(
            integration=row.integration_id, action=row.name, state=ReviewState.QUARANTINED
        ).update(state=ReviewState.APPROVED)
        row.delete()


def texts_have_passed(row: Capability) -> bool:
    """Return True if the stored texts are the ones that passed the gate."""
    return Capability.objects.filter(pk=row.pk, reviewed=_texts_digest()).exists()


def propose_changed_rows(integration: Integration) -> None:
    """Create definitions for capabilities edited past the gate, so that a page can show them."""
    held = Capability.objects.filter(integration=integration, state=ReviewState.QUARANTINED)
    decided = Definition.objects.filter(integration=integration).values("name")
    for row in held.exclude(reviewed=_texts_digest()).exclude(action__in=decided):
        descriptor = descriptor_of_row(row)
        definition = UnreviewedDefinition(descriptor, Origin.EDIT)
        Definition.objects.get_or_create(
            integration=integration,
            name=row.action,
            defaults={
                "origin": Origin.EDIT,
                "standing": Standing.NEW,
                "proposed": write_descriptor(descriptor),
                "proposed_hash": digest_of_definition(definition),
                "findings": [finding.as_json() for finding in examine(definition)],
            },
        )


def _texts_digest() -> RawSQL:
    # The SQL function that the quarantine trigger uses (catalog/migrations/0013_gate.py).
    return RawSQL("catalog_texts_digest(catalog_capability)", ())


def review_integrations(described: Iterable[IntegrationDescriptor]) -> list[ReviewedIntegration]:
    """Review integrations' own texts. Held ones keep the stored texts, or stay empty."""
    described = list(described)
    slugs = [descriptor.slug for descriptor in described]
    stored = {row.slug: row for row in Integration.objects.filter(slug__in=slugs)}
    rows = Definition.objects.filter(integration__slug__in=slugs, name="", standing="approved")
    approved = dict(rows.values_list("integration__slug", "approved_hash"))
    return [
        review_integration(
            descriptor,
            stored={
                name: getattr(stored.get(descriptor.slug), name, "") for name in INTEGRATION_TEXTS
            },
            approved=approved.get(descriptor.slug, ""),
        )
        for descriptor in described
    ]


def hold_integrations(
    described: Iterable[IntegrationDescriptor],
    integrations: Mapping[str, Integration],
    *,
    origin: Origin,
) -> list[str]:
    """Hold integrations' own texts where needed; return the slugs.

    Only these texts wait: the capabilities are reviewed on their own.
    """
    held = []
    for descriptor in described:
        row = integrations.get(descriptor.slug)
        if row is None:
            continue
        if findings := examine_integration(descriptor):
            held += hold_integration(row, descriptor, findings, origin=origin)
        else:
            # Delete the waiting texts of an integration whose texts are harmless now.
            waiting = Definition.objects.filter(
                integration=row, name="", standing__in=Definition.WAITING
            )
            waiting.delete()
    return held


def hold_integration(
    row: Integration,
    descriptor: IntegrationDescriptor,
    findings: Sequence[Finding],
    *,
    origin: Origin,
) -> list[str]:
    """Hold an integration's own texts; return its slug, or nothing if they are approved."""
    definition = Definition.objects.filter(integration=row, name="").first()
    digest = digest_text(write_integration(descriptor))
    if (
        definition is not None
        and definition.standing == Standing.APPROVED
        and definition.approved_hash == digest
    ):
        return []
    definition = definition or Definition(integration=row, name="", standing=Standing.NEW)
    if definition.standing != Standing.REJECTED or definition.proposed_hash != digest:
        definition.standing = Standing.CHANGED if definition.approved_hash else Standing.NEW
    definition.proposed, definition.proposed_hash = write_integration(descriptor), digest
    definition.origin, definition.source = origin, file_of(descriptor)[:500]
    definition.findings = [finding.as_json() for finding in findings]
    definition.save()
    return [row.slug]


def _decide(
    definition: UnreviewedDefinition, row: Definition | None, verdict: AdmissionVerdict
) -> None:
    digest = digest_of_definition(definition)
    if row is not None and row.origin == Origin.SERVER and definition.origin != Origin.SERVER:
        reason = (
            f"{definition.descriptor.full_name} is defined by its server, whose definition was "
            "approved; this one is left out"
        )
        verdict.defects.append(Defect(file_of(definition.descriptor), "name", reason))
        return
    if row is not None and row.approved_hash == digest and row.standing == Standing.APPROVED:
        verdict.passed.append(admit(definition, pinned=row.approved_hash))
        verdict.decided.append(row)
        return
    result = review(definition)
    if isinstance(result, HeldDefinition):
        verdict.held.append(result)
    elif row is not None and row.standing == Standing.REJECTED:
        # An admin rejected this name before: every later text under it needs a review.
        verdict.held.append(HeldDefinition(definition, result.findings))
    else:
        verdict.passed.append(result)
        if row is not None:
            verdict.decided.append(row)


def _propose(row: Definition, held: HeldDefinition, *, is_known: bool) -> None:
    digest = digest_of_definition(held.definition)
    if row.standing == Standing.REJECTED and row.proposed_hash == digest:
        return
    row.standing = Standing.CHANGED if row.approved_hash or is_known else Standing.NEW
    row.proposed, row.proposed_hash = write_descriptor(held.descriptor), digest
    row.origin, row.source = held.definition.origin, file_of(held.descriptor)[:500]
    row.findings = [finding.as_json() for finding in held.findings]
    row.problem = ""
    row.save()


def _new_row(integration: Integration, held: HeldDefinition) -> Definition:
    """Build a definition for a held text, with the stored text as the approved one."""
    row = Definition(integration=integration, name=held.descriptor.action, standing=Standing.NEW)
    stored = Capability.objects.filter(
        integration=integration, identifier=held.descriptor.identifier
    ).select_related("integration")
    before = stored.first()
    if before is not None:
        stored_descriptor = descriptor_of_row(before)
        row.approved, row.approved_hash = (
            write_descriptor(stored_descriptor),
            before.definition_hash,
        )
        row.approved_at = timezone.now()
    return row


def _load_definitions(
    integrations: Iterable[Integration],
) -> dict[tuple[int, str], Definition]:
    rows = Definition.objects.filter(integration__in=list(integrations)).exclude(name="")
    return {(row.integration_id, row.name): row for row in rows}


def _find_renames(
    new: Sequence[Descriptor],
    descriptors: Sequence[Descriptor],
    integrations: Mapping[str, Integration],
) -> dict[int, list[Finding]]:
    """Return a finding about each new descriptor that renames another tool, by its id()."""
    findings: dict[int, list[Finding]] = {}
    for slug in {descriptor.integration for descriptor in new}:
        siblings = [descriptor for descriptor in new if descriptor.integration == slug]
        renames = find_renames(
            integrations[slug],
            {descriptor.action: texts_of_descriptor(descriptor) for descriptor in siblings},
            listed={
                descriptor.action for descriptor in descriptors if descriptor.integration == slug
            },
        )
        findings |= {
            id(descriptor): [renames[descriptor.action]]
            for descriptor in siblings
            if descriptor.action in renames
        }
    return findings


def _find_shadows(
    descriptors: Sequence[Descriptor], integrations: Mapping[str, Integration]
) -> dict[int, list[Finding]]:
    """Return findings about tools of other integrations, by the descriptor's id()."""
    findings: dict[int, list[Finding]] = {}
    by_slug: dict[str, list[Descriptor]] = {}
    for descriptor in descriptors:
        by_slug.setdefault(descriptor.integration, []).append(descriptor)
    declared = [
        IntegrationDefinitions(
            integrations[slug],
            {descriptor.action: texts_of_descriptor(descriptor) for descriptor in some},
            {name for descriptor in some for name in (descriptor.action, descriptor.full_name)},
        )
        for slug, some in by_slug.items()
    ]
    for some, shadows in zip(
        by_slug.values(), find_shadows_of(declared, strict=False), strict=True
    ):
        findings |= {id(descriptor): shadows[descriptor.action] for descriptor in some}
    return findings
