"""Runtime capabilities as their owners and admins see them, with status and review."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from django.db.models import Q, QuerySet

from acl.rights.caller import Caller
from catalog.models import Capability, Definition, RuntimeCapability
from catalog.runtime.runtime_capabilities import kind_of
from catalog.trust.findings import Finding, read_findings

STATUSES = (*RuntimeCapability.State.values, "expired")
# Over for good; the owner may make a new one of the name.
ENDED = ("retired", "expired")
ReviewStatus = Literal["", "waiting", "rejected"]


@dataclass(frozen=True, slots=True)
class RuntimeEntry:
    """A runtime capability with its definition's review. `definition` is the digest of the text
    in use; "" while it waits for its first review."""

    row: RuntimeCapability
    full_name: str
    kind: str
    status: str
    owner: str
    group: str
    definition: str
    review: ReviewStatus
    findings: list[Finding]
    created_at: datetime
    expires_at: datetime | None
    capability: Capability | None

    @property
    def can_be_approved(self) -> bool:
        """Return True if its definition is in use and not yet approved as a runtime capability."""
        return self.status in {"proposed", "tried"} and bool(self.definition) and not self.review

    @property
    def can_be_promoted(self) -> bool:
        """Return True if further groups can get it."""
        return self.status in {"approved", "promoted"}

    @property
    def has_ended(self) -> bool:
        """Return True if nobody can use it any more."""
        return self.status in ENDED


def list_all() -> QuerySet[RuntimeCapability]:
    """Return all runtime capabilities, for admins."""
    rows = RuntimeCapability.objects.select_related("integration", "group", "owner")
    return rows.with_status().order_by("full_name", "pk")


def list_own(*, owner: int, groups: tuple[int, ...]) -> QuerySet[RuntimeCapability]:
    """Return what this owner made in these groups."""
    return list_all().filter(owner=owner, group__in=groups)


def list_visible(caller: Caller) -> QuerySet[RuntimeCapability]:
    """Return what the caller's group made: their own, and what they may use of the others'."""
    usable = Capability.objects.usable_by(caller, unavailable=True).values("full_name")
    theirs = list_all().filter(group=caller.group_id)
    return theirs.filter(Q(owner=caller.user_id) | Q(full_name__in=usable))


def read_entries(rows: Iterable[RuntimeCapability]) -> list[RuntimeEntry]:
    """Return the entries of rows with a status, with two statements for all of them."""
    found = list(rows)
    capabilities = _capabilities(found)
    definitions = _pending(found)
    return [
        _entry(
            row,
            capabilities.get((row.integration_id, row.name)),
            definitions.get((row.integration_id, row.name)),
        )
        for row in found
    ]


def read_entry(row: RuntimeCapability) -> RuntimeEntry:
    """Return the entry of a row as it is stored now."""
    return read_entries([list_all().get(pk=row.pk)])[0]


def _entry(
    row: RuntimeCapability, capability: Capability | None, pending: Definition | None
) -> RuntimeEntry:
    in_use = capability is not None and capability.state == "approved"
    return RuntimeEntry(
        row=row,
        full_name=row.full_name,
        kind=kind_of(row.integration),
        status=row.status,  # type: ignore[attr-defined]
        owner=row.owner.username if row.owner else "",
        group=row.group.name,
        definition=capability.definition_hash if capability and in_use else "",
        review=_review(pending),
        findings=read_findings(pending.findings) if pending else [],
        created_at=row.created_at,
        expires_at=row.expires_at,
        capability=capability,
    )


def _review(pending: Definition | None) -> ReviewStatus:
    if pending is None:
        return ""
    return "rejected" if pending.standing == Definition.Standing.REJECTED else "waiting"


def _capabilities(rows: list[RuntimeCapability]) -> dict[tuple[int, str], Capability]:
    found = Capability.objects.filter(
        integration__in={row.integration_id for row in rows}, action__in={row.name for row in rows}
    )
    return {(one.integration_id, one.action): one for one in found}


def _pending(rows: list[RuntimeCapability]) -> dict[tuple[int, str], Definition]:
    found = Definition.objects.filter(
        integration__in={row.integration_id for row in rows},
        name__in={row.name for row in rows},
        standing__in=(*Definition.WAITING, Definition.Standing.REJECTED),
    )
    return {(one.integration_id, one.name): one for one in found}
