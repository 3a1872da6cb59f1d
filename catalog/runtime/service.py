"""Creating, replacing and retiring capabilities at runtime.

Each group has an integration for each kind, restricted and granted to this group only. So rights,
readiness, selection and holders treat these capabilities like all others.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from acl.audit.recorder import record
from acl.platform.answer_model import HIDDEN, Answer, FieldRefused, Shown
from acl.platform.database_work import database_now
from acl.rights.caller_lookup import Caller
from catalog.capabilities.runtime_state import (
    IS_OVER,
    LIVE,
    NOT_OVER,
    State,
    expire,
    is_shared,
    move,
    retire,
)
from catalog.formats.descriptors import Descriptor, IntegrationDescriptor, IntegrationKind, Loaded
from catalog.formats.entry import Document
from catalog.formats.files import DEFAULT_LIMITS, Limits, RefusedError
from catalog.formats.readers.manifest import read_manifest
from catalog.locks import lock_catalog
from catalog.models import Capability, Definition, Integration, RuntimeCapability
from catalog.registration.register import register
from catalog.trust.findings import Finding, read_findings
from catalog.trust.gate import Origin

RUNTIME_KINDS = ("voice", "skill", "emergent-tool")
MOST_PER_GROUP = 500
USUAL_LIFE = timedelta(days=30)
# Fields of a request, as the reader of manifests calls them in its defects.
_FIELDS = {
    "displayName": "display_name",
    "inputSchema": "input_schema",
    "requiredTools": "required_tools",
    "hasSideEffects": "has_side_effects",
}


@dataclass(frozen=True, slots=True)
class _Place:
    """The integration of a group's capabilities of one kind."""

    suffix: str
    kind: IntegrationKind
    title: str


_PLACES = {
    "skill": _Place("skills", "skill", "Skills"),
    "voice": _Place("voices", "voice", "Voice providers"),
    # `builtin` is for what Pegboard itself answers.
    "emergent-tool": _Place("tools", "extension", "Tools"),
}


class RefusedDefinitionError(FieldRefused):
    """A field of the definition is not valid."""


class ConflictError(Exception):
    """The name is taken, the group has too many, or others use the capability."""


@dataclass(frozen=True, slots=True)
class Maker:
    """Owner and group of a capability to create, and the key that asks."""

    owner: User
    group: Group
    key_id: int | None


@transaction.atomic
def create_capability(
    *, maker: Maker, kind: str, name: str, fields: Mapping[str, Any], expires_at: datetime | None
) -> RuntimeCapability:
    """Store a new capability of the group as far as it passes the gate."""
    loaded = _read(maker.group, kind, {**fields, "kind": kind, "name": name})
    descriptor = loaded.capabilities[0]
    namesakes = RuntimeCapability.objects.filter(full_name=descriptor.full_name)
    # Before the catalogue write lock: `retire` takes the lock on definitions, which comes first.
    for over in namesakes.filter(IS_OVER, state__in=LIVE):
        expire(over)
    lock_catalog()
    if (row := namesakes.first()) is not None:
        # Raise ConflictError unless the row was retired and its name may be used again.
        if row.state != State.RETIRED:
            raise ConflictError("Your group has a capability of this name: choose another.")
        if row.withdrawn:
            raise ConflictError("An admin retired the capability of this name: choose another.")
        if is_shared(row):
            raise ConflictError("Rights of other groups name this capability: choose another name.")
    if (
        RuntimeCapability.objects.filter(group=maker.group, state__in=LIVE).count()
        >= MOST_PER_GROUP
    ):
        raise ConflictError(f"The group has {MOST_PER_GROUP} of them: retire some first.")
    integration = _register(maker.owner, maker.group, loaded)
    row, _ = RuntimeCapability.objects.update_or_create(
        full_name=descriptor.full_name,
        defaults={
            "integration": integration,
            "name": descriptor.action,
            "group": maker.group,
            "owner": maker.owner,
            "key_id": maker.key_id,
            "state": State.PROPOSED,
            "expires_at": expires_at or database_now() + USUAL_LIFE,
        },
    )
    _record("capability.propose", maker.owner, row, descriptor)
    return row


