"""Applying groups with their defaults, and the trees of their spaces."""

from django.contrib.auth.models import Group

from acl.accounts.default_groups import set_joined_by_default
from acl.accounts.groups import create_group, delete_group
from acl.accounts.spaces import (
    create_space,
    delete_space,
    ensure_root,
    move_space,
    rename_space,
    set_open,
)
from acl.models import Space
from marketplace.configuration.application import Application
from marketplace.configuration.config_text import Path
from marketplace.configuration.document import GroupEntry, SpaceEntry


def apply_groups(work: Application) -> None:
    """Create groups and their spaces, and set their defaults; with `prune` delete the others."""
    entries = work.document.groups
    if entries is None:
        return
    stored = {group.name: group for group in Group.objects.all()}
    for place, entry in enumerate(entries):
        path: Path = ("groups", place)
        if entry.name in {one.name for one in entries[:place]}:
            work.refuse((*path, "name"), f"the group {entry.name!r} is there twice")
            continue
        with work.at((*path, "name")):
            _apply_group(work, path, entry, stored.get(entry.name))
    if not work.prune:
        return
    kept = {entry.name for entry in entries}
    for name in sorted(stored.keys() - kept):
        with work.at(("groups",)):
            delete_group(by=work.by, group=stored[name])


def _apply_group(work: Application, path: Path, entry: GroupEntry, group: Group | None) -> None:
    is_open = entry.default == "open"
    if group is None:
        group = create_group(by=work.by, name=entry.name, is_open=is_open)
    elif entry.default is not None:
        set_open(by=work.by, group=group, is_open=is_open)
    if entry.joined_by_default is not None:
        set_joined_by_default(by=work.by, group=group, joined=entry.joined_by_default)
    if entry.spaces is not None:
        _apply_spaces(work, (*path, "spaces"), group, entry.spaces)


def _apply_spaces(work: Application, path: Path, group: Group, entries: list[SpaceEntry]) -> None:
    root = ensure_root(group)
    ordered = _from_the_top(work, path, entries, root)
    if ordered is None:
        return
    stored = {space.slug: space for space in Space.objects.filter(group=group)}
    for place, entry in ordered:
        with work.at((*path, place)):
            stored[entry.slug] = _apply_space(work, group, entry, stored)
    kept = {entry.slug for entry in entries}
    for slug in sorted(stored.keys() - kept - {root.slug}) if work.prune else ():
        with work.at(path):
            delete_space(by=work.by, space=stored[slug])


def _apply_space(
    work: Application, group: Group, entry: SpaceEntry, stored: dict[str, Space]
) -> Space:
    """Create, rename or move one space. Its parent is in its place already."""
    space = stored.get(entry.slug)
    parent = stored[entry.parent] if entry.parent else None
    if space is None:
        name = entry.name or entry.slug
        return create_space(by=work.by, group=group, parent=parent, name=name, slug=entry.slug)
    if entry.name is not None:
        space = rename_space(by=work.by, space=space, name=entry.name)
    if parent is not None and space.parent_id != parent.pk:
        space = move_space(by=work.by, space=space, parent=parent)
    return space


def _from_the_top(
    work: Application, path: Path, entries: list[SpaceEntry], root: Space
) -> list[tuple[int, SpaceEntry]] | None:
    """Return the entries with parents before children, or note why that is impossible."""
    places: dict[str, int] = {}
    for place, entry in enumerate(entries):
        if entry.slug in places:
            work.refuse((*path, place, "slug"), f"the space {entry.slug!r} is there twice")
            return None
        if entry.parent is None and entry.slug != root.slug:
            reason = f"needs a parent: the group's root is called {root.slug!r}"
            work.refuse((*path, place), reason)
            return None
        if entry.parent is not None and entry.slug == root.slug:
            work.refuse((*path, place, "parent"), "the root has no parent")
            return None
        places[entry.slug] = place
    known = {root.slug}
    if not work.prune:
        known |= set(Space.objects.filter(group=root.group_id).values_list("slug", flat=True))
        known -= places.keys() - {root.slug}
    waiting = dict(enumerate(entries))
    ordered: list[tuple[int, SpaceEntry]] = []
    while ready := [n for n, one in waiting.items() if one.parent is None or one.parent in known]:
        ordered += [(place, waiting.pop(place)) for place in ready]
        known |= {entry.slug for _, entry in ordered}
    for place, entry in waiting.items():
        reason = f"the parent {entry.parent!r} is no space of the group, or is below this one"
        work.refuse((*path, place, "parent"), reason)
    return None if waiting else ordered
