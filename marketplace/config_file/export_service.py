"""Export of the configuration: rows to plain values, in a stable order, a few statements each.

Nothing here opens a secret: integrations name the secrets that they need. Addresses and commands
that look as if they held one are redacted.
"""

from collections import defaultdict
from collections.abc import Iterable
from decimal import Decimal
from operator import itemgetter
from typing import Any

from django.contrib.auth.models import Group, User
from django.db.models import F, Model

from acl.models import GroupPolicy, Space
from acl.people.groups import list_mapped_groups
from catalog.access.kept_limits import list_kept_quotas, list_kept_rules, list_kept_settings
from catalog.access.rules import ABOUT_SHARED
from catalog.effects.assessment import corrected_columns
from catalog.formats.secret_redaction import (
    REDACTED,
    redact_arguments,
    redact_text,
    strip_placeholders,
)
from catalog.models import (
    Capability,
    CapabilityGroupPermission,
    CapabilityUserPermission,
    Integration,
    IntegrationGroupPermission,
    IntegrationUserPermission,
    KeptLimit,
    Rule,
)
from catalog.models.integration import ReviewState
from catalog.registration.admin_corrections import WORDS
from catalog.servers.net.private_hosts import list_private_hosts
from discovery.applications.service import LIMITS, integrations_of, list_applications
from discovery.calls.quotas import call_limits, list_quotas
from discovery.models import FlowRule, Quota, TrustedValue
from marketplace.installs.own_servers import are_own_servers_allowed

Values = dict[str, Any]


def export_document(*, people: bool = True) -> Values:
    """Return the configuration as plain values, the sections in the order of the file.

    Without `people`, what single people were granted is left out, and so are the rules for them.
    """
    document: Values = {"groups": _groups()}
    limits = call_limits()
    if people:
        document["people"] = _people()
    rows = FlowRule.objects.filter(capability__integration__owner=None).select_related(
        "capability", "space__group", "group"
    )
    entries = [
        {"mode": row.mode, **({"tool": row.capability.full_name} if row.capability else {})}
        | _where(row)
        for row in rows
    ]
    return document | {
        "integrations": [
            integration_entry(row) | {"calls_per_minute": limits.get(row.pk, 0)}
            for row in exported_integrations()
        ],
        "tools": _tools(),
        "flow_rules": sorted(entries, key=flow_rule_key),
        "quotas": [
            entry
            for _key, (row, entry) in sorted(stored_quotas().items(), key=itemgetter(0))
            if people or row.user is None
        ],
        "applications": application_entries(),
        "sign_in_groups": [
            {"value": pair.value, "group": pair.group}
            for pair in list_mapped_groups()
            if pair.pk is not None
        ],
        "trusted_values": list(TrustedValue.objects.order_by("value").values("value", "note")),
        "allowed_hosts": sorted(map(str, list_private_hosts())),
        "own_servers": are_own_servers_allowed(),
        "waiting": sorted(map(waiting_entry, list_kept_settings()), key=waiting_key),
    }


def exported_integrations() -> Iterable[Integration]:
    """Return integrations by slug. Those that are being installed for the first time are no part
    of the configuration yet, and people's own servers never are."""
    shared = Integration.objects.filter(owner=None)
    return shared.exclude(state=ReviewState.PENDING).order_by("slug")


def integration_entry(row: Integration) -> Values:
    """Return an integration as the file has it."""
    entry: Values = {"slug": row.slug, "kind": row.kind, "title": row.title}
    texts = ("description", "publisher", "version", "licence", "homepage", "listing")
    # Empty ones, too: a field that is left out would stay as it is elsewhere.
    entry |= {name: getattr(row, name) for name in texts}
    if row.endpoint:
        entry["endpoint"] = redact_text(row.endpoint)
    if row.command:
        entry["command"] = list(redact_arguments(row.command)[0])
    marks = ("enabled", "restricted", "requestable", "application_executes")
    entry |= {name: getattr(row, name) for name in marks}
    if row.transport:
        entry |= {
            "transport": row.transport,
            "headers": headers_of(row),
            "required_secrets": list(row.required_secrets),
            "own_secrets": row.own_secrets,
        }
    if row.transport == "stdio":
        entry |= {"network": row.network, "allowed_hosts": sorted(row.allowed_hosts)}
    return entry


def headers_of(row: Integration) -> dict[str, str]:
    """Return the headers that requests to the server carry, secrets as placeholders."""
    headers = row.source_ref.get("headers") or {}
    return {str(name): redact_header(str(name), str(headers[name])) for name in sorted(headers)}