@transaction.atomic
def replace_capability(
    *,
    owner: int,
    groups: tuple[int, ...],
    full_name: str,
    fields: Mapping[str, Any],
    expires_at: datetime | None,
) -> RuntimeCapability:
    """Replace the definition of one's own capability; the same one again changes nothing.

    A new definition is proposed again. One that others use cannot be replaced: they were given
    the approved text.
    """
    lock_catalog()
    own_rows = _usable_own(owner, groups)
    row = own_rows.select_for_update(of=("self",)).get(full_name=full_name)
    kind = kind_of(row.integration)
    loaded = _read(row.group, kind, {**fields, "kind": kind, "name": row.name})
    descriptor = loaded.capabilities[0]
    end = row.expires_at if row.expires_at is None else expires_at or row.expires_at
    if _is_stored(row, descriptor):
        if end == row.expires_at:
            return row
        RuntimeCapability.objects.filter(pk=row.pk).update(expires_at=end, changed_at=Now())
    else:
        if row.state == State.PROMOTED or is_shared(row):
            raise ConflictError(
                "Others use it as it was approved: create one of another name, or ask an admin to"
                " retire this one."
            )
        _register(row.owner, row.group, loaded)
        move(row, State.PROPOSED, expires_at=end)
    _record("capability.replace", row.owner, row, descriptor)
    row.refresh_from_db()
    return row


@transaction.atomic
def retire_capability(*, owner: int, groups: tuple[int, ...], full_name: str) -> None:
    """Retire one's own capability."""
    # Not locked: `retire` takes the lock on definitions first, and compares.
    row = _usable_own(owner, groups).get(full_name=full_name)
    if not retire(by=row.owner, row=row):
        raise RuntimeCapability.DoesNotExist


def _usable_own(owner: int, groups: tuple[int, ...]) -> QuerySet[RuntimeCapability]:
    rows = RuntimeCapability.objects.select_related("integration", "group", "owner")
    return rows.filter(NOT_OVER, owner=owner, group__in=groups, state__in=LIVE)


def _read(group: Group, kind: str, fields: Mapping[str, Any]) -> Loaded:
    """Read a definition into the group's integration. Any defect refuses it."""
    place = _PLACES[kind]
    slug = f"team{group.pk}-{place.suffix}"
    loaded = normalize_runtime(dict(fields), integration=slug)
    for defect in loaded.defects:
        raise RefusedDefinitionError(_FIELDS.get(defect.field, defect.field), defect.reason)
    described = IntegrationDescriptor(
        slug=slug,
        kind=place.kind,
        title=f"{place.title} of {group.name}"[:200],
        description="Made at runtime by members of the group.",
        source_ref={"format": "runtime", "group": group.pk},
    )
    return replace(loaded, integrations=(described,))


def _register(by: User | None, group: Group, loaded: Loaded) -> Integration:
    """Pass the definition through the gate; return its integration."""
    described = loaded.integrations[0]
    is_new = not Integration.objects.filter(slug=described.slug).exists()
    report = register(
        loaded,
        by=by,
        source=described.slug,
        origin=Origin.RUNTIME,
        came_from=f"runtime:{group.pk}",
        # Later an admin may have revoked this grant: only a new integration gets it.
        group=group if is_new else None,
    )
    for defect in report.defects:
        # What is held for review is stored as proposed; everything else was left out.
        if defect.field != "review":
            raise RefusedDefinitionError(_FIELDS.get(defect.field, defect.field), defect.reason)
    integration = Integration.objects.get(slug=described.slug)
    if is_new:
        # In the same transaction: open groups never see it.
        Integration.objects.filter(pk=integration.pk).update(restricted=True)
    return integration


