"""Which manifest provides which capability, where several would.

The first folder goes first. A manifest that is broken keeps what it provided when it was last read
well; one that is there and cannot be reached does too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from catalog.formats.descriptors import Defect
from catalog.formats.manifest_folders import ManifestRead, is_gone
from catalog.models import Capability
from catalog.registration.manifest_rows import Known, Winner

KEPT = "is as it was when it could last be read"


@dataclass(slots=True)
class Claims:
    """The manifests to store, and by path the capabilities that stay as they are."""

    files: list[str] = field(default_factory=list)
    winners: list[Winner] = field(default_factory=list)
    kept: dict[str, int] = field(default_factory=dict)
    defects: list[Defect] = field(default_factory=list)


def claim(reads: Sequence[ManifestRead], before: Known, folders: Sequence[Path]) -> Claims:
    """Give every id and every slug to the first manifest that asks for it."""
    claims = Claims()
    owners: dict[str, str] = {}
    for read in _in_order([*reads, *_unread(reads, before, folders)], folders):
        claims.files.append(read.path)
        claims.defects += read.defects
        keeps = _what_it_keeps(read, before)
        names = _names_of(read, keeps)
        if not names:
            continue
        if owner := next((owners[name] for name in names if name in owners), None):
            claims.defects.append(_comes_second(read.path, names[0], owner))
            continue
        owners.update(dict.fromkeys(names, read.path))
        if keeps:
            claims.kept[read.path] = keeps.pk
            claims.defects.append(Defect(read.path, "capability", f"{keeps.full_name} {KEPT}"))
        elif read.declared:
            claims.winners.append(Winner(read.path, *read.declared))
    return claims


def _in_order(reads: Sequence[ManifestRead], folders: Sequence[Path]) -> list[ManifestRead]:
    return sorted(reads, key=lambda read: _rank(read.path, folders))


def _rank(path: str, folders: Sequence[Path]) -> int:
    above = (rank for rank, folder in enumerate(folders) if Path(path).is_relative_to(folder))
    return next(above, len(folders))


def _unread(
    reads: Sequence[ManifestRead], before: Known, folders: Sequence[Path]
) -> Iterator[ManifestRead]:
    """Manifests that are still there although nothing of them was read, in folders we watch."""
    found = {read.path for read in reads}
    for path in before.by_path.keys() - found:
        if _rank(path, folders) < len(folders) and not is_gone(path):
            yield ManifestRead(path, defects=(Defect(path, "file", "cannot be reached"),))


def _what_it_keeps(read: ManifestRead, before: Known) -> Capability | None:
    """The capability of the last good state, where this state is not good."""
    earlier = before.by_path.get(read.path)
    if earlier is None or read.declared is None:
        return earlier
    lost = any(defect.field == "skillContent" for defect in read.defects)
    return earlier if lost and earlier.content else None


def _names_of(read: ManifestRead, keeps: Capability | None) -> tuple[str, ...]:
    if keeps:
        return keeps.identifier, f"integration {keeps.integration.slug}"
    if read.declared:
        one = read.declared.capability
        return one.identifier, f"integration {one.integration}"
    return ()


def _comes_second(path: str, identifier: str, owner: str) -> Defect:
    return Defect(path, "id", f"{identifier} is already provided by {owner}, which goes first")
