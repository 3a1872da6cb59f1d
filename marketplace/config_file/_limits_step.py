"""Applying limits: quotas, which are kept where their tool is gone, and chat applications."""

from typing import Any

from acl.models import Application, Space
from catalog.access.grants import set_restricted
from catalog.access.kept_limits import keep_for, lift, list_kept_settings
from catalog.models import Capability, Integration, KeptLimit, Rule
from catalog.registration.admin_corrections import correct_capability
from discovery.applications.service import (
    LIMITS,
    ApplicationFields,
    change_application,
    create_application,
    delete_application,
    list_applications,
)
from discovery.calls.flow_check import set_flow_rule
from discovery.calls.quotas import check_quota, delete_quota, set_call_limit, set_quota
from marketplace.config_file._application import FileRun
from marketplace.config_file._document import ApplicationEntry, QuotaEntry, WaitingEntry
from marketplace.config_file.export_service import (
    application_entries,
    quota_key,
    stored_quotas,
    waiting_entry,
    waiting_key,
)
from marketplace.config_file.text import Path


def apply_quotas(work: FileRun) -> None:
    """Apply the section `quotas`; with `prune`, delete the others. Those of people stay where the
    file has no section about people."""
    entries = work.document.quotas
    if entries is None:
        return
    stored, keys = stored_quotas(), set()
    for place, entry in enumerate(entries):
        values = entry.model_dump(exclude_defaults=True)
        if (key := quota_key(values)) in keys:
            work.refuse(("quotas", place), "is there twice")
        keys.add(key)
        if key not in stored or stored[key][1] != values:
            _apply_quota(work, ("quotas", place), entry)
    for key, (row, _) in stored.items() if work.prune else ():
        if key in keys or (row.user and work.document.people is None):
            continue
        if isinstance(row, KeptLimit):
            lift(by=work.by, limit=row)
        else:
            delete_quota(by=work.by, quota=row)


def _apply_quota(work: FileRun, path: Path, entry: QuotaEntry) -> None:
    user = work.person(entry.user, (*path, "user")) if entry.user else None
    group = work.group(entry.group, (*path, "group")) if entry.group else None
    if (entry.user and user is None) or (entry.group and group is None):
        return
    limits: dict[str, Any] = {"measure": entry.measure, "soft": entry.soft, "hard": entry.hard}
    limits["each_person"] = entry.each_person
    with work.at(path):
        if entry.waits and entry.tool and work.is_gone("", entry.tool):
            check_quota(user=user, **limits)
            terms = limits | {"former_names": []}
            row = KeptLimit(kind="quotas", terms=terms, user=user, group=group)
            keep_for(by=work.by, row=row, integration="", full_name=entry.tool)
            return
        tool = work.tool(entry.tool, (*path, "tool")) if entry.tool else None
        if tool is not None or not entry.tool:
            set_quota(by=work.by, user=user, group=group, capability=tool, **limits)


# Applying limits that wait for what they name: kept where it is gone, set where it is there.

_EFFECTS = {"blocked": Rule.Effect.DENY, "propose": Rule.Effect.PROPOSE}
_STRICTNESS = [access.value for access in Capability.AIAccess]


def apply_waiting(work: FileRun) -> None:
    """Apply the section `waiting`; with `prune`, lift what else waits."""
    entries = work.document.waiting
    if entries is None:
        return
    stored = {waiting_key(waiting_entry(row)): row for row in list_kept_settings()}
    wanted = set()
    for place, entry in enumerate(entries):
        key = waiting_key(entry.model_dump(exclude_none=True))
        if key in wanted:
            work.refuse(("waiting", place), "is there twice")
        wanted.add(key)
        if key not in stored:
            _apply_entry(work, ("waiting", place), entry)
    for key, row in stored.items() if work.prune else ():
        if key not in wanted:
            lift(by=work.by, limit=row)


def _apply_entry(work: FileRun, path: Path, entry: WaitingEntry) -> None:
    slug, name = entry.integration or "", entry.tool or ""
    group = work.group(entry.group, (*path, "group")) if entry.group else None
    space = _space_of(work, path, entry)
    if (entry.group and group is None) or (entry.space and space is None):
        return
    where: dict[str, Any] = {"group": group, "space": space}
    if work.is_gone(slug, name):
        row = KeptLimit(**where)
        if entry.mode:
            row.kind, row.terms = "flow_rules", {"mode": entry.mode}
        elif entry.calls_per_minute:
            row.kind, row.terms = "call_limits", {"a_minute": entry.calls_per_minute}
        else:
            row.effect = _EFFECTS[entry.access or "blocked"]
        keep_for(by=work.by, row=row, integration=slug, full_name=name)
    elif slug:
        integration = Integration.objects.get(slug=slug)
        if entry.calls_per_minute:
            set_call_limit(by=work.by, integration=integration, a_minute=entry.calls_per_minute)
        else:
            set_restricted(by=work.by, integration=integration, restricted=True)
    elif entry.mode:
        tool = Capability.objects.get(full_name=name)
        set_flow_rule(by=work.by, mode=entry.mode, capability=tool, **where)
    elif entry.access:
        _restrict(work, Capability.objects.get(full_name=name), entry.access)


def _restrict(work: FileRun, tool: Capability, access: str) -> None:
    """Give a tool that is there the access, unless its own is stricter."""
    if _STRICTNESS.index(access) > _STRICTNESS.index(tool.ai_access):
        tool.ai_access = access
        correct_capability(by=work.by, capability=tool, changed=["ai_access"])


def _space_of(work: FileRun, path: Path, entry: WaitingEntry) -> Space | None:
    if entry.space is None:
        return None
    names = {"group__name": entry.space.group, "slug": entry.space.slug}
    space = Space.objects.filter(**names).first()
    if space is None:
        work.refuse((*path, "space"), f"{entry.space.group} has no space {entry.space.slug!r}")
    return space


def apply_applications(work: FileRun) -> None:
    """Apply the section `applications`; with `prune`, delete the others, which revokes their keys.

    One that names an integration that is not here yet is applied with those that are.
    """
    entries = work.document.applications
    if entries is None:
        return
    stored = {row.name: row for row in list_applications()}
    exported = {entry["name"]: entry for entry in application_entries()}
    names: set[str] = set()
    for place, entry in enumerate(entries):
        path: Path = ("applications", place)
        if entry.name in names:
            work.refuse((*path, "name"), f"the application {entry.name!r} is there twice")
            continue
        names.add(entry.name)
        if exported.get(entry.name) != entry.model_dump(exclude_defaults=True):
            _apply_application(work, path, entry, stored.get(entry.name))
    for name, row in stored.items() if work.prune else ():
        if name not in names:
            delete_application(by=work.by, application=row)


def _apply_application(
    work: FileRun, path: Path, entry: ApplicationEntry, row: Application | None
) -> None:
    group = work.group(entry.group, (*path, "group")) if entry.group else None
    if entry.group and group is None:
        return
    slugs = entry.integrations or []
    integrations = [work.integration(slug, (*path, "integrations")) for slug in slugs]
    fields = ApplicationFields(
        name=entry.name,
        description=entry.description,
        group=group,
        defaults=entry.defaults,
        integrations=tuple(row for row in integrations if row is not None),
        all_integrations=entry.integrations is None,
        **{limit: getattr(entry, limit) for limit in LIMITS},
        alert_below=None if entry.alert_below is None else float(entry.alert_below),
    )
    with work.at(path):
        if row is None:
            create_application(by=work.by, fields=fields)
        else:
            change_application(by=work.by, application=row, fields=fields)
