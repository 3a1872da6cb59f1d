"""Review of definitions against the approved ones.

New and changed texts wait in a `Definition`, so that none of them enters the catalogue. Meanwhile
the approved capability is quarantined.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from acl.audit.recorder import record
from catalog.formats.descriptors import Defect, IntegrationDescriptor
from catalog.locks import lock_catalog, lock_definitions
from catalog.models import Capability, Definition, Integration
from catalog.models.integration import ReviewState
from catalog.registration.register import store_reviewed
from catalog.trust.findings import Finding, read_findings, requires_review, worst_first
from catalog.trust.fingerprint import digest_text, parse_definition
from catalog.trust.gate import Origin, UnreviewedDefinition, admit, examine
from catalog.trust.impersonation import find_namesakes, find_shadows
from catalog.trust.scanner import scan_definition
from catalog.trust.stored_definition import INTEGRATION_TEXTS, is_descriptor, read_descriptor
from catalog.trust.tool_list import (
    Offered,
    build_descriptor,
    read_offer,
    read_tool,
    reconstruct_definition,
)

Standing = Definition.Standing
GONE = "Its server does not list it any longer."


class ChangedSinceError(Exception):
    """The text changed since the admin saw it."""


class NotReadableError(Exception):
    """The text to approve cannot be stored; the message says why."""


@dataclass(slots=True)
class StoredDefinitions:
    """The outcome of storing a server's tools, by name.

    `waiting` lists all tools that need a review, including earlier ones, with their findings;
    `about` are findings about the server itself.
    """

    approved: int = 0
    unchanged: int = 0
    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    returned: list[str] = field(default_factory=list)
    waiting: dict[str, list[Finding]] = field(default_factory=dict)
    about: list[Finding] = field(default_factory=list)
    defects: list[Defect] = field(default_factory=list)

    @property
    def needs_review(self) -> bool:
        """Return True if an admin must review something first."""
        return bool(self.waiting) or requires_review(self.about)

    @property
    def told(self) -> str:
        """Return a sentence for the progress display."""
        parts = [f"{self.approved + self.unchanged} tools are stored"]
        if self.waiting:
            parts.append(f"{len(self.waiting)} wait to be looked at ({_join_first(self.waiting)})")
        parts += [one.told.rstrip(".") for one in self.about]
        if self.gone:
            parts.append(f"{len(self.gone)} are gone")
        if self.defects:
            parts.append(f"{len(self.defects)} faults were found in what it says")
        return ", ".join(parts) + "."


@transaction.atomic
def store_definitions(
    *,
    integration: Integration,
    tools: Iterable[Mapping[str, Any]],
    by: User | None,
    complete: bool = True,
) -> StoredDefinitions:
    """Compare a `tools/list` answer with the pinned definitions, and store it.

    With `by`, somebody installs: harmless tools are approved by the first installation. Without
    `by`, everything new or changed waits. `complete` means that the whole list was read, so missing
    tools are gone.
    """
    lock_definitions(integration.pk)
    report = StoredDefinitions()
    offered, report.defects = read_offer(integration, tools)
    known = _load_definitions(integration, offered)
    first = by is not None and not any(row.approved_hash for row in known.values())
    differing: dict[str, Offered] = {}
    for name, one in offered.items():
        row = known.get(name)
        if row is not None and row.approved_hash == one.digest:
            _mark_unchanged(row, report, by)
        elif row is not None and row.proposed_hash == one.digest:
            _mark_still_proposed(row)
        else:
            differing[name] = one
    accepted = _propose(integration, known, differing, report, own=set(offered), first=first)
    if complete:
        gone = [row for name, row in known.items() if name not in offered]
        _mark_gone(gone, report)
    _settle(integration, report)
    if not first:
        _record_differences(integration, report, by)
    report.approved = len(_accept(integration, accepted, by))
    if first:
        report.about = find_namesakes(integration)
    report.waiting = {row.name: _findings(row) for row in list_waiting(integration)}
    return report


def list_waiting(integration: Integration) -> QuerySet[Definition]:
    """Return the definitions that need a review."""
    rows = Definition.objects.filter(integration=integration, standing__in=Definition.WAITING)
    return rows.order_by("name", "pk")


@transaction.atomic
def approve_definitions(
    *, by: User, integration: Integration, seen: Mapping[str, str]
) -> list[str]:
    """Pin the reviewed texts and enable their capabilities; return the names.

    `seen` maps names to the digests the person saw. Raises ChangedSinceError if a text changed
    meanwhile, and NotReadableError if it cannot be stored.
    """
    lock_definitions(integration.pk)
    rows = _load_seen(integration, seen, (*Definition.WAITING, Standing.REJECTED))
    back = [row for row in rows if row.standing == Standing.RETURNED or not row.proposed]
    _restore(integration, back)
    forward = [row for row in rows if row not in back]
    _accept(integration, forward, by)
    if refused := [row for row in forward if row.problem]:
        raise NotReadableError("; ".join(f"{row.name}: {row.problem}" for row in refused))
    for row in rows:
        details = {"tool": row.name, "definition": row.approved_hash}
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


def _load_definitions(
    integration: Integration, offered: Mapping[str, Offered]
) -> dict[str, Definition]:
    """Return definitions by name, creating them for capabilities stored before pinning existed."""
    found = Definition.objects.filter(integration=integration).exclude(name="")
    rows = {row.name: row for row in found}
    unpinned = Capability.objects.filter(
        integration=integration, kind=Capability.Kind.TOOL, state=ReviewState.APPROVED
    ).exclude(action__in=list(rows))
    for capability in unpinned.order_by("pk"):
        text = _approved_text(capability, offered.get(capability.action))
        rows[capability.action] = Definition.objects.create(
            integration=integration,
            name=capability.action,
            standing=Standing.APPROVED,
            approved=text,
            approved_hash=digest_text(text),
            approved_at=timezone.now(),
        )
    return rows


def _approved_text(capability: Capability, offered: Offered | None) -> str:
    """Return the server's text if it reads as stored, otherwise a reconstructed one."""
    read = offered.descriptor if offered else None
    if offered and read and read.definition_hash == capability.definition_hash:
        return offered.text
    return reconstruct_definition(capability)


