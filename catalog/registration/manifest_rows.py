"""The rows of manifests: what they provided before a pass, and what they do after it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import Q

from catalog.formats.descriptors import Defect, Descriptor, IntegrationDescriptor
from catalog.locks import lock_catalog
from catalog.models import Capability, Integration, ManifestFile
from catalog.models.integration import ReviewState
from catalog.registration.admission import review_integrations
from catalog.registration.descriptor_rows import store_integrations

CAME_FROM = "the watched folders"
GONE = "Its manifest is gone."
_NEEDED = ("identifier", "full_name", "unavailable_reason", "integration__slug")


@dataclass(frozen=True, slots=True)
class Known:
    """The capabilities of manifests: by path those that a file provides, by key these and those
    whose file is gone."""

    by_path: dict[str, Capability]
    capabilities: dict[int, Capability]


class Winner(NamedTuple):
    """A manifest that provides its capability."""

    path: str
    integration: IntegrationDescriptor
    capability: Descriptor


@dataclass(frozen=True, slots=True)
class Taken:
    """A capability that another manifest provides from now on."""

    full_name: str
    details: dict[str, str]


def known() -> Known:
    """What the manifests have brought so far."""
    files = ManifestFile.objects.filter(capability__isnull=False)
    by_path = dict(files.values_list("path", "capability_id"))
    orphans = Q(unavailable_reason=GONE, integration__kind=Integration.Kind.MANIFEST)
    rows = Capability.objects.filter(Q(pk__in=by_path.values()) | orphans)
    rows = rows.select_related("integration").only(*_NEEDED)
    capabilities = {row.pk: row for row in rows}
    return Known({path: capabilities[pk] for path, pk in by_path.items()}, capabilities)


def take_over(winners: Sequence[Winner], before: Known) -> list[Taken]:
    """Let the capabilities of other manifests become those of the winners that name them.

    The row stays, and with it the rules, grants and decisions about it. It is found by its id, or
    by its full name where no manifest has that id any longer: the kind was another one, say.
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
            taken.append(Taken(one.capability.full_name, details))
    return taken


def holders_of(winners: Sequence[Winner]) -> dict[str, int]:
    """By path the capability that each winner provides; none where it could not be stored."""
    wanted = {(one.capability.identifier, one.capability.integration): one.path for one in winners}
    rows = Capability.objects.filter(identifier__in=[identifier for identifier, _ in wanted])
    stored = rows.values_list("identifier", "integration__slug", "pk")
    return {wanted[found]: pk for *key, pk in stored if (found := tuple(key)) in wanted}


def note_files(
    paths: Sequence[str], holders: Mapping[str, int], defects: Iterable[Defect]
) -> list[Defect]:
    """Write what became of each file, and forget those that are gone; the defects that are new."""
    problems: dict[str, list[Defect]] = {path: [] for path in paths}
    for defect in defects:
        problems.setdefault(defect.file, []).append(defect)
    rows = {row.path: row for row in ManifestFile.objects.all()}
    wanted = {path: (holders.get(path), _written(some)) for path, some in problems.items()}
    differing = [path for path in wanted if _noted(rows.get(path)) != wanted[path]]
    # First let go, then take: a capability is that of one file at any moment.
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
    told = {path: row.problems for path, row in rows.items()}
    news = [path for path in differing if told.get(path) != wanted[path][1]]
    return [defect for path in news for defect in problems[path]]


def restore(kept: Collection[int]) -> None:
    """What was gone and is kept now can be used again."""
    rows = Capability.objects.filter(pk__in=kept, unavailable_reason=GONE)
    rows.update(available=True, unavailable_reason="")


def let_go(keys: Collection[int]) -> list[str]:
    """Make unavailable what no manifest provides; the names of those that were not yet."""
    rows = Capability.objects.filter(pk__in=keys).exclude(unavailable_reason=GONE)
    names = list(rows.order_by("full_name").values_list("full_name", flat=True))
    rows.update(available=False, unavailable_reason=GONE)
    return names


def remove(keys: Collection[int]) -> list[str]:
    """Remove these capabilities for good; their names."""
    rows = Capability.objects.filter(pk__in=keys)
    names = list(rows.order_by("full_name").values_list("full_name", flat=True))
    rows.delete()
    return names


def _differs(row: Capability, one: Winner, path: str | None) -> bool:
    wanted = (one.capability.identifier, one.capability.integration, one.path)
    return (row.identifier, row.integration.slug, path) != wanted


def _move(row: Capability, one: Winner) -> bool:
    """Give the row the id and the integration that the manifest wants, unless another has them."""
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


def _noted(row: ManifestFile | None) -> tuple[int | None, str] | None:
    return (row.capability_id, row.problems) if row else None


def _written(defects: Iterable[Defect]) -> str:
    return "\n".join(f"{defect.field}: {defect.reason}" for defect in defects)
