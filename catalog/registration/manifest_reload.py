"""Reloading of watched folders: one idempotent pass reads everything and stores the changes.

Admins' decisions outlive the file. A deleted manifest makes its capability unavailable, so that a
deny, block or quarantine still holds when it returns. Only `prune` deletes it.

When several manifests declare the same capability, the first folder's manifest provides it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from acl.audit.recorder import record
from catalog.formats.descriptors import Defect, Loaded
from catalog.formats.manifest_folders import ManifestRead, is_gone, read_folders
from catalog.formats.read_limits import DEFAULT_LIMITS
from catalog.locks import lock_manifests
from catalog.models import Capability, Definition
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
KEPT = "is kept as it was when it could last be read"


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


@dataclass(slots=True)
class Claims:
    """Manifests to store, and the capabilities kept unchanged, by path."""

    files: list[str] = field(default_factory=list)
    winners: list[Winner] = field(default_factory=list)
    kept: dict[str, int] = field(default_factory=dict)
    defects: list[Defect] = field(default_factory=list)


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
    claims = _assign_claims(read_folders(folders, limits), before, folders)
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


def _assign_claims(
    reads: Sequence[ManifestRead], before: ManifestCapabilities, folders: Sequence[Path]
) -> Claims:
    """Assign each id and slug to the first manifest that declares it."""
    claims = Claims()
    owners: dict[str, str] = {}
    for read in _sort_by_priority([*reads, *_find_unread(reads, before, folders)], folders):
        claims.files.append(read.path)
        claims.defects += read.defects
        keeps = _last_valid(read, before)
        names = _claimed_names(read, keeps)
        if not names:
            continue
        if owner := next((owners[name] for name in names if name in owners), None):
            claims.defects.append(_already_provided(read.path, names[0], owner))
            continue
        owners.update(dict.fromkeys(names, read.path))
        if keeps:
            claims.kept[read.path] = keeps.pk
            claims.defects.append(Defect(read.path, "capability", f"{keeps.full_name} {KEPT}"))
        elif read.declared:
            claims.winners.append(Winner(read.path, *read.declared))
    return claims


def _sort_by_priority(reads: Sequence[ManifestRead], folders: Sequence[Path]) -> list[ManifestRead]:
    return sorted(reads, key=lambda read: _rank(read.path, folders))


def _rank(path: str, folders: Sequence[Path]) -> int:
    above = (rank for rank, folder in enumerate(folders) if Path(path).is_relative_to(folder))
    return next(above, len(folders))


def _find_unread(
    reads: Sequence[ManifestRead], before: ManifestCapabilities, folders: Sequence[Path]
) -> Iterator[ManifestRead]:
    """Yield known manifests that exist in watched folders but were not read."""
    found = {read.path for read in reads}
    for path in before.by_path.keys() - found:
        if _rank(path, folders) < len(folders) and not is_gone(path):
            yield ManifestRead(path, defects=(Defect(path, "file", "cannot be reached"),))


def _last_valid(read: ManifestRead, before: ManifestCapabilities) -> Capability | None:
    """Return the last valid capability if the current manifest is broken."""
    earlier = before.by_path.get(read.path)
    if earlier is None or read.declared is None:
        return earlier
    lost = any(defect.field == "skillContent" for defect in read.defects)
    return earlier if lost and earlier.content else None


def _claimed_names(read: ManifestRead, keeps: Capability | None) -> tuple[str, ...]:
    if keeps:
        return keeps.identifier, f"integration {keeps.integration.slug}"
    if read.declared:
        one = read.declared.capability
        return one.identifier, f"integration {one.integration}"
    return ()


def _already_provided(path: str, identifier: str, owner: str) -> Defect:
    return Defect(
        path, "id", f"{identifier} is already provided by {owner}, which takes precedence"
    )


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