def _mark_unchanged(row: Definition, report: StoredDefinitions, by: User | None) -> None:
    """Handle a tool whose text is the approved one.

    After a different text it waits again, unless somebody has just installed this version.
    """
    if row.standing == Standing.APPROVED:
        report.unchanged += 1
        return
    if row.standing == Standing.GONE or by:
        _clear(row)
        report.unchanged += 1
    elif row.standing == Standing.RETURNED or not row.proposed:
        return  # it waits already, or an admin rejected exactly this
    else:
        row.standing = Standing.RETURNED
    report.returned.append(row.name)
    row.save()


def _mark_still_proposed(row: Definition) -> None:
    """Handle a tool whose text is waiting already."""
    if row.standing in (Standing.RETURNED, Standing.GONE):
        row.standing = Standing.CHANGED
        row.save(update_fields=["standing", "changed_at"])


def _propose(
    integration: Integration,
    known: Mapping[str, Definition],
    differing: Mapping[str, Offered],
    report: StoredDefinitions,
    *,
    own: set[str],
    first: bool,
) -> list[Definition]:
    """Store new and changed tools for review; return the ones a first installation may use."""
    shadows = find_shadows(
        integration, {name: one.definition for name, one in differing.items()}, own
    )
    accepted = []
    for name, one in differing.items():
        row = _store_proposal(integration, known.get(name), one, shadows[name])
        if row is None:
            continue
        is_new = not row.approved_hash
        (report.new if is_new else report.changed).append(name)
        if first and is_new and not requires_review(_findings(row)):
            accepted.append(row)
    return accepted