def redact_header(name: str, value: str) -> str:
    """Return the value, redacted if anything in it besides placeholders looks like a secret."""
    lines = (f"{name}: {value}", f"{name}: {strip_placeholders(value)}")
    return value if any(redact_text(line) == line for line in lines) else REDACTED


def _groups() -> list[Values]:
    policies = dict(GroupPolicy.objects.values_list("group", "open_default"))
    joined = set(GroupPolicy.objects.filter(joined_by_default=True).values_list("group", flat=True))
    spaces = _spaces()
    integrations = _granted(IntegrationGroupPermission, "group", "slug")
    tools = _granted(CapabilityGroupPermission, "group", "full_name")
    # The rules that are for no single person, by group.
    entries: dict[int, list[Values]] = defaultdict(list)
    for rule in (*_stored_rules().filter(user=None), *_kept_rules().filter(user=None)):
        entry = _rule_entry(rule)
        if rule.group is not None:
            entry["group"] = rule.group.name
        entries[rule.space.group_id].append(entry)
    rules = defaultdict(list, {pk: _distinct(some) for pk, some in entries.items()})
    return [
        {
            "name": group.name,
            "default": "open" if policies.get(group.pk) else "allow-listed",
            "joined_by_default": group.pk in joined,
            "spaces": spaces[group.pk],
            "integrations": integrations[group.pk],
            "tools": tools[group.pk],
            "rules": rules[group.pk],
        }
        for group in Group.objects.order_by("name", "pk")
    ]


def _spaces() -> dict[int, list[Values]]:
    entries: dict[int, list[Values]] = defaultdict(list)
    rows = Space.objects.select_related("parent").order_by(F("parent").asc(nulls_first=True))
    ordered = sorted(rows, key=lambda row: (row.parent_id is not None, row.slug))
    for space in ordered:
        entry: Values = {"slug": space.slug, "name": space.name}
        if space.parent is not None:
            entry["parent"] = space.parent.slug
        entries[space.group_id].append(entry)
    return entries


def _people() -> list[Values]:
    integrations = _granted(IntegrationUserPermission, "user", "slug")
    tools = _granted(CapabilityUserPermission, "user", "full_name")
    rules: dict[int, list[Values]] = defaultdict(list)
    for rule in (*_stored_rules().exclude(user=None), *_kept_rules().exclude(user=None)):
        entry = {"group": rule.space.group.name, **_rule_entry(rule)}
        rules[rule.user_id].append(entry)
    concerned = {*integrations, *tools, *rules}
    return [
        {
            "user": person.username,
            "integrations": integrations[person.pk],
            "tools": tools[person.pk],
            "rules": _distinct(rules[person.pk]),
        }
        for person in User.objects.filter(pk__in=concerned).order_by("username", "pk")
    ]


def _granted(table: type[Model], subject: str, name: str) -> dict[int, list[str]]:
    """Return granted names by the id of the user or the group."""
    names_by_subject: dict[int, list[str]] = defaultdict(list)
    owner = "owner" if name == "slug" else "integration__owner"
    shared = table._default_manager.filter(**{f"content_object__{owner}": None})
    rows = shared.values_list(f"{subject}_id", f"content_object__{name}")
    for pk, granted in sorted(set(rows)):
        names_by_subject[pk].append(granted)
    return names_by_subject


def _stored_rules() -> Any:
    related = ("space__group", "integration", "capability", "user", "group")
    return Rule.objects.filter(ABOUT_SHARED).select_related(*related)


def _kept_rules() -> Any:
    """Return the rules that wait for what they name, which are as much in force as the others."""
    return list_kept_rules()


def _rule_entry(rule: Rule | KeptLimit) -> Values:
    slug = rule.space.slug if rule.space else ""
    effect = Rule.Effect(rule.effect or 0)
    entry: Values = {"space": slug, "effect": effect.name.lower()}
    if isinstance(rule, KeptLimit):
        about = {"tool": rule.full_name} if rule.full_name else {"integration": rule.integration}
        return entry | about | {"waits": True}
    if rule.capability is not None:
        return entry | {"tool": rule.capability.full_name}
    return entry | {"integration": str(rule.integration)}


def _distinct(entries: list[Values]) -> list[Values]:
    """Sort the entries. Two rows that say the same are one entry."""
    by_key = {tuple(sorted(entry.items())): entry for entry in entries}
    return [by_key[key] for key in sorted(by_key)]


def _tools() -> list[Values]:
    """Return the tools whose settings are not the usual ones."""
    rows = Capability.objects.filter(integration__owner=None).exclude(
        ai_access=Capability.AIAccess.EXECUTE,
        core=False,
        pinned=False,
        effect_evidence={},
        source_texts={},
    )
    entries = (tool_entry(row) for row in rows.order_by("full_name").defer("input_schema"))
    return sorted((entry for entry in entries if len(entry) > 1), key=itemgetter("name"))


