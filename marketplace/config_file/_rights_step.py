"""Applying rights: grants to groups and people, and rules in spaces."""

from collections import defaultdict
from typing import Any, NamedTuple

from django.contrib.auth.models import Group, User

from acl.models import Space
from acl.people.groups import create_group, delete_group, set_joined_by_default
from acl.people.spaces import (
    create_space,
    delete_space,
    ensure_root,
    move_space,
    rename_space,
    set_open,
)
from catalog.access.grants import grant, list_grants, revoke
from catalog.access.kept_limits import keep_for, lift, list_kept_rules
from catalog.access.rules import ABOUT_SHARED, add_rule, remove_rule
from catalog.models import Capability, Integration, KeptLimit, Rule
from marketplace.config_file._application import FileRun
from marketplace.config_file._document import GroupEntry, PersonEntry, SpaceEntry, TargetedRule
from marketplace.config_file.text import Path


class RuleKey(NamedTuple):
    """Names in a rule, empty where it has none; without its effect."""

    group: str
    space: str
    integration: str
    tool: str
    for_group: str
    user: str


def apply_rights(work: FileRun) -> None:
    """Apply grants and rules of the file's groups and people."""
    stored = _stored_rules()
    effects_by_key: dict[RuleKey, set[int]] = defaultdict(set)
    for place, entry in enumerate(work.document.groups or []):
        path: Path = ("groups", place)
        if (group := work.group(entry.name, path)) is None:
            continue
        _apply_grants(work, path, entry, {"group": group})
        for number, rule in enumerate(entry.rules or []):
            key = _key(rule, entry.name, for_group=rule.group or "")
            _apply_rule(work, (*path, "rules", number), key, rule, stored, effects_by_key)
    for place, person_entry in enumerate(work.document.people or []):
        path = ("people", place)
        if (person := work.person(person_entry.user, (*path, "user"))) is None:
            continue
        _apply_grants(work, path, person_entry, {"user": person})
        for number, person_rule in enumerate(person_entry.rules or []):
            key = _key(person_rule, person_rule.group, user=person_entry.user)
            _apply_rule(work, (*path, "rules", number), key, person_rule, stored, effects_by_key)
    _remove_rules(work, stored, effects_by_key)
    if work.prune and work.document.people is not None:
        _prune_people(work)


def _apply_grants(
    work: FileRun, path: Path, entry: GroupEntry | PersonEntry, subject: dict[str, Any]
) -> None:
    slugs, names = list_grants(**subject)
    for field, entries, had in (
        ("integrations", entry.integrations, set(slugs)),
        ("tools", entry.tools, set(names)),
    ):
        for place, name in enumerate(entries or []):
            find = work.integration if field == "integrations" else work.tool
            target: Integration | Capability | None = find(name, (*path, field, place))
            if target is not None and name not in had:
                grant(by=work.by, target=target, **subject)
        if work.prune and entries is not None:
            for name in sorted(had - set(entries)):
                revoke(by=work.by, target=_granted(field, name), **subject)


def _granted(field: str, name: str) -> Integration | Capability:
    if field == "integrations":
        return Integration.objects.get(slug=name)
    return Capability.objects.get(full_name=name)


def _key(rule: TargetedRule, group: str, *, for_group: str = "", user: str = "") -> RuleKey:
    return RuleKey(group, rule.space, rule.integration or "", rule.tool or "", for_group, user)


def _apply_rule(
    work: FileRun,
    path: Path,
    key: RuleKey,
    rule: TargetedRule,
    stored: dict[RuleKey, dict[int, list[Rule]]],
    effects_by_key: dict[RuleKey, set[int]],
) -> None:
    effect = Rule.Effect[rule.effect.upper()]
    effects_by_key[key].add(effect)
    if effect in stored.get(key, {}):
        return
    space = _space(work, path, key)
    of_group = work.group(key.for_group, (*path, "group")) if key.for_group else None
    person = work.person(key.user, path) if key.user else None
    lacks_subject = (key.for_group and of_group is None) or (key.user and person is None)
    if rule.waits and work.is_gone(key.integration, key.tool):
        if space is not None and not lacks_subject:
            row = KeptLimit(effect=effect, space=space, user=person, group=of_group)
            keep_for(by=work.by, row=row, integration=key.integration, full_name=key.tool)
        return
    about: dict[str, Any] = {}
    if key.integration:
        about["integration"] = work.integration(key.integration, (*path, "integration"))
    else:
        about["capability"] = work.tool(key.tool, (*path, "tool"))
    if space is None or lacks_subject or None in about.values():
        return
    with work.at(path):
        add_rule(by=work.by, space=space, effect=effect, user=person, group=of_group, **about)


def _space(work: FileRun, path: Path, key: RuleKey) -> Space | None:
    if (group := work.group(key.group, (*path, "group"))) is None:
        return None
    space = Space.objects.filter(group=group, slug=key.space).first()
    if space is None:
        work.refuse((*path, "space"), f"{key.group} has no space called {key.space!r}")
    return space


