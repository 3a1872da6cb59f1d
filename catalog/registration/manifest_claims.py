"""Assignment of capabilities to manifests when several declare the same one.

The first folder has priority. A broken or unreachable manifest keeps its last valid capability.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from catalog.formats.descriptors import Defect
from catalog.formats.manifest_folders import ManifestRead, is_gone
from catalog.models import Capability
from catalog.registration.manifest_rows import ManifestCapabilities, Winner

KEPT = "is as it was when it could last be read"


@dataclass(slots=True)
class Claims:
    """Manifests to store, and the capabilities kept unchanged, by path."""

    files: list[str] = field(default_factory=list)
    winners: list[Winner] = field(default_factory=list)
    kept: dict[str, int] = field(default_factory=dict)
    defects: list[Defect] = field(default_factory=list)


def claim(
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
    return Defect(path, "id", f"{identifier} is already provided by {owner}, which goes first")
