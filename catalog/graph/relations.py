"""How capabilities are related: asked for a caller, decided by an admin."""

from collections.abc import Sequence

from django.contrib.auth.models import Group, User
from django.db import transaction

from acl.audit.recorder import record
from acl.rights.caller import Caller
from catalog.graph.neighbours import Neighbourhood, neighbours_of
from catalog.graph.stored_links import MOST_IN_A_PRESET, refresh_presets
from catalog.locks import lock_catalog
from catalog.models import Capability, Edge, Preset, PresetMember
from catalog.models.edge import WITHOUT_DIRECTION

__all__ = ["EdgeRefused", "PresetTooLarge", "find_neighbours", "relate", "set_members", "unrelate"]


class EdgeRefused(Exception):
    """A capability is not related to itself."""

    def __init__(self) -> None:
        super().__init__("A capability is not related to itself.")


class PresetTooLarge(Exception):
    """Each two of a preset are an edge, so it stays small."""

    def __init__(self) -> None:
        super().__init__(f"A preset has at most {MOST_IN_A_PRESET} capabilities.")


def find_neighbours(*, caller: Caller, full_name: str, kind: str = "") -> Neighbourhood | None:
    """Of a capability that the caller may use, what else they may use; `kind` is that of the
    edge."""
    return neighbours_of(caller, full_name, kind)


@transaction.atomic
def relate(
    *,
    by: User | None,
    source: Capability,
    target: Capability,
    kind: str,
    weight: float,
    group: Group | None = None,
) -> tuple[Edge, bool]:
    """An admin's edge, whose weight replaces what was worked out; and whether it is new. It holds
    for everybody, or for the callers of one group, where it replaces everybody's, too."""
    one, other = _ends(source, target, kind)
    edge, is_new = Edge.objects.update_or_create(
        source=one,
        target=other,
        kind=kind,
        origin=Edge.Origin.ADMIN,
        preset=None,
        group=group,
        defaults={"weight": weight},
    )
    details = {**_details(target, kind, group), "weight": weight}
    record(by=by, action="edge.add", target=str(source), details=details)
    return edge, is_new


@transaction.atomic
def unrelate(
    *,
    by: User | None,
    source: Capability,
    target: Capability,
    kind: str,
    group: Group | None = None,
) -> bool:
    """No such edge any longer, wherever it comes from, for everybody or for the callers of one
    group; whether there was one.

    What was added for them is deleted. What a source, a preset, shared tags or, for a group,
    an edge of everybody's give is outweighed by an edge without weight, or it would be back.
    """
    lock_catalog()
    one, other = _ends(source, target, kind)
    words = Edge.objects.filter(source=one, target=other, kind=kind, origin=Edge.Origin.ADMIN)
    word = words.filter(group=group).first()
    elsewhere = _is_there(one, other, kind, words.filter(group=None).first() if group else None)
    if (word is None and not elsewhere) or (word is not None and word.weight == 0):
        return False
    if elsewhere:
        words.update_or_create(
            source=one,
            target=other,
            kind=kind,
            origin=Edge.Origin.ADMIN,
            group=group,
            defaults={"weight": 0.0},
        )
    else:
        words.filter(group=group).delete()
    record(by=by, action="edge.remove", target=str(source), details=_details(target, kind, group))
    return True


@transaction.atomic
def set_members(*, by: User | None, preset: Preset, capabilities: Sequence[Capability]) -> None:
    """Exactly these belong to the preset, and each two of them together."""
    wanted = {capability.pk for capability in capabilities}
    if len(wanted) > MOST_IN_A_PRESET:
        raise PresetTooLarge
    members = PresetMember.objects.filter(preset=preset)
    members.exclude(capability__in=wanted).delete()
    PresetMember.objects.bulk_create(
        [PresetMember(preset=preset, capability_id=pk) for pk in sorted(wanted)],
        ignore_conflicts=True,
    )
    refresh_presets([preset.pk])
    names = sorted(str(capability) for capability in capabilities)
    record(by=by, action="preset.change", target=str(preset), details={"capabilities": names})


def _ends(source: Capability, target: Capability, kind: str) -> tuple[Capability, Capability]:
    """Source and target as they are stored."""
    if source.pk == target.pk:
        raise EdgeRefused
    if kind in WITHOUT_DIRECTION and source.pk > target.pk:
        return target, source
    return source, target


def _details(target: Capability, kind: str, group: Group | None) -> dict[str, object]:
    details: dict[str, object] = {"type": kind, "target": str(target)}
    return details | ({"group": group.name} if group else {})


def _is_there(one: Capability, other: Capability, kind: str, word: Edge | None) -> bool:
    """Whether there is an edge by an admin's word for everybody, or else without any."""
    if word is not None:
        return word.weight > 0
    same = Edge.objects.filter(source=one, target=other, kind=kind)
    return same.exclude(origin=Edge.Origin.ADMIN).exists() or _share(one, other, kind)


def _share(one: Capability, other: Capability, kind: str) -> bool:
    """Whether some caller may see them related by what they have in common."""
    if kind == Edge.Kind.SAME_CATEGORY:
        return (one.kind, one.category) == (other.kind, other.category)
    tags = {tag.lower() for tag in one.tags} & {tag.lower() for tag in other.tags}
    return kind == Edge.Kind.TAGGED_WITH and len(tags) >= 2
