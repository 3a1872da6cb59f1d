"""Reloading of watched folders: one idempotent pass reads everything and stores the changes.

Admins' decisions outlive the file. A deleted manifest makes its capability unavailable, so that a
deny, block or quarantine still holds when it returns. Only `prune` deletes it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from acl.audit.recorder import record
from catalog.formats.descriptors import Defect, Loaded
from catalog.formats.manifest_folders import read_folders
from catalog.formats.read_limits import DEFAULT_LIMITS
from catalog.locks import lock_manifests
from catalog.models import Definition
from catalog.registration.manifest_claims import Claims, claim
from catalog.registration.manifest_rows import (
    CAME_FROM,
    ManifestCapabilities,
    Winner,
    find_stored,
    load_known,
    make_unavailable,
    record_files,
    remove,
    restore,
    take_over,
)
from catalog.registration.register import RegistrationReport, register
from catalog.trust.gate import Origin

SOURCE = "manifests"


@dataclass(slots=True)
class ReloadReport:
    """The outcome of a pass; names are full names of capabilities."""

    registered: RegistrationReport
    files: int = 0
    gone: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    defects: list[Defect] = field(default_factory=list)
    new_defects: list[Defect] = field(default_factory=list)

    @property
    def loaded(self) -> int:
        """Return the number of capabilities the folders provide."""
        return self.registered.loaded + len(self.kept)

    @property
    def changed_anything(self) -> bool:
        """Return True if the pass changed something."""
        counts = (self.registered.created, self.registered.changed, self.gone, self.removed)
        return any(counts) or bool(self.new_defects)


@transaction.atomic
def reload_manifests(
    *, by: User | None, folders: Sequence[Path], prune: bool = False
) -> ReloadReport:
    """Bring the catalogue in step with the folders, which are in order of priority.

    `prune` deletes capabilities whose manifests are gone, with all decisions about them.
    """
    lock_manifests()
    limits = replace(DEFAULT_LIMITS, file=settings.PEGBOARD_MAX_FILE_BYTES)
    # Read under the lock, since another pass may just have committed.
    before = load_known()
    claims = claim(read_folders(folders, limits), before, folders)
    for taken in take_over(claims.winners, before):
        record(by=by, action="manifest.takeover", target=taken.full_name, details=taken.details)
    registered = register(
        _loaded(claims), by=by, source=SOURCE, origin=Origin.MANIFEST, came_from=CAME_FROM
    )
    holders = {**claims.kept, **find_stored(claims.winners)}
    report = ReloadReport(registered, files=len(claims.files), kept=_names(claims.kept, before))
    _delete_waiting(claims.winners)
    report.defects = [*claims.defects, *registered.defects]
    report.new_defects = record_files(claims.files, holders, report.defects)
    restore(claims.kept.values())
    _drop_unprovided(before, holders.values(), report, by=by, prune=prune)
    return report


def _loaded(claims: Claims) -> Loaded:
    return Loaded(
        tuple(one.integration for one in claims.winners),
        tuple(one.capability for one in claims.winners),
    )


def _delete_waiting(winners: Sequence[Winner]) -> None:
    """Delete waiting definitions whose file is gone."""
    waiting = Definition.objects.filter(
        origin=Origin.MANIFEST, standing=Definition.Standing.NEW
    ).exclude(name="")
    waiting.exclude(integration__slug__in=[one.integration.slug for one in winners]).delete()


def _names(kept: Mapping[str, int], before: ManifestCapabilities) -> list[str]:
    return [before.capabilities[pk].full_name for pk in kept.values()]


def _drop_unprovided(
    before: ManifestCapabilities,
    held: Iterable[int],
    report: ReloadReport,
    *,
    by: User | None,
    prune: bool,
) -> None:
    """Disable, or delete, capabilities that no manifest provides."""
    left = before.capabilities.keys() - set(held)
    report.gone = make_unavailable(left)
    _record_each(report.gone, by=by, action="capability.gone")
    if prune:
        report.removed = remove(left)
        _record_each(report.removed, by=by, action="capability.remove")


def _record_each(names: Collection[str], *, by: User | None, action: str) -> None:
    for name in names:
        record(by=by, action=action, target=name, details={"source": SOURCE})
