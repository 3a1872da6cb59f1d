"""Storing what a source gave: integrations, capabilities, and the promise to embed them.

What is unchanged is not written. A capability, its words, its promise of a vector and the
catalogue's new number are one transaction; the queue hears of it afterwards.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from django.contrib.auth.models import Group, User
from django.db import DataError, IntegrityError, connection, transaction

from acl.services.audit import record
from catalog.descriptors import Defect, Descriptor, Loaded
from catalog.indexing import chunks
from catalog.locking import lock_catalog
from catalog.models import Capability, EmbeddingModel, Integration
from catalog.models.integration import ReviewState
from catalog.services.grants import grant_integrations
from catalog.storing import file_of, store_capabilities, store_integrations
from catalog.switching import register_configured_model
from catalog.tasks import send_embeddings

Progress = Callable[[int, int], None]
STORED_AT_ONCE = 500


@dataclass(slots=True)
class Registered:
    """How many capabilities were created, changed, left alone and removed, and what is missing."""

    created: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    integrations: int = 0
    granted: int = 0
    defects: list[Defect] = field(default_factory=list)

    @property
    def loaded(self) -> int:
        """Capabilities that are in the catalogue now."""
        return self.created + self.changed + self.unchanged


def register(
    loaded: Loaded,
    *,
    by: User | None,
    source: str,
    group: Group | None = None,
    state: str = ReviewState.APPROVED,
    prune: bool = False,
    send: bool = True,
    progress: Progress | None = None,
) -> Registered:
    """Store a source's integrations and capabilities, and let `group` use them.

    `state` is that of new entries. `prune` removes what the integrations no longer have. Without
    `send` the caller embeds them itself, as the sweep would do later.
    """
    report = Registered(defects=list(loaded.defects))
    if not EmbeddingModel.objects.exists():
        register_configured_model()
    integrations = _store_integrations(loaded, report, by, group, state)
    capabilities = [one for one in loaded.capabilities if one.integration in integrations]
    if prune:
        _prune(integrations, capabilities, report)
    done = 0
    for some in chunks(capabilities, STORED_AT_ONCE):
        _store_what_can_be(some, integrations, report, state=state, send=send)
        done += len(some)
        if progress:
            progress(done, len(capabilities))
    _finish(report, by=by, source=source)
    return report


@transaction.atomic
def _store_integrations(
    loaded: Loaded, report: Registered, by: User | None, group: Group | None, state: str
) -> dict[str, Integration]:
    lock_catalog()
    integrations, stored = store_integrations(loaded.integrations, state=state)
    report.integrations = len(integrations)
    report.defects += stored.defects
    if group:
        report.granted = grant_integrations(integrations=integrations.values(), group=group, by=by)
    return integrations


def _store_what_can_be(
    descriptors: Sequence[Descriptor],
    integrations: dict[str, Integration],
    report: Registered,
    *,
    state: str,
    send: bool,
) -> None:
    """Store them, or the halves where the database refuses a value, down to the one that has it."""
    try:
        _store_capabilities(descriptors, integrations, report, state=state, send=send)
    except (DataError, IntegrityError, ValueError) as problem:
        if len(descriptors) == 1:
            reason = str(problem).splitlines()[0]
            report.defects.append(Defect(file_of(descriptors[0]), "definition", reason))
            return
        for half in chunks(descriptors, (len(descriptors) + 1) // 2):
            _store_what_can_be(half, integrations, report, state=state, send=send)


@transaction.atomic
def _store_capabilities(
    descriptors: Sequence[Descriptor],
    integrations: dict[str, Integration],
    report: Registered,
    *,
    state: str,
    send: bool,
) -> None:
    lock_catalog()
    stored = store_capabilities(descriptors, integrations, state=state)
    report.created += len(stored.created)
    report.changed += len(stored.changed)
    report.unchanged += stored.unchanged
    report.defects += stored.defects
    if send and stored.new_texts:
        transaction.on_commit(partial(send_embeddings, stored.new_texts), robust=True)


@transaction.atomic
def _prune(
    integrations: dict[str, Integration], capabilities: Sequence[Descriptor], report: Registered
) -> None:
    """Remove what the source no longer has; with defects, nobody can say what it has."""
    if report.defects:
        report.defects.append(Defect("", "prune", "nothing was removed: the source has defects"))
        return
    lock_catalog()
    gone = Capability.objects.filter(integration__in=integrations.values()).exclude(
        identifier__in=[one.identifier for one in capabilities]
    )
    _, by_table = gone.delete()
    report.removed = by_table.get(Capability._meta.label, 0)


def _finish(report: Registered, *, by: User | None, source: str) -> None:
    written = report.created + report.changed + report.removed
    if written:
        counts = {
            name: getattr(report, name) for name in ("created", "changed", "unchanged", "removed")
        }
        record(by=by, action="catalog.register", target=source, details=counts)
    if written >= STORED_AT_ONCE:
        _analyze()


def _analyze() -> None:
    """Fresh statistics at once: the selection's plan should not wait for autovacuum."""
    with connection.cursor() as cursor:
        cursor.execute(
            "ANALYZE catalog_integration, catalog_capability, catalog_lexicalvector,"
            " catalog_embedding"
        )
