"""Registration of a source: integrations, capabilities and pending embeddings.

Unchanged rows are not written. A capability, its words, its pending embedding and the catalogue's
version are written in one transaction; the queue is notified after it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.contrib.auth.models import Group, User
from django.db import DataError, IntegrityError, connection, transaction

from acl.audit.recorder import record
from catalog.access.grants import grant_integrations
from catalog.embedding.jobs import chunks, send_embeddings
from catalog.formats.descriptors import Defect, Descriptor, Loaded
from catalog.locks import lock_catalog
from catalog.models import Capability, EmbeddingModel, Integration
from catalog.models.integration import ReviewState
from catalog.registration._derived_columns import restore_order
from catalog.registration.admission import (
    hold,
    hold_integrations,
    review_descriptors,
    review_integrations,
    settle,
)
from catalog.registration.catalog_rebuild import assign_categories
from catalog.registration.descriptor_rows import file_of, store_capabilities, store_integrations
from catalog.registration.embedding_models import register_configured_model
from catalog.trust.gate import (
    HeldDefinition,
    Origin,
    ReviewedDefinition,
    admit_for_measuring,
    admit_integrations_for_measuring,
)

Progress = Callable[[int, int], None]
STORE_BATCH = 500


@dataclass(slots=True)
class RegistrationReport:
    """Counts of stored capabilities, and the defects.

    `held` lists capabilities waiting for a review, `unconfirmed` the integrations not confirmed
    yet.
    """

    created: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    integrations: int = 0
    granted: int = 0
    held: list[str] = field(default_factory=list)
    unconfirmed: list[str] = field(default_factory=list)
    defects: list[Defect] = field(default_factory=list)

    @property
    def loaded(self) -> int:
        """Return the number of capabilities stored or waiting for a review."""
        return self.created + self.changed + self.unchanged + len(self.held)


def register(
    loaded: Loaded,
    *,
    by: User | None,
    source: str,
    origin: Origin = Origin.IMPORT,
    came_from: str = "",
    group: Group | None = None,
    state: str = ReviewState.APPROVED,
    prune: bool = False,
    send: bool = True,
    progress: Progress | None = None,
) -> RegistrationReport:
    """Store a source's entries as far as they pass the gate, and grant them to `group`.

    Held entries wait for an admin, and none of their text enters the catalogue. `came_from` names
    the source if `source`, which the audit log shows, is not exact enough. `state` is for new
    entries. `prune` deletes what the integrations no longer have. Without `send`, the caller
    embeds.
    """
    report = RegistrationReport(defects=list(loaded.defects))
    if not EmbeddingModel.objects.exists():
        register_configured_model()
    terms = _Terms(by, origin, state, send)
    integrations = _store_integrations(loaded, report, terms, group, came_from or source)
    capabilities = [
        descriptor for descriptor in loaded.capabilities if descriptor.integration in integrations
    ]
    if prune:
        _prune(integrations, capabilities, report)
    done = 0
    for some in chunks(capabilities, STORE_BATCH):
        _store_or_split(some, integrations, report, terms)
        done += len(some)
        if progress:
            progress(done, len(capabilities))
    _categorize(integrations, report)
    _finish(report, by=by, source=source)
    return report


@transaction.atomic
def store_reviewed(
    reviewed: Sequence[ReviewedDefinition], *, integration: Integration, by: User | None
) -> RegistrationReport:
    """Store reviewed definitions of one integration."""
    if not EmbeddingModel.objects.exists():
        register_configured_model()
    report = RegistrationReport()
    terms = _Terms(by, Origin.SERVER, ReviewState.APPROVED, send=True)
    integrations = {integration.slug: integration}
    for definition in reviewed:
        try:
            with transaction.atomic():
                _store([definition], integrations, report, terms)
        except (DataError, IntegrityError, ValueError) as problem:
            report.defects.append(_rejected_defect(definition.descriptor, problem))
    _categorize(integrations, report)
    _finish(report, by=by, source=integration.slug)
    return report


def register_for_measuring(loaded: Loaded, *, group: Group) -> RegistrationReport:
    """Store everything in a scratch catalogue without a review: nobody reads it."""
    register_configured_model()
    report = RegistrationReport(defects=list(loaded.defects))
    terms = _Terms(None, Origin.IMPORT, ReviewState.APPROVED, send=False)
    integrations = _store_integrations(loaded, report, terms, group, "measuring", measuring=True)
    accepted = [
        descriptor for descriptor in loaded.capabilities if descriptor.integration in integrations
    ]
    for some in chunks(accepted, STORE_BATCH):
        with transaction.atomic():
            lock_catalog()
            _store(admit_for_measuring(some), integrations, report, terms)
    _categorize(integrations, report)
    _finish(report, by=None, source="measuring")
    return report


@dataclass(frozen=True, slots=True)
class _Terms:
    """The terms of a registration: actor, origin, state of new entries, and embedding at once."""

    by: User | None
    origin: Origin
    state: str
    send: bool


@transaction.atomic
def _store_integrations(
    loaded: Loaded,
    report: RegistrationReport,
    terms: _Terms,
    group: Group | None,
    came_from: str,
    *,
    measuring: bool = False,
) -> dict[str, Integration]:
    lock_catalog()
    if measuring:
        reviewed = admit_integrations_for_measuring(loaded.integrations)
    else:
        reviewed = review_integrations(loaded.integrations)
    integrations, stored = store_integrations(reviewed, state=terms.state, came_from=came_from)
    report.defects += stored.defects
    _leave_out_foreign(loaded, integrations, stored.foreign, report)
    if not measuring:
        report.held += hold_integrations(loaded.integrations, integrations, origin=terms.origin)
    report.integrations = len(integrations)
    report.unconfirmed = sorted(slug for slug, row in integrations.items() if row.unconfirmed)
    if group:
        granted = integrations.values()
        report.granted = grant_integrations(integrations=granted, group=group, by=terms.by)
    return integrations


def _leave_out_foreign(
    loaded: Loaded,
    integrations: dict[str, Integration],
    foreign: Mapping[str, Defect],
    report: RegistrationReport,
) -> None:
    """Accept only unchanged capabilities for other sources' integrations."""
    if not foreign:
        return
    rows = Capability.objects.filter(integration__slug__in=foreign)
    hashes = set(rows.values_list("integration__slug", "identifier", "definition_hash"))
    for slug, defect in foreign.items():
        descriptors = [
            descriptor for descriptor in loaded.capabilities if descriptor.integration == slug
        ]
        if any(
            (slug, descriptor.identifier, descriptor.definition_hash) not in hashes
            for descriptor in descriptors
        ):
            report.defects.append(defect)
        else:
            report.unchanged += len(descriptors)
        del integrations[slug]


