"""Applying quotas: set where their tool is there, and kept where it is gone."""

from typing import Any

from catalog.access.kept_limits import keep_for, lift
from catalog.models import KeptLimit
from discovery.calls.quotas import check_quota, delete_quota, set_quota
from marketplace.config_file._application import Application
from marketplace.config_file._document import QuotaEntry
from marketplace.config_file.export_service import quota_key, stored_quotas
from marketplace.config_file.text import Path


def apply_quotas(work: Application) -> None:
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


def _apply_quota(work: Application, path: Path, entry: QuotaEntry) -> None:
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
