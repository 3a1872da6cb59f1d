"""Rows of manifests before and after a pass."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import Q
from django.utils.translation import gettext_noop

from catalog.formats.descriptors import Defect, Descriptor, IntegrationDescriptor
from catalog.locks import lock_catalog
from catalog.models import Capability, Integration, ManifestFile
from catalog.models.integration import ReviewState
from catalog.registration.admission import review_integrations
from catalog.registration.descriptor_rows import store_integrations

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
    claimed = {one.capability.identifier for one in winners}
    rows = before.capabilities.values()
    by_identifier = {row.identifier: row for row in rows}
    by_name = {row.full_name: row for row in rows if row.identifier not in claimed}
    paths = {row.pk: path for path, row in before.by_path.items()}
    taken = []
    for one in winners:
        row = by_identifier.get(one.capability.identifier) or by_name.get(one.capability.full_name)
        if row and _differs(row, one, paths.get(row.pk)) and _move(row, one):
            details = {"from": paths.get(row.pk, ""), "to": one.path}
            taken.append(Takeover(one.capability.full_name, details))
    return taken


def find_stored(winners: Sequence[Winner]) -> dict[str, int]:
    """Return the stored capabilities of the winners, by path."""
    wanted = {(one.capability.identifier, one.capability.integration): one.path for one in winners}
    rows = Capability.objects.filter(identifier__in=[identifier for identifier, _ in wanted])
    stored = rows.values_list("identifier", "integration__slug", "pk")
    return {wanted[found]: pk for *key, pk in stored if (found := tuple(key)) in wanted}


def record_files(
    paths: Sequence[str], holders: Mapping[str, int], defects: Iterable[Defect]
) -> list[Defect]:
    """Store the state of each file and delete rows of gone ones; return the new defects."""
    problems: dict[str, list[Defect]] = {path: [] for path in paths}
    for defect in defects:
        problems.setdefault(defect.file, []).append(defect)
    rows = {row.path: row for row in ManifestFile.objects.all()}
    wanted = {path: (holders.get(path), _join_problems(some)) for path, some in problems.items()}
    differing = [path for path in wanted if _file_state(rows.get(path)) != wanted[path]]
    # Release first, then assign: a capability belongs to at most one file (unique constraint).
    ManifestFile.objects.filter(path__in=differing).update(capability=None)
    ManifestFile.objects.exclude(path__in=wanted).delete()
    ManifestFile.objects.bulk_create(
        [
            ManifestFile(path=path, capability_id=wanted[path][0], problems=wanted[path][1])
            for path in differing
        ],
        update_conflicts=True,
        unique_fields=["path"],
        update_fields=["capability", "problems", "changed_at"],
    )
    known_problems = {path: row.problems for path, row in rows.items()}
    changed = [path for path in differing if known_problems.get(path) != wanted[path][1]]
    return [defect for path in changed for defect in problems[path]]


def restore(kept: Collection[int]) -> None:
    """Make kept capabilities available again."""
    rows = Capability.objects.filter(pk__in=kept, unavailable_reason=GONE)
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


def _differs(row: Capability, one: Winner, path: str | None) -> bool:
    wanted = (one.capability.identifier, one.capability.integration, one.path)
    return (row.identifier, row.integration.slug, path) != wanted


def _move(row: Capability, one: Winner) -> bool:
    """Give the row the manifest's id and integration, unless another row has them."""
    identifier = one.capability.identifier
    if Capability.objects.filter(identifier=identifier).exclude(pk=row.pk).exists():
        return False
    lock_catalog()
    reviewed = review_integrations([one.integration])
    integrations, _ = store_integrations(reviewed, state=ReviewState.APPROVED, came_from=CAME_FROM)
    if integration := integrations.get(one.capability.integration):
        Capability.objects.filter(pk=row.pk).update(
            identifier=identifier, integration=integration, source_ref=one.capability.source_ref
        )
    return integration is not None


def _file_state(row: ManifestFile | None) -> tuple[int | None, str] | None:
    return (row.capability_id, row.problems) if row else None


def _join_problems(defects: Iterable[Defect]) -> str:
    return "\n".join(f"{defect.field}: {defect.reason}" for defect in defects)
