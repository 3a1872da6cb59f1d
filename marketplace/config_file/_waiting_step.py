"""Applying limits that wait for what they name: kept where it is gone, set where it is there."""

from typing import Any

from acl.models import Space
from catalog.access.grants import set_restricted
from catalog.access.kept_limits import keep_for, lift, list_kept_settings
from catalog.models import Capability, Integration, KeptLimit, Rule
from catalog.registration.admin_corrections import correct_capability
from discovery.calls.quotas import set_call_limit
from discovery.flow_guard.rules import set_flow_rule
from marketplace.config_file._application import Application
from marketplace.config_file._document import WaitingEntry
from marketplace.config_file.export_service import waiting_entry, waiting_key
from marketplace.config_file.text import Path

_EFFECTS = {"blocked": Rule.Effect.DENY, "propose": Rule.Effect.PROPOSE}
_STRICTNESS = [access.value for access in Capability.AIAccess]


def apply_waiting(work: Application) -> None:
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


def _apply_entry(work: Application, path: Path, entry: WaitingEntry) -> None:
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


def _restrict(work: Application, tool: Capability, access: str) -> None:
    """Give a tool that is there the access, unless its own is stricter."""
    if _STRICTNESS.index(access) > _STRICTNESS.index(tool.ai_access):
        tool.ai_access = access
        correct_capability(by=work.by, capability=tool, changed=["ai_access"])


def _space_of(work: Application, path: Path, entry: WaitingEntry) -> Space | None:
    if entry.space is None:
        return None
    names = {"group__name": entry.space.group, "slug": entry.space.slug}
    space = Space.objects.filter(**names).first()
    if space is None:
        work.refuse((*path, "space"), f"{entry.space.group} has no space {entry.space.slug!r}")
    return space