def _is_stored(row: RuntimeCapability, descriptor: Descriptor) -> bool:
    """Return True if the last definition sent is this one, in use or waiting or rejected."""
    at = Q(integration=row.integration_id)
    pending = (*Definition.WAITING, Definition.Standing.REJECTED)
    waiting = Definition.objects.filter(at, name=row.name, standing__in=pending).first()
    if waiting is not None:
        return waiting.proposed_hash == descriptor.definition_hash
    stored = Capability.objects.filter(at, identifier=descriptor.identifier, available=True)
    return stored.filter(definition_hash=descriptor.definition_hash).exists()


def kind_of(integration: Integration) -> str:
    """Return the kind of the runtime capabilities in this integration."""
    return next(kind for kind, place in _PLACES.items() if place.kind == integration.kind)


def _record(action: str, by: User | None, row: RuntimeCapability, descriptor: Descriptor) -> None:
    details = {"group": row.group.name, "definition": descriptor.definition_hash}
    record(by=by, action=action, target=row.full_name, details=details, groups=[row.group_id])


# Runtime capabilities as their owners and admins see them, with status and review.

STATUSES = (*RuntimeCapability.State.values, "expired")
# Over for good; the owner may make a new one of the name.
ENDED = ("retired", "expired")
ReviewStatus = Literal["", "waiting", "rejected"]


@dataclass(frozen=True, slots=True)
class RuntimeEntry(Answer):
    """A runtime capability, its state and its review."""

    component = "RuntimeCapability"

    row: Annotated[RuntimeCapability, HIDDEN]
    full_name: str
    kind: Annotated[str, Shown(choices=RUNTIME_KINDS)]
    status: Annotated[str, Shown(name="state", choices=STATUSES)]
    owner: Annotated[str, Shown("Empty if the person was deleted.")]
    group: str
    definition: Annotated[
        str, Shown("Digest of the definition in use; empty while it waits for a review.")
    ]
    review: Annotated[
        ReviewStatus,
        Shown(
            "Of the definition that was sent last: empty if it passed.",
            choices=("", "waiting", "rejected"),
        ),
    ]
    findings: Annotated[list[Finding], Shown("Why it needs a review.")]
    created_at: datetime
    expires_at: Annotated[datetime | None, Shown("Null once promoted.")]
    capability: Annotated[Capability | None, HIDDEN]

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
    listed = list(rows)
    capabilities = _capabilities(listed)
    definitions = _pending(listed)
    return [
        _entry(
            row,
            capabilities.get((row.integration_id, row.name)),
            definitions.get((row.integration_id, row.name)),
        )
        for row in listed
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
    capabilities = Capability.objects.filter(
        integration__in={row.integration_id for row in rows}, action__in={row.name for row in rows}
    )
    return {
        (capability.integration_id, capability.action): capability for capability in capabilities
    }


def _pending(rows: list[RuntimeCapability]) -> dict[tuple[int, str], Definition]:
    definitions = Definition.objects.filter(
        integration__in={row.integration_id for row in rows},
        name__in={row.name for row in rows},
        standing__in=(*Definition.WAITING, Definition.Standing.REJECTED),
    )
    return {(definition.integration_id, definition.name): definition for definition in definitions}


# Reading a body.


def normalize_runtime(
    value: Any, *, integration: str | None = None, limits: Limits = DEFAULT_LIMITS
) -> Loaded:
    """Read one capability from a request body: the fields of a manifest plus `content`.

    A result without a capability means that the body was refused; its defects name the fields.
    """
    document = Document(file="request", value=value, limits=limits)
    try:
        entry = document.entry(value)
        if entry.raw("kind") is not None and entry.name("kind") not in RUNTIME_KINDS:
            raise RefusedError(f"must be one of {', '.join(RUNTIME_KINDS)}", "kind")
        declared = read_manifest(entry, integration=integration)
    except RefusedError as refused:
        document.report(refused.field, refused.reason)
        return Loaded(defects=tuple(document.defects))
    return Loaded((declared.integration,), (declared.capability,), tuple(document.defects))
