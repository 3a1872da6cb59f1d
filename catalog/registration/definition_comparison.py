"""Comparison of a server's definitions with the approved ones.

New and changed texts wait in a `Definition`, so that none of them enters the catalogue. Meanwhile
the approved capability is quarantined.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import chain
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_noop

from acl.audit.recorder import record
from acl.models import AuditEntry
from catalog.formats.descriptors import ToolDefect
from catalog.locks import lock_catalog, lock_definitions
from catalog.models import Capability, Definition, Integration, Sync
from catalog.models.integration import ReviewState
from catalog.registration._derived_columns import restore_order
from catalog.registration.definition_review import (
    accept_definitions,
    clear_proposal,
    enable_capabilities,
    list_waiting,
)
from catalog.registration.tool_renames import find_renames, without_renames
from catalog.trust.findings import Finding, read_findings, requires_review, worst_first
from catalog.trust.gate import Origin, UnreviewedDefinition, examine
from catalog.trust.impersonation import find_namesakes, find_shadows
from catalog.trust.scanner import scan_definition
from catalog.trust.tool_list import (
    Offered,
    digest_definition,
    parse_definition,
    read_offer,
    reconstruct_definition,
)

Standing = Definition.Standing
MOST_DEFECTS = 200
GONE = gettext_noop("The server no longer lists this tool.")


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
    defects: list[ToolDefect] = field(default_factory=list)

    @property
    def needs_review(self) -> bool:
        """Return True if an admin must review something first."""
        return bool(self.waiting) or requires_review(self.about)

    @property
    def summary(self) -> str:
        """Return an English sentence for the stored progress."""
        stored, waiting = self.approved + self.unchanged, len(self.waiting)
        parts = [f"{_count(stored, 'tool')} stored"]
        if waiting:
            parts.append(f"{waiting} awaiting review ({_join_first(self.waiting)})")
        parts += [finding.told.rstrip(".") for finding in self.about]
        if self.gone:
            parts.append(f"{len(self.gone)} no longer listed")
        if self.defects:
            parts.append(f"{_count(len(self.defects), 'defect')} found ({self._first_defects})")
        return ", ".join(parts) + "."

    @property
    def _first_defects(self) -> str:
        first = "; ".join(f"{defect.field} {defect.reason}"[:120] for defect in self.defects[:2])
        return first + (" …" if len(self.defects) > 2 else "")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


DIFFERENCES = ("new", "changed", "gone", "returned")
_DIFFERS = "definition.differs"
_MERGED = timedelta(hours=1)  # differences that were told already are told again after this time


@transaction.atomic
def store_definitions(
    *,
    integration: Integration,
    tools: Iterable[Mapping[str, Any]],
    by: User | None,
    complete: bool = True,
    defects: Sequence[ToolDefect] = (),
) -> StoredDefinitions:
    """Compare a `tools/list` answer with the pinned definitions, and store it.

    With `by`, someone installs: harmless tools are approved by the first installation. Without
    `by`, everything new or changed waits. `complete` means that the whole list was read, so missing
    tools are gone. `defects` are those that were found when the list was read.
    """
    lock_definitions(integration.pk)
    report = StoredDefinitions()
    offered, of_tools = read_offer(integration, tools)
    report.defects = [*defects, *of_tools]
    stored = [defect.as_json() for defect in report.defects[:MOST_DEFECTS]]
    if integration.list_defects != stored:
        integration.list_defects = stored
        integration.save(update_fields=["list_defects"])
    rows = _load_definitions(integration, offered)
    first = by is not None and not any(row.approved_hash for row in rows.values())
    differing: dict[str, Offered] = {}
    unordered: list[tuple[Definition, Offered]] = []
    for name, offer in offered.items():
        row = rows.get(name)
        if row is not None and row.approved_hash == offer.digest:
            _mark_unchanged(row, report, by)
            if row.approved != offer.text and row.approved == offer.canonical_text:
                unordered.append((row, offer))
        elif row is not None and row.proposed_hash == offer.digest:
            # The text of the tool is waiting for a review already.
            if row.standing in (Standing.RETURNED, Standing.GONE):
                row.standing = Standing.CHANGED
                row.save(update_fields=["standing", "changed_at"])
        else:
            differing[name] = offer
    _restore_order(unordered)
    accepted = _propose(integration, rows, differing, report, own_names=set(offered), first=first)
    if complete:
        gone = [row for name, row in rows.items() if name not in offered]
        _mark_gone(gone, report)
        renamed = _note_renames(integration, offered)
        accepted = [row for row in accepted if row.name not in renamed]
    _settle(integration, report)
    if not first:
        _record_differences(integration, report, by)
    report.approved = len(accept_definitions(integration, accepted, by))
    if first:
        report.about = find_namesakes(integration)
    report.waiting = {row.name: _findings(row) for row in list_waiting(integration)}
    return report


def _load_definitions(
    integration: Integration, offered: Mapping[str, Offered]
) -> dict[str, Definition]:
    """Return definitions by name, creating them for capabilities stored before pinning existed."""
    definitions = Definition.objects.filter(integration=integration).exclude(name="")
    rows = {row.name: row for row in definitions}
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
            approved_hash=digest_definition(parse_definition(text)),
            approved_at=timezone.now(),
        )
    return rows


def _approved_text(capability: Capability, offered: Offered | None) -> str:
    """Return the server's text if it reads as stored, otherwise a reconstructed one."""
    descriptor = offered.descriptor if offered else None
    if offered and descriptor and descriptor.definition_hash == capability.definition_hash:
        return offered.text
    return reconstruct_definition(capability)


