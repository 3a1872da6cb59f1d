"""The watched folders into the catalogue: one pass reads everything and stores what differs.

A pass ends in the same rows however often it is repeated and whatever was missed before it. What
admins have decided about a capability outlives its file: a manifest that is gone makes its
capability unavailable, so that a deny, a block or a quarantine is still there when it comes back.
Only `prune` removes it.
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
    Known,
    Winner,
    holders_of,
    known,
    let_go,
    note_files,
    remove,
    restore,
    take_over,
)
from catalog.registration.register import Registered, register
from catalog.trust.gate import Origin

SOURCE = "manifests"


@dataclass(slots=True)
class Reloaded:
    """What a pass found and did; names are full names of capabilities."""

    registered: Registered
    files: int = 0
    gone: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    defects: list[Defect] = field(default_factory=list)
    new_defects: list[Defect] = field(default_factory=list)

    @property
    def loaded(self) -> int:
        """Capabilities that the folders provide now."""
        return self.registered.loaded + len(self.kept)

    @property
    def changed_anything(self) -> bool:
        """Whether the pass had anything to do."""
        counts = (self.registered.created, self.registered.changed, self.gone, self.removed)
        return any(counts) or bool(self.new_defects)


@transaction.atomic
def reload_manifests(*, by: User | None, folders: Sequence[Path], prune: bool = False) -> Reloaded:
    """Bring the catalogue to what the folders hold, the first of which goes first.

    `prune` removes the capabilities whose manifests are gone, with everything decided about them.
    """
    lock_manifests()
    limits = replace(DEFAULT_LIMITS, file=settings.PEGBOARD_MAX_FILE_BYTES)
    before = known()
    claims = claim(read_folders(folders, limits), before, folders)
    for taken in take_over(claims.winners, before):
        record(by=by, action="manifest.takeover", target=taken.full_name, details=taken.details)
    registered = register(
        _loaded(claims), by=by, source=SOURCE, origin=Origin.MANIFEST, came_from=CAME_FROM
    )
    holders = {**claims.kept, **holders_of(claims.winners)}
    report = Reloaded(registered, files=len(claims.files), kept=_names(claims.kept, before))
    _forget_waiting(claims.winners)
    report.defects = [*claims.defects, *registered.defects]
    report.new_defects = note_files(claims.files, holders, report.defects)
    restore(claims.kept.values())
    _leave_behind(before, holders.values(), report, by=by, prune=prune)
    return report


def _loaded(claims: Claims) -> Loaded:
    return Loaded(
        tuple(one.integration for one in claims.winners),
        tuple(one.capability for one in claims.winners),
    )


def _forget_waiting(winners: Sequence[Winner]) -> None:
    """Drop definitions that wait and whose file is gone: nothing is left to decide."""
    waiting = Definition.objects.filter(
        origin=Origin.MANIFEST, standing=Definition.Standing.NEW
    ).exclude(name="")
    waiting.exclude(integration__slug__in=[one.integration.slug for one in winners]).delete()


def _names(kept: Mapping[str, int], before: Known) -> list[str]:
    return [before.capabilities[pk].full_name for pk in kept.values()]


def _leave_behind(
    before: Known, held: Iterable[int], report: Reloaded, *, by: User | None, prune: bool
) -> None:
    """What no manifest provides any longer."""
    left = before.capabilities.keys() - set(held)
    report.gone = let_go(left)
    _record_each(report.gone, by=by, action="capability.gone")
    if prune:
        report.removed = remove(left)
        _record_each(report.removed, by=by, action="capability.remove")


def _record_each(names: Collection[str], *, by: User | None, action: str) -> None:
    for name in names:
        record(by=by, action=action, target=name, details={"source": SOURCE})