def _remove_rules(
    work: FileRun,
    stored: dict[RuleKey, dict[int, list[Rule]]],
    effects_by_key: dict[RuleKey, set[int]],
) -> None:
    """Remove rules that the file replaces by another effect, and with `prune` the others."""
    pruned_groups = {entry.name for entry in work.document.groups or [] if entry.rules is not None}
    pruned_people = {entry.user for entry in work.document.people or [] if entry.rules is not None}
    for key, by_effect in stored.items():
        in_section = key.user in pruned_people if key.user else key.group in pruned_groups
        if key not in effects_by_key and not (work.prune and in_section):
            continue
        for effect, rules in by_effect.items():
            for rule in rules if effect not in effects_by_key.get(key, ()) else ():
                remove_rule(by=work.by, rule=rule)
    for limit in list_kept_rules():
        key = RuleKey(
            limit.space.group.name if limit.space else "",
            limit.space.slug if limit.space else "",
            "" if limit.full_name else limit.integration,
            limit.full_name,
            limit.group.name if limit.group else "",
            limit.user.username if limit.user else "",
        )
        in_section = key.user in pruned_people if key.user else key.group in pruned_groups
        decided = key in effects_by_key or (work.prune and in_section)
        if decided and limit.effect not in effects_by_key.get(key, ()):
            lift(by=work.by, limit=limit)


def _prune_people(work: FileRun) -> None:
    """Take back everything that was given to people whom the file does not name."""
    usernames = {entry.user for entry in work.document.people or []}
    shared = Rule.objects.filter(ABOUT_SHARED)
    for rule in shared.exclude(user=None).select_related("user", "space__group"):
        if rule.user is not None and rule.user.username not in usernames:
            remove_rule(by=work.by, rule=rule)
    for limit in list_kept_rules().exclude(user=None):
        if limit.user is not None and limit.user.username not in usernames:
            lift(by=work.by, limit=limit)
    tables = ("integrationuserpermission", "capabilityuserpermission")
    querysets = [User.objects.exclude(**{table: None}) for table in tables]
    for person in (
        User.objects.filter(pk__in=[person.pk for some in querysets for person in some])
        .exclude(username__in=usernames)
        .order_by("username")
    ):
        slugs, names = list_grants(user=person)
        for field, granted in (("integrations", slugs), ("tools", names)):
            for name in granted:
                revoke(by=work.by, target=_granted(field, name), user=person)


def _stored_rules() -> dict[RuleKey, dict[int, list[Rule]]]:
    rules: dict[RuleKey, dict[int, list[Rule]]] = {}
    related = ("space__group", "integration", "capability", "user", "group")
    for rule in Rule.objects.filter(ABOUT_SHARED).select_related(*related).order_by("pk"):
        key = RuleKey(
            rule.space.group.name,
            rule.space.slug,
            rule.integration.slug if rule.integration else "",
            rule.capability.full_name if rule.capability else "",
            rule.group.name if rule.group else "",
            rule.user.username if rule.user else "",
        )
        rules.setdefault(key, {}).setdefault(rule.effect, []).append(rule)
    return rules


# Applying groups with their defaults, and the trees of their spaces.


def apply_groups(work: FileRun) -> None:
    """Create groups and their spaces, and set their defaults; with `prune` delete the others."""
    entries = work.document.groups
    if entries is None:
        return
    stored = {group.name: group for group in Group.objects.all()}
    for place, entry in enumerate(entries):
        path: Path = ("groups", place)
        if entry.name in {earlier.name for earlier in entries[:place]}:
            work.refuse((*path, "name"), f"the group {entry.name!r} is there twice")
            continue
        with work.at((*path, "name")):
            _apply_group(work, path, entry, stored.get(entry.name))
    if not work.prune:
        return
    names = {entry.name for entry in entries}
    for name in sorted(stored.keys() - names):
        with work.at(("groups",)):
            delete_group(by=work.by, group=stored[name])


def _apply_group(work: FileRun, path: Path, entry: GroupEntry, group: Group | None) -> None:
    is_open = entry.default == "open"
    if group is None:
        group = create_group(by=work.by, name=entry.name, is_open=is_open)
    elif entry.default is not None:
        set_open(by=work.by, group=group, is_open=is_open)
    if entry.joined_by_default is not None:
        set_joined_by_default(by=work.by, group=group, joined=entry.joined_by_default)
    if entry.spaces is not None:
        _apply_spaces(work, (*path, "spaces"), group, entry.spaces)


def _apply_spaces(work: FileRun, path: Path, group: Group, entries: list[SpaceEntry]) -> None:
    root = ensure_root(group)
    ordered = _from_the_top(work, path, entries, root)
    if ordered is None:
        return
    stored = {space.slug: space for space in Space.objects.filter(group=group)}
    for place, entry in ordered:
        with work.at((*path, place)):
            stored[entry.slug] = _apply_space(work, group, entry, stored)
    slugs = {entry.slug for entry in entries}
    for slug in sorted(stored.keys() - slugs - {root.slug}) if work.prune else ():
        with work.at(path):
            delete_space(by=work.by, space=stored[slug])


def _apply_space(work: FileRun, group: Group, entry: SpaceEntry, stored: dict[str, Space]) -> Space:
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
    work: FileRun, path: Path, entries: list[SpaceEntry], root: Space
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
    slugs = {root.slug}
    if not work.prune:
        slugs |= set(Space.objects.filter(group=root.group_id).values_list("slug", flat=True))
        slugs -= places.keys() - {root.slug}
    waiting = dict(enumerate(entries))
    ordered: list[tuple[int, SpaceEntry]] = []
    while ready := [
        n
        for n, candidate in waiting.items()
        if candidate.parent is None or candidate.parent in slugs
    ]:
        ordered += [(place, waiting.pop(place)) for place in ready]
        slugs |= {entry.slug for _, entry in ordered}
    for place, entry in waiting.items():
        reason = f"the parent {entry.parent!r} is no space of the group, or is below this one"
        work.refuse((*path, place, "parent"), reason)
    return None if waiting else ordered