def _mark_unchanged(row: Definition, report: StoredDefinitions, by: User | None) -> None:
    """Handle a tool whose text is the approved one.

    After a different text it waits again, unless someone has just installed this version.
    """
    if row.standing == Standing.APPROVED:
        report.unchanged += 1
        return
    if row.standing == Standing.GONE or by:
        clear_proposal(row)
        report.unchanged += 1
    elif row.standing == Standing.RETURNED or not row.proposed:
        return  # it waits already, or an admin rejected exactly this
    else:
        row.standing = Standing.RETURNED
    report.returned.append(row.name)
    row.save()


def _restore_order(rows: Sequence[tuple[Definition, Offered]]) -> None:
    """Give texts that an earlier release stored with sorted keys the server's order.

    Once only, since some servers list their parameters in another order each time.
    """
    for row, offered in rows:
        row.approved = offered.text
        row.save(update_fields=["approved"])
    restore_order(offer.descriptor for _, offer in rows if offer.descriptor)


def _propose(
    integration: Integration,
    rows: Mapping[str, Definition],
    differing: Mapping[str, Offered],
    report: StoredDefinitions,
    *,
    own_names: set[str],
    first: bool,
) -> list[Definition]:
    """Store new and changed tools for review; return the ones a first installation may use."""
    shadows = find_shadows(
        integration, {name: offer.definition for name, offer in differing.items()}, own_names
    )
    accepted = []
    for name, offer in differing.items():
        row = _store_proposal(integration, rows.get(name), offer, shadows[name])
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
    faults = "; ".join(f"{defect.field} {defect.reason}" for defect in offered.defects)
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


def _note_renames(integration: Integration, offered: Mapping[str, Offered]) -> set[str]:
    """Say of each waiting text which tool has it under another name; return the names."""
    rows = {row.name: row for row in list_waiting(integration) if row.name and row.proposed}
    texts = {name: parse_definition(row.proposed) for name, row in rows.items()}
    renames = find_renames(integration, texts, listed=offered)
    for name, row in rows.items():
        before = read_findings(row.findings)
        noticed = [renames[name]] if name in renames else []
        if (after := worst_first([*noticed, *without_renames(before)])) != before:
            row.findings = [finding.as_json() for finding in after]
            row.save(update_fields=["findings", "changed_at"])
    return set(renames)


def _settle(integration: Integration, report: StoredDefinitions) -> None:
    """Quarantine capabilities whose definitions differ, and re-enable returned ones."""
    rows = Definition.objects.filter(integration=integration)
    rows = rows.exclude(approved_hash="").exclude(name="")
    standing: dict[str, list[str]] = {}
    for name, stands in rows.values_list("name", "standing"):
        standing.setdefault(stands, []).append(name)
    kept_out = (*Definition.WAITING, Standing.REJECTED)
    out = [name for state in kept_out for name in standing.get(state, [])]
    tools = Capability.objects.filter(integration=integration)
    quarantined = tools.filter(action__in=out).exclude(state=ReviewState.QUARANTINED)
    gone = tools.filter(action__in=standing.get(Standing.GONE, []), available=True)
    if quarantined.exists() or gone.exists():
        lock_catalog()
        quarantined.update(state=ReviewState.QUARANTINED)
        gone.update(available=False, unavailable_reason=GONE)
    if report.returned:
        back = [name for name in report.returned if name in standing.get(Standing.APPROVED, [])]
        enable_capabilities(integration, back)


def _record_differences(
    integration: Integration, report: StoredDefinitions, by: User | None
) -> None:
    """Record what differs. Of a list that goes on changing, one entry an hour sums up the rest.

    What an entry of the last hour has not told is recorded at once; its repetitions are `times` of
    the next entry. What a person asked for is never merged.
    """
    names = {kind: getattr(report, kind) for kind in DIFFERENCES}
    if by is not None:
        if any(names.values()):
            _record(integration, names, by)
        return
    entries = AuditEntry.objects.filter(action=_DIFFERS, target=integration.slug, by=None)
    last = entries.order_by("-id").first()
    since = timezone.now() - _MERGED
    told = {
        (kind, name)
        for entry in entries.filter(at__gt=since)
        for kind in DIFFERENCES
        for name in entry.details.get(kind, [])
    }
    repeated = _repeated(integration, last)
    is_news = any((kind, name) not in told for kind in DIFFERENCES for name in names[kind])
    is_due = last is not None and last.at <= since and bool(repeated)
    if not is_news and not is_due:
        return
    merged = {
        kind: list(dict.fromkeys([*names[kind], *chain(*(getattr(one, kind) for one in repeated))]))
        for kind in DIFFERENCES
    }
    details: dict[str, Any] = {"times": len(repeated) + 1} if repeated else {}
    if not any(names.values()):
        details = {"times": len(repeated), "summed_up": True}
    _record(integration, merged, by, details)


def _repeated(integration: Integration, last: AuditEntry | None) -> list[Sync]:
    """Return the syncs with differences that no entry has counted: those after the last one's."""
    if last is None:
        return []
    after = integration.syncs.filter(synced_at__gt=last.at).order_by("pk")
    syncs = [sync for sync in after if sync.found_something]
    return syncs if last.details.get("summed_up") else syncs[1:]


def _record(
    integration: Integration,
    names: Mapping[str, list[str]],
    by: User | None,
    details: Mapping[str, Any] | None = None,
) -> None:
    listed = {kind: found[:50] for kind, found in names.items() if found}
    record(by=by, action=_DIFFERS, target=integration.slug, details={**listed, **(details or {})})


def _findings(row: Definition) -> list[Finding]:
    return read_findings(row.findings)


def _join_first(names: Iterable[str]) -> str:
    first = [name or "its own description" for name in names]
    return ", ".join(first[:5]) + (" …" if len(first) > 5 else "")
