"""Self-describing capabilities: skills, extensions, channels, manifests and runtime entries.

Each is the only capability of its own integration and is called by the slug alone, unless its
source puts it into an integration with others.
"""

from typing import Any, NamedTuple

from catalog.formats.categories import resolve_category
from catalog.formats.descriptors import (
    AIAccess,
    Descriptor,
    EdgeDescriptor,
    IntegrationDescriptor,
    IntegrationKind,
    JSONObject,
    Kind,
    SideEffect,
)
from catalog.formats.entry import Entry
from catalog.formats.names import display_name_for, full_name_for, identifier_for, slug_for
from catalog.formats.usable_schema import read_input_schema, read_output_schema


class DeclaredCapability(NamedTuple):
    """A capability and its integration."""

    integration: IntegrationDescriptor
    capability: Descriptor


_INTEGRATION_KINDS: dict[Kind, IntegrationKind] = {
    "tool": "manifest",
    "skill": "skill",
    "extension": "extension",
    "channel": "channel",
    "voice": "voice",
    "emergent-tool": "builtin",
}


def build_declared(
    entry: Entry,
    *,
    kind: Kind,
    name: str,
    side_effect: SideEffect,
    source_ref: JSONObject,
    integration: str | None = None,
    integration_kind: IntegrationKind | None = None,
    category: str | None = None,
    content: str = "",
    input_schema: JSONObject | None = None,
    annotations: JSONObject | None = None,
    edges: tuple[EdgeDescriptor, ...] = (),
    side_effect_inferred: bool = False,
) -> DeclaredCapability:
    """Build the descriptors of an entry, given the values specific to its format."""
    slug = integration or slug_for(name)
    action = name if integration else slug
    full_name = full_name_for(slug, action, kind=kind) if integration else slug
    description = entry.text("description")
    category_name, inferred = resolve_category(
        entry.name("category") if category is None else category, name=name, description=description
    )
    available = entry.flag("available") is not False
    capability = Descriptor(
        kind=kind,
        integration=slug,
        action=action,
        full_name=full_name,
        identifier=entry.name("id") or identifier_for(kind, full_name),
        display_name=entry.name("displayName", "title") or display_name_for(name),
        description=description,
        category=category_name,
        category_inferred=inferred,
        tags=entry.tags("tags", "keywords"),
        input_schema=read_input_schema(entry, "inputSchema", "schema", "parameters")
        if input_schema is None
        else input_schema,
        output_schema=read_output_schema(entry),
        content=content,
        examples=entry.texts("examples"),
        required_secrets=entry.secrets("requiredSecrets"),
        required_tools=entry.names("requiredTools"),
        side_effect=side_effect,
        side_effect_inferred=side_effect_inferred,
        ai_access=_ai_access(entry),
        available=available,
        unavailable_reason="" if available else _unavailable_reason(entry),
        core=entry.flag("core") or False,
        pinned=entry.flag("pinned") or False,
        edges=edges,
        annotations=annotations or {},
        source_ref=source_ref,
        hidden_characters=entry.hidden,
    )
    owner = _integration(entry, capability, integration_kind, standalone=integration is None)
    return DeclaredCapability(owner, capability)


def _integration(
    entry: Entry, capability: Descriptor, kind: IntegrationKind | None, *, standalone: bool
) -> IntegrationDescriptor:
    return IntegrationDescriptor(
        slug=capability.integration,
        kind=kind or _INTEGRATION_KINDS[capability.kind],
        title=capability.display_name if standalone else display_name_for(capability.integration),
        description=capability.description if standalone else "",
        publisher=entry.name("publisher", "author") if isinstance(entry.raw("author"), str) else "",
        version=entry.version("version") if standalone else "",
        required_secrets=capability.required_secrets if standalone else (),
        licence=entry.version("license", "licence") if standalone else "",
        source_ref=capability.source_ref if standalone else {},
    )


def _ai_access(entry: Entry) -> AIAccess:
    value: Any = entry.name("aiAccess") or "execute"
    if value in ("execute", "propose", "blocked"):
        access: AIAccess = value
        return access
    entry.report("aiAccess", "must be execute, propose or blocked; it is treated as blocked")
    return "blocked"


def _unavailable_reason(entry: Entry) -> str:
    reason = entry.name("unavailableReason", limit=entry.document.limits.reason)
    return reason or "Its source says that it is not available."