def _store_or_split(
    descriptors: Sequence[Descriptor],
    integrations: dict[str, Integration],
    report: RegistrationReport,
    terms: _Terms,
) -> None:
    """Store a batch; if the database rejects a value, store its halves, so that only it is lost."""
    try:
        _review_and_store(descriptors, integrations, report, terms)
    except (DataError, IntegrityError, ValueError) as problem:
        if len(descriptors) == 1:
            report.defects.append(_rejected_defect(descriptors[0], problem))
            return
        for half in chunks(descriptors, (len(descriptors) + 1) // 2):
            _store_or_split(half, integrations, report, terms)


def _held_defect(held: HeldDefinition) -> Defect:
    first = next(iter(held.findings), None)
    detail = f": {first.where} {first.told[0].lower()}{first.told[1:]}" if first else ""
    name = held.descriptor.full_name
    return Defect(file_of(held.descriptor), "review", f"{name} waits for a review{detail}")


def _rejected_defect(descriptor: Descriptor, problem: Exception) -> Defect:
    return Defect(file_of(descriptor), "definition", str(problem).splitlines()[0])


@transaction.atomic
def _review_and_store(
    descriptors: Sequence[Descriptor],
    integrations: dict[str, Integration],
    report: RegistrationReport,
    terms: _Terms,
) -> None:
    lock_catalog()
    verdict = review_descriptors(descriptors, integrations, origin=terms.origin)
    before = len(report.defects)
    _store(verdict.passed, integrations, report, terms)
    restore_order(descriptors)
    hold(verdict.held, integrations)
    settle(verdict, stored=len(report.defects) == before)
    report.held += [definition.descriptor.full_name for definition in verdict.held]
    report.defects += [_held_defect(definition) for definition in verdict.held]
    report.unchanged += verdict.unchanged
    report.defects += verdict.defects


def _store(
    reviewed: Sequence[ReviewedDefinition],
    integrations: Mapping[str, Integration],
    report: RegistrationReport,
    terms: _Terms,
) -> None:
    lock_catalog()
    stored = store_capabilities(reviewed, integrations, state=terms.state)
    report.created += len(stored.created)
    report.changed += len(stored.changed)
    report.unchanged += stored.unchanged
    report.defects += stored.defects
    if terms.send and stored.new_texts:
        transaction.on_commit(partial(send_embeddings, stored.new_texts), robust=True)


@transaction.atomic
def _prune(
    integrations: dict[str, Integration],
    capabilities: Sequence[Descriptor],
    report: RegistrationReport,
) -> None:
    """Delete what the source no longer has, unless its defects make that uncertain."""
    if report.defects:
        report.defects.append(Defect("", "prune", "nothing was removed: the source has defects"))
        return
    lock_catalog()
    gone = Capability.objects.filter(integration__in=integrations.values()).exclude(
        identifier__in=[descriptor.identifier for descriptor in capabilities]
    )
    _, by_table = gone.delete()
    report.removed = by_table.get(Capability._meta.label, 0)


def _categorize(integrations: Mapping[str, Integration], report: RegistrationReport) -> None:
    """Categorize anew where tools came, changed or went: their neighbours count, too."""
    if report.created or report.changed or report.removed:
        assign_categories([row.pk for row in integrations.values()])


def _finish(report: RegistrationReport, *, by: User | None, source: str) -> None:
    changes = report.created + report.changed + report.removed
    if changes or report.held:
        counts: dict[str, Any] = {
            name: getattr(report, name) for name in ("created", "changed", "unchanged", "removed")
        }
        if report.held:
            counts["held"] = report.held[:50]
        record(by=by, action="catalog.register", target=source, details=counts)
    if changes >= STORE_BATCH:
        # Update statistics: selection queries need good plans before autovacuum runs.
        with connection.cursor() as cursor:
            cursor.execute(
                "ANALYZE catalog_integration, catalog_capability, catalog_lexicalvector,"
                " catalog_embedding"
            )
