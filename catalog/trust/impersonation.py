"""Impersonation: names that imitate others, and texts that steer others' tools.

Servers may share tool names, since models call tools by full name. Suspicious are a name made to be
mistaken for another, and a text that tells a model how to use another server's tools.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from django.db.models import Q

from catalog.formats.descriptors import JSONObject
from catalog.formats.names import RESERVED
from catalog.models import Capability, Integration
from catalog.trust.findings import Finding, Severity
from catalog.trust.scanner import (
    LONGEST,
    TooDeepError,
    is_disguised,
    mixes_alphabets,
    skeleton,
    walk_texts,
)

MOST_NAMES = 20_000
_IDENTIFIER = re.compile(
    r"(?<![\w./-])(?:[A-Za-z][A-Za-z0-9]*(?:_{1,2}[A-Za-z0-9]+)+|[a-z]{2,}(?:[A-Z][a-z0-9]+)+)(?![\w/-])"
)
_NAMED_AS_TOOL = re.compile(
    r"[`'\"]([A-Za-z][\w-]{2,63})[`'\"]|\bthe ([A-Za-z][\w-]{2,63}) (?:tool|function)\b"
)
_STEERING = re.compile(
    r"\b(?:before|instead|rather than|whenever|never|always|must|do not|first|replace|after)\b",
    re.IGNORECASE,
)


_Mentions = list[tuple[str, str, bool, bool]]
_Namesake = tuple[str, str, str, int]


@dataclass(slots=True)
class _Owners:
    """Integrations owning a mentioned name, by full name and by action."""

    by_full_name: dict[str, str] = field(default_factory=dict)
    by_action: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))


@dataclass(frozen=True, slots=True)
class IntegrationDefinitions:
    """The definitions of one integration; `own` are all its names."""

    integration: Integration
    definitions: Mapping[str, JSONObject]
    own: set[str]


def find_shadows(
    integration: Integration, definitions: Mapping[str, JSONObject], own_names: set[str]
) -> dict[str, list[Finding]]:
    """Return findings about others' tools per definition; `own_names` are the server's names."""
    return find_shadows_of([IntegrationDefinitions(integration, definitions, own_names)])[0]


def find_shadows_of(
    several: Sequence[IntegrationDefinitions], *, strict: bool = True
) -> list[dict[str, list[Finding]]]:
    """Find shadows for several integrations with one query.

    Without `strict`, a name mentioned in passing has medium severity and holds nothing.
    """
    mentioned = [
        {name: _find_mentions(definition) for name, definition in server.definitions.items()}
        for server in several
    ]
    names: set[str] = set()
    for server, texts in zip(several, mentioned, strict=True):
        tokens = {token for mentions in texts.values() for token, _, _, _ in mentions}
        names |= (tokens - server.own) | set(server.definitions)
    rows = _find_tools_named(names)
    return [
        _shadows_of(server, texts, rows, strict)
        for server, texts in zip(several, mentioned, strict=True)
    ]


def _shadows_of(
    server: IntegrationDefinitions,
    mentioned: Mapping[str, _Mentions],
    rows: Sequence[_Namesake],
    strict: bool,
) -> dict[str, list[Finding]]:
    owners = _Owners()
    for full_name, action, title, owner in rows:
        if owner != server.integration.pk:
            owners.by_full_name[full_name] = title
            owners.by_action[action].append(title)
    shapes = defaultdict(list)
    for name in sorted(server.own):
        shapes[skeleton(name)].append(name)
    return {
        name: [
            *_about_name(name, shapes, owners),
            *_about_texts(mentioned[name], server.own | _parameters(definition), owners, strict),
        ]
        for name, definition in server.definitions.items()
    }


def find_namesakes(integration: Integration) -> list[Finding]:
    """Return findings about a server whose name imitates another server's."""
    findings = []
    for name in {integration.slug, integration.title}:
        if is_disguised(name) or mixes_alphabets(name):
            message = "Its name contains letters of another alphabet that look like Latin ones."
            findings.append(Finding("disguised_name", Severity.HIGH, "server", message, name))
    shapes = {skeleton(integration.slug), skeleton(integration.title)}
    others = Integration.objects.exclude(pk=integration.pk).order_by("slug")
    for slug, title in others.values_list("slug", "title"):
        if shapes & {skeleton(slug), skeleton(title)}:
            message = f"Its name can be mistaken for {title} ({slug})."
            exact = integration.title.casefold() == title.casefold()
            severity = Severity.MEDIUM if exact else Severity.HIGH
            findings.append(
                Finding("looks_like_another", severity, "server", message, integration.title)
            )
    return findings


