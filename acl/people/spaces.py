"""Spaces: creating, renaming, moving and deleting them, and the root that every group has.

A group's spaces are one tree. Each change locks the group first: two moves at the same time could
otherwise create a cycle without a root.
"""

from typing import Any

from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.core.validators import slug_re
from django.db import transaction
from django.utils.text import slugify
from django.utils.translation import gettext as _

from acl.audit.recorder import record
from acl.models import GroupPolicy, Space
from acl.rights.delegation import Actor, check_group, check_installation
from acl.visible_text.pieces import check_plain_name

ROOT_NAME, ROOT_SLUG = "Root", "root"
DEEPEST = 32  # the statement walks no further up
LONGEST_NAME, LONGEST_SLUG = 120, 60


class SpaceRefused(Exception):
    """Refused change of a space: it would break the tree, or the name is unusable."""


@transaction.atomic
def create_space(
    *, by: Actor, group: Group, parent: Space | None, name: str, slug: str = ""
) -> Space:
    """Create a space below `parent`, whose rules it inherits, or below the root.

    Without a slug, it gets one from its name.
    """
    check_group(by, group)
    _lock(group)
    parent = _place(group, parent or ensure_root(group))
    _check_depth(parent, below=1)
    name = _checked(name)
    # Check a slug that was chosen, if one was.
    if len(slug) > LONGEST_SLUG or (slug and not slug_re.fullmatch(slug)):
        raise SpaceRefused(_("Enter a slug of letters, digits, hyphens and underscores."))
    if slug and Space.objects.filter(group=group, slug=slug).exists():
        raise SpaceRefused(_("There is already a space with this slug."))
    space = Space.objects.create(
        group=group, parent=parent, name=name, slug=slug or _free_slug(group, name)
    )
    details = {"parent": parent.slug}
    record(by=by, action="space.created", target=str(space), details=details, groups=[group.pk])
    return space


@transaction.atomic
def rename_space(*, by: Actor, space: Space, name: str) -> Space:
    """Rename a space. Its slug stays, because requests use it."""
    check_group(by, space.group)
    before, space.name = space.name, _checked(name)
    if before != space.name:
        space.save(update_fields=["name"])
        details = {"before": before, "after": space.name}
        record(
            by=by, action="space.renamed", target=str(space), details=details,
            groups=[space.group_id],
        )  # fmt: skip
    return space


@transaction.atomic
def move_space(*, by: Actor, space: Space, parent: Space) -> Space:
    """Move a space with its descendants and rules below another parent.

    Other denies hold there: it takes as much as lifting a rule of others.
    """
    check_installation(by)
    _lock(space.group)
    space = Space.objects.select_related("group", "parent").get(pk=space.pk)
    parent = _place(space.group, parent)
    if space.parent is None:
        raise SpaceRefused(_("The root space cannot be moved: all other spaces are below it."))
    if space.pk in _up_from(parent):
        raise SpaceRefused(_("%(space)s cannot be moved below itself.") % {"space": space.name})
    # The height of the subtree, including the space.
    levels, row = 0, [space.pk]
    while row and levels <= DEEPEST:
        levels += 1
        row = list(Space.objects.filter(parent__in=row).values_list("pk", flat=True))
    _check_depth(parent, below=levels)
    before, space.parent = space.parent, parent
    if before != parent:
        space.save(update_fields=["parent"])
        details = {"before": before.slug, "after": parent.slug}
        record(by=by, action="space.moved", target=str(space), details=details)
    return space


@transaction.atomic
def delete_space(*, by: Actor, space: Space) -> None:
    """Delete a space with its own rules. Its children move up to its parent."""
    check_installation(by)
    _lock(space.group)
    space = Space.objects.select_related("group", "parent").get(pk=space.pk)
    if space.parent is None:
        raise SpaceRefused(
            _("The root space cannot be deleted: it answers requests that name no space.")
        )
    moved = Space.objects.filter(parent=space)
    details: dict[str, Any] = {
        "parent": space.parent.slug,
        "moved up": sorted(moved.values_list("slug", flat=True)),
    }
    moved.update(parent=space.parent)
    target = str(space)
    removed = Space.objects.filter(pk=space.pk).delete()[1]
    details["rules"] = removed.get("catalog.Rule", 0)
    record(by=by, action="space.removed", target=target, details=details)


def ensure_root(group: Group) -> Space:
    """Return the group's root space; create it and the policy if they are missing."""
    GroupPolicy.objects.get_or_create(group=group)
    root = Space.objects.filter(group=group, parent=None).first()
    if root is not None:
        return root
    root, _ = Space.objects.get_or_create(
        group=group,
        parent=None,
        defaults={"name": ROOT_NAME, "slug": _free_slug(group, ROOT_SLUG)},
    )
    return root


@transaction.atomic
def set_open(*, by: Actor, group: Group, is_open: bool) -> bool:
    """Set whether members may use unrestricted tools by default; False if nothing changes."""
    policy, _ = GroupPolicy.objects.select_for_update().get_or_create(group=group)
    if policy.open_default == is_open:
        return False
    check_installation(by)
    policy.open_default = is_open
    policy.save(update_fields=["open_default"])
    record(by=by, action="group.opened" if is_open else "group.closed", target=f"group {group}")
    return True


def _lock(group: Group) -> None:
    Group.objects.select_for_update(no_key=True).get(pk=group.pk)


def _place(group: Group, parent: Space) -> Space:
    """Reload the parent, which must belong to the group."""
    place = Space.objects.filter(pk=parent.pk, group=group).first()
    if place is None:
        raise SpaceRefused(_("The parent must be a space of %(group)s.") % {"group": group})
    return place


def _up_from(space: Space) -> list[int]:
    """Return the ids of the space and its ancestors."""
    parents = dict(Space.objects.filter(group=space.group_id).values_list("pk", "parent_id"))
    above: list[int] = []
    place: int | None = space.pk
    while place is not None and place not in above:
        above.append(place)
        place = parents.get(place)
    return above


def _check_depth(parent: Space, *, below: int) -> None:
    if len(_up_from(parent)) + below > DEEPEST:
        raise SpaceRefused(_("Spaces can be at most %(levels)s levels deep.") % {"levels": DEEPEST})


def _checked(name: str) -> str:
    name = " ".join(name.split())
    if not name or len(name) > LONGEST_NAME:
        raise SpaceRefused(
            _("Enter a name of at most %(number)s characters.") % {"number": LONGEST_NAME}
        )
    try:
        check_plain_name(name)
    except ValidationError as problem:
        raise SpaceRefused(problem.message) from problem
    return name


def _free_slug(group: Group, name: str) -> str:
    """Derive a slug from the name, with a number if the group has it already."""
    stem = slugify(name)[:LONGEST_SLUG].strip("-_") or "space"
    taken = set(Space.objects.filter(group=group).values_list("slug", flat=True))
    slug, number = stem, 1
    while slug in taken:
        number += 1
        end = f"-{number}"
        slug = f"{stem[: LONGEST_SLUG - len(end)]}{end}"
    return slug