def _store_proposal(
    integration: Integration, row: Definition | None, offered: Offered, shadows: list[Finding]
) -> Definition | None:
    """Store a proposed text; return None for an unreadable tool that nobody has."""
    if offered.descriptor is None and (row is None or not row.approved_hash):
        return None
    row = row or Definition(integration=integration, name=offered.name)
    row.standing = Standing.CHANGED if row.approved_hash else Standing.NEW
    row.proposed, row.proposed_hash = offered.text, offered.digest
    row.origin, row.source = Definition.Origin.SERVER, ""
    row.findings = [finding.as_json() for finding in _examine(offered, shadows)]
    faults = "; ".join(f"{one.field} {one.reason}" for one in offered.defects)
    row.problem = "" if offered.descriptor else faults[:500]
    row.save()
    return row


def _examine(offered: Offered, shadows: list[Finding]) -> list[Finding]:
    noticed = [*offered.findings, *shadows]
    if offered.descriptor is None:
        return worst_first([*noticed, *scan_definition(offered.definition)])
    return examine(
        UnreviewedDefinition(offered.descriptor, Origin.SERVER, offered.definition, noticed)
    )


def _mark_gone(rows: Iterable[Definition], report: StoredDefinitions) -> None:
    """Mark approved tools as gone, so that they can return, and delete the others."""
    for row in rows:
        if row.origin != Definition.Origin.SERVER:
            continue  # declared by another source; the server need not list it
        if not row.approved_hash:
            row.delete()
        elif row.standing == Standing.APPROVED:
            row.standing = Standing.GONE
            row.save(update_fields=["standing", "changed_at"])
            report.gone.append(row.name)


def _settle(integration: Integration, report: StoredDefinitions) -> None:
    """Quarantine capabilities whose definitions differ, and re-enable returned ones."""
    rows = Definition.objects.filter(integration=integration)
    rows = rows.exclude(approved_hash="").exclude(name="")
    standing: dict[str, list[str]] = {}
    for name, stands in rows.values_list("name", "standing"):
        standing.setdefault(stands, []).append(name)
    kept_out = (*Definition.WAITING, Standing.REJECTED)
    out = [name for each in kept_out for name in standing.get(each, [])]
    tools = Capability.objects.filter(integration=integration)
    quarantined = tools.filter(action__in=out).exclude(state=ReviewState.QUARANTINED)
    gone = tools.filter(action__in=standing.get(Standing.GONE, []), available=True)
    if quarantined.exists() or gone.exists():
        lock_catalog()
        quarantined.update(state=ReviewState.QUARANTINED)
        gone.update(available=False, unavailable_reason=GONE)
    if report.returned:
        back = [name for name in report.returned if name in standing.get(Standing.APPROVED, [])]
        _enable(integration, back)


def _record_differences(
    integration: Integration, report: StoredDefinitions, by: User | None
) -> None:
    kinds = ("new", "changed", "gone", "returned")
    details = {kind: names[:50] for kind in kinds if (names := getattr(report, kind))}
    if details:
        record(by=by, action="definition.differs", target=integration.slug, details=details)


def _accept(
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
    _enable(integration, [row.name for row in taken])
    return taken


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


def _pin(row: Definition, by: User | None) -> None:
    row.approved, row.approved_hash = row.proposed, row.proposed_hash
    row.approved_by, row.approved_at = by, timezone.now()
    row.standing = Standing.APPROVED
    row.proposed = row.proposed_hash = row.problem = ""


def _clear(row: Definition) -> None:
    row.standing, row.findings = Standing.APPROVED, []
    row.proposed = row.proposed_hash = row.problem = ""


def _restore(integration: Integration, rows: Sequence[Definition]) -> None:
    for row in rows:
        _clear(row)
        row.save()
    _enable(integration, [row.name for row in rows])


def _enable(integration: Integration, names: Sequence[str]) -> None:
    """Approve and enable these capabilities."""
    if names:
        lock_catalog()
        Capability.objects.filter(integration=integration, action__in=names).update(
            state=ReviewState.APPROVED, available=True, unavailable_reason=""
        )


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


def _findings(row: Definition) -> list[Finding]:
    return read_findings(row.findings)


def _join_first(names: Iterable[str]) -> str:
    first = [name or "its own description" for name in names]
    return ", ".join(first[:5]) + (" …" if len(first) > 5 else "")