def _about_name(name: str, shapes: Mapping[str, list[str]], owners: _Owners) -> Iterator[Finding]:
    if is_disguised(name) or mixes_alphabets(name):
        message = "Its name contains letters of another alphabet that look like Latin ones."
        yield Finding("disguised_name", Severity.HIGH, "name", message, name)
    if name.casefold().replace("-", "_") in RESERVED:
        message = "It has the same name as a tool of Pegboard itself."
        yield Finding("named_like_ours", Severity.HIGH, "name", message, name)
    alike = [other_name for other_name in shapes.get(skeleton(name), ()) if other_name != name]
    if alike:
        message = f"Its name looks the same as {', '.join(alike[:3])} on the same server."
        yield Finding("looks_like_own", Severity.MEDIUM, "name", message, name)
    if others := owners.by_action.get(name):
        message = f"{_join_titles(others)} has a tool with this name, too. Their full names differ."
        yield Finding("same_name", Severity.LOW, "name", message, name)


def _about_texts(
    mentioned: _Mentions, own_names: set[str], owners: _Owners, strict: bool
) -> Iterator[Finding]:
    reported = set()
    for token, where, is_identifier, steers in mentioned:
        if token in own_names or token in reported:
            continue
        full, actions = owners.by_full_name.get(token), owners.by_action.get(token)
        if not full and not actions:
            continue
        reported.add(token)
        matters = bool(full) or steers or (is_identifier and strict)
        message = f"It mentions {token}, a tool of {full or _join_titles(actions or [])}."
        severity = Severity.HIGH if matters else Severity.MEDIUM
        yield Finding("speaks_of_another", severity, where, message, token)


def _parameters(definition: JSONObject) -> set[str]:
    """Return the argument names, which other servers may use as tool names."""
    schema = definition.get("inputSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return set(properties) if isinstance(properties, dict) else set()


def _find_mentions(definition: JSONObject) -> _Mentions:
    """Return names mentioned in texts.

    For each: the name, its place, True for an unambiguous identifier, and True for imperative words
    around it.
    """
    mentions = []
    for where, text in _texts_of(definition):
        if where.rsplit(".", 1)[-1] not in ("description", "title") or " " not in text.strip():
            continue
        text = text[:LONGEST]
        for match in (*_IDENTIFIER.finditer(text), *_NAMED_AS_TOOL.finditer(text)):
            token = next((group for group in match.groups() if group), match.group())
            around = text[max(0, match.start() - 60) : match.end() + 60]
            is_identifier = bool(_IDENTIFIER.fullmatch(token))
            mentions.append((token, where, is_identifier, bool(_STEERING.search(around))))
    return mentions


def _texts_of(definition: JSONObject) -> Iterator[tuple[str, str]]:
    with suppress(TooDeepError):  # the scanner holds it anyway
        yield from walk_texts(definition)


def _find_tools_named(names: set[str]) -> list[_Namesake]:
    """Return full name, action, title and integration key of tools with these names."""
    searched_names = sorted(names)[:MOST_NAMES]
    rows = Capability.objects.filter(
        Q(full_name__in=searched_names) | Q(action__in=searched_names), kind=Capability.Kind.TOOL
    ).order_by("integration__slug")
    return list(rows.values_list("full_name", "action", "integration__title", "integration_id"))


def _join_titles(titles: list[str]) -> str:
    return ", ".join(titles[:3]) + (f" and {len(titles) - 3} more" if len(titles) > 3 else "")
