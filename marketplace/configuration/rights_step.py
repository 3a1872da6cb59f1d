"""Applying rights: grants to groups and people, and rules in spaces."""

from collections import defaultdict
from typing import Any, NamedTuple

from django.contrib.auth.models import User

from acl.models import Space
from catalog.access.grants import grant, list_grants, revoke
from catalog.access.kept_limits import keep_for, lift, list_kept
from catalog.access.rules import add_rule, remove_rule
from catalog.models import Capability, Integration, KeptLimit, Rule
from marketplace.configuration.application import Application
from marketplace.configuration.config_text import Path
from marketplace.configuration.document import GroupEntry, PersonEntry, TargetedRule


class RuleKey(NamedTuple):
    """Names in a rule, empty where it has none; without its effect."""

    group: str
    space: str
    integration: str
    tool: str
    for_group: str
    user: str


def apply_rights(work: Application) -> None:
    """Apply grants and rules of the file's groups and people."""
    stored = _stored_rules()
    wanted: dict[RuleKey, set[int]] = defaultdict(set)
    for place, entry in enumerate(work.document.groups or []):
        path: Path = ("groups", place)
        if (group := work.group(entry.name, path)) is None:
            continue
        _apply_grants(work, path, entry, {"group": group})
        for number, rule in enumerate(entry.rules or []):
            key = _key(rule, entry.name, for_group=rule.group or "")
            _apply_rule(work, (*path, "rules", number), key, rule, stored, wanted)
    for place, person_entry in enumerate(work.document.people or []):
        path = ("people", place)
        if (person := work.person(person_entry.user, (*path, "user"))) is None:
            continue
        _apply_grants(work, path, person_entry, {"user": person})
        for number, own in enumerate(person_entry.rules or []):
            key = _key(own, own.group, user=person_entry.user)
            _apply_rule(work, (*path, "rules", number), key, own, stored, wanted)
    _remove_rules(work, stored, wanted)
    if work.prune and work.document.people is not None:
        _prune_people(work)


def _apply_grants(
    work: Application, path: Path, entry: GroupEntry | PersonEntry, subject: dict[str, Any]
) -> None:
    slugs, names = list_grants(**subject)
    for field, wanted, had in (
        ("integrations", entry.integrations, set(slugs)),
        ("tools", entry.tools, set(names)),
    ):
        for place, name in enumerate(wanted or []):
            target = _target(work, (*path, field, place), field, name)
            if target is not None and name not in had:
                grant(by=work.by, target=target, **subject)
        if work.prune and wanted is not None:
            for name in sorted(had - set(wanted)):
                revoke(by=work.by, target=_granted(field, name), **subject)


def _target(
    work: Application, path: Path, field: str, name: str
) -> Integration | Capability | None:
    return work.integration(name, path) if field == "integrations" else work.tool(name, path)


def _granted(field: str, name: str) -> Integration | Capability:
    if field == "integrations":
        return Integration.objects.get(slug=name)
    return Capability.objects.get(full_name=name)


def _key(rule: TargetedRule, group: str, *, for_group: str = "", user: str = "") -> RuleKey:
    return RuleKey(group, rule.space, rule.integration or "", rule.tool or "", for_group, user)


def _apply_rule(
    work: Application,
    path: Path,
    key: RuleKey,
    rule: TargetedRule,
    stored: dict[RuleKey, dict[int, list[Rule]]],
    wanted: dict[RuleKey, set[int]],
) -> None:
    effect = Rule.Effect[rule.effect.upper()]
    wanted[key].add(effect)
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


def _space(work: Application, path: Path, key: RuleKey) -> Space | None:
    if (group := work.group(key.group, (*path, "group"))) is None:
        return None
    space = Space.objects.filter(group=group, slug=key.space).first()
    if space is None:
        work.refuse((*path, "space"), f"{key.group} has no space called {key.space!r}")
    return space


def _remove_rules(
    work: Application,
    stored: dict[RuleKey, dict[int, list[Rule]]],
    wanted: dict[RuleKey, set[int]],
) -> None:
    """Remove rules that the file replaces by another effect, and with `prune` the others."""
    pruned_groups = {one.name for one in work.document.groups or [] if one.rules is not None}
    pruned_people = {one.user for one in work.document.people or [] if one.rules is not None}
    for key, by_effect in stored.items():
        in_section = key.user in pruned_people if key.user else key.group in pruned_groups
        if key not in wanted and not (work.prune and in_section):
            continue
        for effect, rules in by_effect.items():
            for rule in rules if effect not in wanted.get(key, ()) else ():
                remove_rule(by=work.by, rule=rule)
    for kept in list_kept().exclude(space=None):
        key = _key_of(kept)
        in_section = key.user in pruned_people if key.user else key.group in pruned_groups
        decided = key in wanted or (work.prune and in_section)
        if decided and kept.effect not in wanted.get(key, ()):
            lift(by=work.by, kept=kept)


def _prune_people(work: Application) -> None:
    """Take back everything that was given to people whom the file does not name."""
    named = {one.user for one in work.document.people or []}
    for rule in Rule.objects.exclude(user=None).select_related("user", "space__group"):
        if rule.user is not None and rule.user.username not in named:
            remove_rule(by=work.by, rule=rule)
    for kept in list_kept().exclude(user=None):
        if kept.user is not None and kept.user.username not in named:
            lift(by=work.by, kept=kept)
    for person in _people_with_grants().exclude(username__in=named).order_by("username"):
        slugs, names = list_grants(user=person)
        for field, granted in (("integrations", slugs), ("tools", names)):
            for name in granted:
                revoke(by=work.by, target=_granted(field, name), user=person)


def _people_with_grants() -> Any:
    tables = ("integrationuserpermission", "capabilityuserpermission")
    found = [User.objects.exclude(**{table: None}) for table in tables]
    return User.objects.filter(pk__in=[one.pk for some in found for one in some])


def _key_of(kept: KeptLimit) -> RuleKey:
    return RuleKey(
        kept.space.group.name if kept.space else "",
        kept.space.slug if kept.space else "",
        "" if kept.full_name else kept.integration,
        kept.full_name,
        kept.group.name if kept.group else "",
        kept.user.username if kept.user else "",
    )


def _stored_rules() -> dict[RuleKey, dict[int, list[Rule]]]:
    found: dict[RuleKey, dict[int, list[Rule]]] = {}
    related = ("space__group", "integration", "capability", "user", "group")
    for rule in Rule.objects.select_related(*related).order_by("pk"):
        key = RuleKey(
            rule.space.group.name,
            rule.space.slug,
            rule.integration.slug if rule.integration else "",
            rule.capability.full_name if rule.capability else "",
            rule.group.name if rule.group else "",
            rule.user.username if rule.user else "",
        )
        found.setdefault(key, {}).setdefault(rule.effect, []).append(rule)
    return found
