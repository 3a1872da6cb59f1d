"""Relations between capabilities: read by callers, set by admins."""

from collections.abc import Sequence

from django.contrib.auth.models import Group, User
from django.db import transaction

from acl.audit.recorder import record
from acl.rights.caller_lookup import Caller
from catalog.locks import lock_catalog
from catalog.models import Capability, Edge, Preset, PresetMember
from catalog.models.relation_kinds import DIRECTED
from catalog.relations.neighbours import Neighbourhood, load_neighbours
from catalog.relations.stored_links import MOST_IN_A_PRESET, refresh_presets

__all__ = ["EdgeRefused", "PresetTooLarge", "find_neighbours", "relate", "set_members", "unrelate"]


class EdgeRefused(Exception):
    """A capability cannot be related to itself."""

    def __init__(self) -> None:
        super().__init__("A capability cannot be related to itself.")


class PresetTooLarge(Exception):
    """The preset has too many capabilities: every pair of them is an edge."""

    def __init__(self) -> None:
        super().__init__(f"A preset has at most {MOST_IN_A_PRESET} capabilities.")


def find_neighbours(*, caller: Caller, full_name: str, kind: str = "") -> Neighbourhood | None:
    """Return the usable neighbours of a usable capability; `kind` filters edges."""
    return load_neighbours(caller, full_name, kind)


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
    """Set an admin's edge, which overrides computed weights; return it, and True if it is new.

    It holds for everyone, or for one group's callers, where it also overrides everyone's.
    """
    start, end = _ends(source, target, kind)
    edge, is_new = Edge.objects.update_or_create(
        source=start,
        target=end,
        kind=kind,
        origin=Edge.Origin.ADMIN,
        preset=None,
        group=group,
        defaults={"weight": weight},
    )
    details = {**_details(target, kind, group), "weight": weight}
    groups = [group.pk] if group else None
    record(by=by, action="edge.add", target=str(source), details=details, groups=groups)
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
    """Remove an edge for everyone or for one group's callers; return False if there was none.

    An admin's own edge is deleted. An edge from a source, a preset, shared tags or (for a group)
    from everyone would come back, so a zero-weight edge overrides it.
    """
    lock_catalog()
    start, end = _ends(source, target, kind)
    decisions = Edge.objects.filter(source=start, target=end, kind=kind, origin=Edge.Origin.ADMIN)
    decision = decisions.filter(group=group).first()
    elsewhere = _edge_exists(
        start, end, kind, decisions.filter(group=None).first() if group else None
    )
    if (decision is None and not elsewhere) or (decision is not None and decision.weight == 0):
        return False
    if elsewhere:
        decisions.update_or_create(
            source=start,
            target=end,
            kind=kind,
            origin=Edge.Origin.ADMIN,
            group=group,
            defaults={"weight": 0.0},
        )
    else:
        decisions.filter(group=group).delete()
    record(
        by=by, action="edge.remove", target=str(source), details=_details(target, kind, group),
        groups=[group.pk] if group else None,
    )  # fmt: skip
    return True


@transaction.atomic
def set_members(*, by: User | None, preset: Preset, capabilities: Sequence[Capability]) -> None:
    """Replace the members of a preset and the edges between them."""
    keys = {capability.pk for capability in capabilities}
    if len(keys) > MOST_IN_A_PRESET:
        raise PresetTooLarge
    members = PresetMember.objects.filter(preset=preset)
    members.exclude(capability__in=keys).delete()
    PresetMember.objects.bulk_create(
        [PresetMember(preset=preset, capability_id=pk) for pk in sorted(keys)],
        ignore_conflicts=True,
    )
    refresh_presets([preset.pk])
    names = sorted(str(capability) for capability in capabilities)
    record(by=by, action="preset.change", target=str(preset), details={"capabilities": names})


def _ends(source: Capability, target: Capability, kind: str) -> tuple[Capability, Capability]:
    """Return the ends in the stored order."""
    if source.pk == target.pk:
        raise EdgeRefused
    # Undirected edges are stored once, from the lower key to the higher one.
    if kind not in DIRECTED and source.pk > target.pk:
        return target, source
    return source, target


def _details(target: Capability, kind: str, group: Group | None) -> dict[str, object]:
    details: dict[str, object] = {"type": kind, "target": str(target)}
    return details | ({"group": group.name} if group else {})


def _edge_exists(source: Capability, target: Capability, kind: str, decision: Edge | None) -> bool:
    """Return True if everyone's admin edge, or else any other edge, exists."""
    if decision is not None:
        return decision.weight > 0
    same = Edge.objects.filter(source=source, target=target, kind=kind)
    return same.exclude(origin=Edge.Origin.ADMIN).exists() or _share_traits(source, target, kind)


def _share_traits(source: Capability, target: Capability, kind: str) -> bool:
    """Return True if the two share a category or enough tags to be related."""
    if kind == Edge.Kind.SAME_CATEGORY:
        return (source.kind, source.category) == (target.kind, target.category)
    tags = {tag.lower() for tag in source.tags} & {tag.lower() for tag in target.tags}
    return kind == Edge.Kind.TAGGED_WITH and len(tags) >= 2
