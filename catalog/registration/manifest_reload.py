"""Reloading of watched folders: one idempotent pass reads everything and stores the changes.

Admins' decisions outlive the file. A deleted manifest makes its capability unavailable, so that a
deny, block or quarantine still holds when it returns. Only `prune` deletes it.

When several manifests declare the same capability, the first folder's manifest provides it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext_noop

from acl.audit.recorder import record
from catalog.formats.descriptors import Defect, Descriptor, IntegrationDescriptor, Loaded
from catalog.formats.files import DEFAULT_LIMITS
from catalog.formats.manifest_folders import ManifestRead, is_gone, read_folders
from catalog.locks import lock_catalog, lock_manifests
from catalog.models import Capability, Definition, Integration, ManifestFile
from catalog.models.integration import ReviewState
from catalog.registration.admission import review_integrations
from catalog.registration.descriptor_rows import store_integrations
from catalog.registration.register import RegistrationReport, register
from catalog.trust.gate import Origin

# Rows of manifests before and after a pass.

CAME_FROM = "the watched folders"
GONE = gettext_noop("Its manifest is gone.")
_NEEDED = ("identifier", "full_name", "unavailable_reason", "integration__slug")


@dataclass(frozen=True, slots=True)
class ManifestCapabilities:
    """Capabilities of manifests, by path and by key; the latter includes deleted files."""

    by_path: dict[str, Capability]
    capabilities: dict[int, Capability]


class Winner(NamedTuple):
    """A manifest and the capability it provides."""

    path: str
    integration: IntegrationDescriptor
    capability: Descriptor


@dataclass(frozen=True, slots=True)
class Takeover:
    """A capability taken over by another manifest."""

    full_name: str
    details: dict[str, str]


def load_known() -> ManifestCapabilities:
    """Load the capabilities that manifests provided so far."""
    files = ManifestFile.objects.filter(capability__isnull=False)
    by_path = dict(files.values_list("path", "capability_id"))
    orphans = Q(unavailable_reason=GONE, integration__kind=Integration.Kind.MANIFEST)
    rows = Capability.objects.filter(Q(pk__in=by_path.values()) | orphans)
    rows = rows.select_related("integration").only(*_NEEDED)
    capabilities = {row.pk: row for row in rows}
    return ManifestCapabilities(
        {path: capabilities[pk] for path, pk in by_path.items()}, capabilities
    )


def take_over(winners: Sequence[Winner], before: ManifestCapabilities) -> list[Takeover]:
    """Hand capabilities of other manifests over to the winners that declare them.

    The row stays, with its rules, grants and decisions. It matches by id, or by full name if no
    manifest has that id any more (its kind changed, for instance).
    """
    claimed = {winner.capability.identifier for winner in winners}
    rows = before.capabilities.values()
    by_identifier = {row.identifier: row for row in rows}
    by_name = {row.full_name: row for row in rows if row.identifier not in claimed}
    paths = {row.pk: path for path, row in before.by_path.items()}
    taken = []
    for winner in winners:
        row = by_identifier.get(winner.capability.identifier) or by_name.get(
            winner.capability.full_name
        )
        if row and _differs(row, winner, paths.get(row.pk)) and _move(row, winner):
            details = {"from": paths.get(row.pk, ""), "to": winner.path}
            taken.append(Takeover(winner.capability.full_name, details))
    return taken


def find_stored(winners: Sequence[Winner]) -> dict[str, int]:
    """Return the stored capabilities of the winners, by path."""
    paths = {
        (winner.capability.identifier, winner.capability.integration): winner.path
        for winner in winners
    }
    rows = Capability.objects.filter(identifier__in=[identifier for identifier, _ in paths])
    stored = rows.values_list("identifier", "integration__slug", "pk")
    return {paths[pair]: pk for *key, pk in stored if (pair := tuple(key)) in paths}


def record_files(
    paths: Sequence[str], holders: Mapping[str, int], defects: Iterable[Defect]
) -> list[Defect]:
    """Store the state of each file and delete rows of gone ones; return the new defects."""
    problems: dict[str, list[Defect]] = {path: [] for path in paths}
    for defect in defects:
        problems.setdefault(defect.file, []).append(defect)
    rows = {row.path: row for row in ManifestFile.objects.all()}
    states = {
        path: (holders.get(path), "\n".join(f"{defect.field}: {defect.reason}" for defect in some))
        for path, some in problems.items()
    }
    differing = [path for path in states if _file_state(rows.get(path)) != states[path]]
    # Release first, then assign: a capability belongs to at most one file (unique constraint).
    ManifestFile.objects.filter(path__in=differing).update(capability=None)
    ManifestFile.objects.exclude(path__in=states).delete()
    ManifestFile.objects.bulk_create(
        [
            ManifestFile(path=path, capability_id=states[path][0], problems=states[path][1])
            for path in differing
        ],
        update_conflicts=True,
        unique_fields=["path"],
        update_fields=["capability", "problems", "changed_at"],
    )
    known_problems = {path: row.problems for path, row in rows.items()}
    changed = [path for path in differing if known_problems.get(path) != states[path][1]]
    return [defect for path in changed for defect in problems[path]]


def restore(keys: Collection[int]) -> None:
    """Make kept capabilities available again."""
    rows = Capability.objects.filter(pk__in=keys, unavailable_reason=GONE)
    rows.update(available=True, unavailable_reason="")


def make_unavailable(keys: Collection[int]) -> list[str]:
    """Make capabilities unavailable; return the names of those that were available."""
    rows = Capability.objects.filter(pk__in=keys).exclude(unavailable_reason=GONE)
    names = list(rows.order_by("full_name").values_list("full_name", flat=True))
    rows.update(available=False, unavailable_reason=GONE)
    return names


def remove(keys: Collection[int]) -> list[str]:
    """Delete capabilities; return their names."""
    rows = Capability.objects.filter(pk__in=keys)
    names = list(rows.order_by("full_name").values_list("full_name", flat=True))
    rows.delete()
    return names


def _differs(row: Capability, winner: Winner, path: str | None) -> bool:
    expected = (winner.capability.identifier, winner.capability.integration, winner.path)
    return (row.identifier, row.integration.slug, path) != expected


def _move(row: Capability, winner: Winner) -> bool:
    """Give the row the manifest's id and integration, unless another row has them."""
    identifier = winner.capability.identifier
    if Capability.objects.filter(identifier=identifier).exclude(pk=row.pk).exists():
        return False
    lock_catalog()
    reviewed = review_integrations([winner.integration])
    integrations, _ = store_integrations(reviewed, state=ReviewState.APPROVED, came_from=CAME_FROM)
    if integration := integrations.get(winner.capability.integration):
        Capability.objects.filter(pk=row.pk).update(
            identifier=identifier, integration=integration, source_ref=winner.capability.source_ref
        )
    return integration is not None


