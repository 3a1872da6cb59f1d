"""Applying policies: settings of tools, the guard on flows, and trusted values."""

from acl.models import Space
from catalog.models import Capability
from catalog.registration.admin_corrections import change_tool
from discovery.flow_guard.rules import distrust_value, remove_flow_rule, set_flow_rule, trust_value
from discovery.models import FlowRule, TrustedValue
from marketplace.config_file._application import Application
from marketplace.config_file._document import FlowRuleEntry, SpaceReference, ToolEntry
from marketplace.config_file.text import Path

Place = tuple[int, int, int]  # tool, space and group, 0 for none
_COLUMNS = {
    "access": "ai_access",
    "core": "core",
    "pinned": "pinned",
    "effect": "side_effect",
    "effect_flags": "effect_flags",
}


def apply_policies(work: Application) -> None:
    """Apply settings of tools, rules of the guard on flows, and trusted values."""
    names: set[str] = set()
    for place, entry in enumerate(work.document.tools or []):
        path: Path = ("tools", place, "name")
        if entry.name in names:
            work.refuse(path, f"the tool {entry.name!r} is there twice")
            continue
        names.add(entry.name)
        if (tool := work.tool(entry.name, path)) is not None:
            _apply_tool(work, entry, Capability.objects.get(pk=tool.pk))
    _apply_flow_rules(work)
    _apply_trusted_values(work)


def _apply_tool(work: Application, entry: ToolEntry, tool: Capability) -> None:
    values = {column: getattr(entry, name) for name, column in _COLUMNS.items()}
    values = {column: value for column, value in values.items() if value is not None}
    change_tool(by=work.by, pk=tool.pk, values=values)


def _apply_flow_rules(work: Application) -> None:
    entries = work.document.flow_rules
    if entries is None:
        return
    keys: set[Place] = set()
    for place, entry in enumerate(entries):
        key = _apply_flow_rule(work, ("flow_rules", place), entry, keys)
        if key is not None:
            keys.add(key)
    for rule in FlowRule.objects.select_related("capability", "space", "group"):
        if (
            work.prune
            and (rule.capability_id or 0, rule.space_id or 0, rule.group_id or 0) not in keys
        ):
            remove_flow_rule(by=work.by, rule=rule)


def _apply_flow_rule(
    work: Application,
    path: Path,
    entry: FlowRuleEntry,
    keys: set[Place],
) -> Place | None:
    tool = work.tool(entry.tool, (*path, "tool")) if entry.tool else None
    group = work.group(entry.group, (*path, "group")) if entry.group else None
    space = _space(work, (*path, "space"), entry.space) if entry.space else None
    names, rows = (entry.tool, entry.group, entry.space), (tool, group, space)
    if any(name and two is None for name, two in zip(names, rows, strict=True)):
        return None
    key: Place = (tool.pk if tool else 0, space.pk if space else 0, group.pk if group else 0)
    if key in keys:
        work.refuse(path, "is there twice")
        return None
    set_flow_rule(by=work.by, mode=entry.mode, capability=tool, space=space, group=group)
    return key


def _space(work: Application, path: Path, reference: SpaceReference) -> Space | None:
    if (group := work.group(reference.group, (*path, "group"))) is None:
        return None
    space = Space.objects.filter(group=group, slug=reference.slug).first()
    if space is None:
        work.refuse(path, f"{reference.group} has no space called {reference.slug!r}")
    return space


def _apply_trusted_values(work: Application) -> None:
    entries = work.document.trusted_values
    if entries is None:
        return
    for place, entry in enumerate(entries):
        if entry.value in {trusted.value for trusted in entries[:place]}:
            work.refuse(("trusted_values", place, "value"), "is there twice")
        else:
            trust_value(by=work.by, value=entry.value, note=entry.note)
    values = {trusted.value for trusted in entries}
    for value in TrustedValue.objects.values_list("value", flat=True) if work.prune else ():
        if value not in values:
            distrust_value(by=work.by, value=value)
