"""Applying a configuration file: in one transaction, through the services that the pages use.

A plan is the same run, rolled back at its end: it is exact, and finds whatever would be refused.
"""

from dataclasses import dataclass
from hashlib import sha256

from django.contrib.auth.models import User
from django.db import transaction

from acl.audit.recorder import record
from acl.models import Space
from acl.models.api_key import Rank
from acl.people.groups import map_group, stored_pairs, unmap_group
from acl.rights.delegation import authority_of
from catalog.locks import lock_catalog
from catalog.models import Capability, Integration
from catalog.registration.admin_corrections import change_tool
from discovery.calls.flow_check import distrust_value, remove_flow_rule, set_flow_rule, trust_value
from discovery.models import FlowRule, TrustedValue
from marketplace.config_file._application import EntryChange, FileRun, Waiting, compare
from marketplace.config_file._document import FlowRuleEntry, SpaceReference
from marketplace.config_file._integration_step import (
    apply_allowed_hosts,
    apply_integrations,
    apply_own_servers,
)
from marketplace.config_file._limits_step import apply_applications, apply_quotas, apply_waiting
from marketplace.config_file._rights_step import apply_groups, apply_rights
from marketplace.config_file.export_service import Values, export_document
from marketplace.config_file.text import (
    ConfigurationRefused,
    Path,
    Problem,
    ReadDocument,
    read_document,
)
from marketplace.installs.state import lock_integration

# Applying policies: settings of tools, the guard on flows, and trusted values.

Place = tuple[int, int, int]  # tool, space and group, 0 for none
_COLUMNS = {
    "rename": "name",
    "title": "title",
    "description": "description",
    "access": "ai_access",
    "core": "core",
    "pinned": "pinned",
    "effect": "side_effect",
    "effect_flags": "effect_flags",
}


def apply_policies(work: FileRun) -> None:
    """Apply settings of tools, rules of the guard on flows, and trusted values."""
    names: set[str] = set()
    for place, entry in enumerate(work.document.tools or []):
        path: Path = ("tools", place, "name")
        if entry.name in names:
            work.refuse(path, f"the tool {entry.name!r} is there twice")
            continue
        names.add(entry.name)
        if (tool := work.tool(entry.name, path)) is not None:
            with work.at(path[:2]):
                values = {column: getattr(entry, name) for name, column in _COLUMNS.items()}
                values = {column: value for column, value in values.items() if value is not None}
                change_tool(by=work.by, pk=(Capability.objects.get(pk=tool.pk)).pk, values=values)
    work.load_names()  # renamed tools, too
    _apply_flow_rules(work)
    _apply_trusted_values(work)


def _apply_flow_rules(work: FileRun) -> None:
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
    work: FileRun,
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


def _space(work: FileRun, path: Path, reference: SpaceReference) -> Space | None:
    if (group := work.group(reference.group, (*path, "group"))) is None:
        return None
    space = Space.objects.filter(group=group, slug=reference.slug).first()
    if space is None:
        work.refuse(path, f"{reference.group} has no space called {reference.slug!r}")
    return space


def _apply_trusted_values(work: FileRun) -> None:
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


def _apply_sign_in_groups(work: FileRun) -> None:
    """Apply the section `sign_in_groups`; those of PEGBOARD_OIDC_GROUPS are the operator's."""
    entries = work.document.sign_in_groups
    if entries is None:
        return
    stored = {(row.value, row.group.name): row for row in stored_pairs()}
    pairs: set[tuple[str, str]] = set()
    for place, entry in enumerate(entries):
        path: Path = ("sign_in_groups", place)
        pair = (entry.value, entry.group)
        if pair in pairs:
            work.refuse(path, "is there twice")
        elif pair not in stored and (group := work.group(entry.group, (*path, "group"))):
            with work.at(path):
                map_group(by=work.by, value=entry.value, group=group)
        pairs.add(pair)
    for pair, row in stored.items() if work.prune else ():
        if pair not in pairs:
            unmap_group(by=work.by, row=row)


MOST_RECORDED = 200


@dataclass(frozen=True, slots=True)
class Applied:
    """Changes that a file makes, entries that wait, and what an admin has to do next."""

    changes: tuple[EntryChange, ...]
    waiting: tuple[Waiting, ...]
    notes: tuple[str, ...]

    @property
    def deletes(self) -> int:
        """Return the number of deleted entries."""
        return sum(change.action == "delete" for change in self.changes)

    def as_json(self) -> Values:
        """Return it for programs."""
        return {
            "changes": [change.as_json() for change in self.changes],
            "waiting": [
                {"line": entry.line, "path": entry.path, "reason": entry.reason}
                for entry in self.waiting
            ],
            "notes": list(self.notes),
        }


def apply_text(
    *, by: User | None, text: str, source: str, prune: bool = False, dry_run: bool = False
) -> Applied:
    """Apply a file's text, or with `dry_run` only say what that would change.

    `by` is None for the operator at the shell. Raises ConfigurationRefused with every error found;
    nothing is changed then.
    """
    if authority_of(by).rank < Rank.STAFF:
        raise ConfigurationRefused([Problem(0, "", "only an admin may apply a configuration")])
    document = read_document(text)
    with transaction.atomic():
        applied = _apply(by, document, prune=prune)
        if applied.changes and not dry_run:
            details = {
                "sha256": sha256(text.encode()).hexdigest(),
                "prune": prune,
                "changes": len(applied.changes),
                "changed": [
                    f"{change.action} {change.kind} {change.name}"
                    for change in applied.changes[:MOST_RECORDED]
                ],
            }
            record(by=by, action="configuration.apply", target=source, details=details)
        transaction.set_rollback(dry_run)
    return applied


def _apply(by: User | None, document: ReadDocument, *, prune: bool) -> Applied:
    work = FileRun(by=by, read=document, prune=prune)
    _lock(work)
    before = export_document()
    apply_groups(work)
    apply_allowed_hosts(work)
    apply_own_servers(work)
    apply_integrations(work)
    work.load_names()
    _apply_sign_in_groups(work)
    apply_policies(work)
    apply_quotas(work)
    apply_applications(work)
    apply_waiting(work)
    apply_rights(work)
    if work.problems:
        raise ConfigurationRefused(sorted(work.problems, key=lambda entry: entry.line))
    changes = compare(before, export_document())
    waiting = sorted(dict.fromkeys(work.waiting), key=lambda entry: entry.line)
    return Applied(tuple(changes), tuple(waiting), tuple(dict.fromkeys(work.notes)))


def _lock(work: FileRun) -> None:
    """Take the locks of integrations before the catalogue's, as every other writer does."""
    if work.document.integrations is None:
        return
    rows = Integration.objects.order_by("pk")
    if not work.prune:
        rows = rows.filter(
            slug__in=[integration.slug for integration in work.document.integrations]
        )
    for pk in rows.values_list("pk", flat=True):
        lock_integration(pk)
    lock_catalog()