def tool_entry(row: Capability) -> Values:
    """Return an admin's settings of a tool as the file has them."""
    entry: Values = {"name": row.source_full_name}
    words = {"rename": row.tool_name, "title": row.display_name, "description": row.description}
    columns = zip(words, WORDS.values(), strict=True)
    entry |= {name: words[name] for name, column in columns if column in row.source_texts}
    if row.ai_access not in Capability.OF_SOURCES:
        entry["access"] = row.ai_access
    entry |= {name: True for name in ("core", "pinned") if getattr(row, name)}
    corrected = corrected_columns(row.effect_evidence)
    if "side_effect" in corrected:
        entry["effect"] = row.side_effect
    if "effect_flags" in corrected:
        entry["effect_flags"] = sorted(row.effect_flags)
    return entry


def _where(row: FlowRule | KeptLimit) -> Values:
    entry: Values = {"group": row.group.name} if row.group is not None else {}
    if row.space is not None:
        entry["space"] = {"group": row.space.group.name, "slug": row.space.slug}
    return entry


def stored_quotas() -> dict[tuple[str, ...], tuple[Quota | KeptLimit, Values]]:
    """Return all quotas and those that wait, each with its entry, by what they are about."""
    rows: list[Quota | KeptLimit] = [*list_kept_quotas(), *list_quotas()]
    entries = ((row, quota_entry(row)) for row in rows)
    return {quota_key(entry): (row, entry) for row, entry in entries}


def quota_entry(row: Quota | KeptLimit) -> Values:
    """Return a quota, or one that waits for its tool, as the file has it."""
    waits = isinstance(row, KeptLimit)
    terms = row.terms if isinstance(row, KeptLimit) else vars(row)
    target = row if isinstance(row, KeptLimit) else row.capability
    tool = target.full_name if target else ""
    entry: Values = {"measure": terms["measure"]}
    entry |= {name: terms[name] for name in ("soft", "hard") if terms[name] is not None}
    if tool:
        entry["tool"] = tool
    if row.group is not None:
        entry["group"] = row.group.name
    if row.user is not None:
        entry["user"] = row.user.get_username()
    return (
        entry
        | ({"each_person": True} if terms["each_person"] else {})
        | ({"waits": True} if waits else {})
    )


def quota_key(entry: Values) -> tuple[str, ...]:
    """Return what a quota is about, by which it is the same one."""
    names = (entry.get(name) or "" for name in ("tool", "group", "user", "measure"))
    return (*names, "for each person" if entry.get("each_person") else "")


def application_entries() -> list[Values]:
    """Return the chat applications as the file has them. An integration that is gone is left out,
    and so the last one leaves an empty list."""
    rows = list(list_applications())
    slugs = integrations_of(rows)
    entries = []
    for row in rows:
        entry: Values = {"name": row.name}
        entry |= {"description": row.description} if row.description else {}
        entry |= {"group": row.group.name} if row.group else {}
        entry |= {"defaults": dict(sorted(row.defaults.items()))} if row.defaults else {}
        if row.integrations:
            entry["integrations"] = sorted(slugs[pk] for pk in row.integrations if pk in slugs)
        limits = {name: getattr(row, name) for name in LIMITS}
        entry |= {name: limit for name, limit in limits.items() if limit is not None}
        if row.alert_below is not None:
            entry["alert_below"] = f"{Decimal(repr(row.alert_below)):f}"
        entries.append(entry)
    return entries


def waiting_entry(row: KeptLimit) -> Values:
    """Return a limit that waits for what it names, as the file has it."""
    if not row.full_name:
        limit = {"calls_per_minute": row.terms["a_minute"]} if row.kind else {}
        return {"integration": row.integration, **limit}
    if row.kind:
        return {"tool": row.full_name, "mode": row.terms["mode"]} | _where(row)
    blocked = row.effect == Rule.Effect.DENY
    return {"tool": row.full_name, "access": "blocked" if blocked else "propose"}


def waiting_key(entry: Values) -> tuple[str, ...]:
    """Return what a waiting limit says, by which it is the same one."""
    names = (entry.get(name) or "" for name in ("integration", "access", "mode"))
    return (*names, str(entry.get("calls_per_minute", "")), *flow_rule_key(entry))


def flow_rule_key(entry: Values) -> tuple[str, ...]:
    """Return the place of a flow rule, by which it is the same one."""
    space = entry.get("space") or {}
    names = (entry.get("tool"), entry.get("group"), space.get("group"), space.get("slug"))
    return tuple(name or "" for name in names)