def _file_state(row: ManifestFile | None) -> tuple[int | None, str] | None:
    return (row.capability_id, row.problems) if row else None


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
        Loaded(
            tuple(winner.integration for winner in claims.winners),
            tuple(winner.capability for winner in claims.winners),
        ),
        by=by,
        source=SOURCE,
        origin=Origin.MANIFEST,
        came_from=CAME_FROM,
    )
    holders = {**claims.kept, **find_stored(claims.winners)}
    report = ReloadReport(
        registered,
        files=len(claims.files),
        kept=[before.capabilities[pk].full_name for pk in claims.kept.values()],
    )
    # Delete waiting definitions whose file is gone.
    waiting = Definition.objects.filter(
        origin=Origin.MANIFEST, standing=Definition.Standing.NEW
    ).exclude(name="")
    waiting.exclude(
        integration__slug__in=[winner.integration.slug for winner in claims.winners]
    ).delete()
    report.defects = [*claims.defects, *registered.defects]
    report.new_defects = record_files(claims.files, holders, report.defects)
    restore(claims.kept.values())
    # Disable, or delete, capabilities that no manifest provides.
    held = holders.values()
    unprovided = before.capabilities.keys() - set(held)
    report.gone = make_unavailable(unprovided)
    _record_each(report.gone, by=by, action="capability.gone")
    if prune:
        report.removed = remove(unprovided)
        _record_each(report.removed, by=by, action="capability.remove")
    return report


def _assign_claims(
    reads: Sequence[ManifestRead], before: ManifestCapabilities, folders: Sequence[Path]
) -> Claims:
    """Assign each id and slug to the first manifest that declares it."""
    claims = Claims()
    owners: dict[str, str] = {}
    for manifest in sorted(
        ([*reads, *_find_unread(reads, before, folders)]),
        key=lambda manifest: _rank(manifest.path, folders),
    ):
        claims.files.append(manifest.path)
        claims.defects += manifest.defects
        keeps = _last_valid(manifest, before)
        names = _claimed_names(manifest, keeps)
        if not names:
            continue
        if owner := next((owners[name] for name in names if name in owners), None):
            claims.defects.append(
                Defect(
                    manifest.path,
                    "id",
                    f"{(names[0])} is already provided by {owner}, which takes precedence",
                )
            )
            continue
        owners.update(dict.fromkeys(names, manifest.path))
        if keeps:
            claims.kept[manifest.path] = keeps.pk
            claims.defects.append(Defect(manifest.path, "capability", f"{keeps.full_name} {KEPT}"))
        elif manifest.declared:
            claims.winners.append(Winner(manifest.path, *manifest.declared))
    return claims


def _rank(path: str, folders: Sequence[Path]) -> int:
    above = (rank for rank, folder in enumerate(folders) if Path(path).is_relative_to(folder))
    return next(above, len(folders))


def _find_unread(
    reads: Sequence[ManifestRead], before: ManifestCapabilities, folders: Sequence[Path]
) -> Iterator[ManifestRead]:
    """Yield known manifests that exist in watched folders but were not read."""
    read_paths = {manifest.path for manifest in reads}
    for path in before.by_path.keys() - read_paths:
        if _rank(path, folders) < len(folders) and not is_gone(path):
            yield ManifestRead(path, defects=(Defect(path, "file", "cannot be reached"),))


def _last_valid(manifest: ManifestRead, before: ManifestCapabilities) -> Capability | None:
    """Return the last valid capability if the current manifest is broken."""
    earlier = before.by_path.get(manifest.path)
    if earlier is None or manifest.declared is None:
        return earlier
    lost = any(defect.field == "skillContent" for defect in manifest.defects)
    return earlier if lost and earlier.content else None


def _claimed_names(manifest: ManifestRead, keeps: Capability | None) -> tuple[str, ...]:
    if keeps:
        return keeps.identifier, f"integration {keeps.integration.slug}"
    if manifest.declared:
        capability = manifest.declared.capability
        return capability.identifier, f"integration {capability.integration}"
    return ()


def _record_each(names: Collection[str], *, by: User | None, action: str) -> None:
    for name in names:
        record(by=by, action=action, target=name, details={"source": SOURCE})
