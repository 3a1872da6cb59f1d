"""Offers: plain values that every source's entries become before they are stored as listings."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from catalog.capabilities.detail_levels import short_description
from catalog.effects.classifier import assess, declared_effect
from catalog.formats.categories import resolve_category
from catalog.formats.descriptors import Descriptor, IntegrationDescriptor, JSONObject

_OFFERED = ("default", "choices")  # of a variable
_MOST_TOOLS = 200
_MOST_DESCRIPTION = 300  # characters of a tool's description


@dataclass(frozen=True, slots=True)
class OfferedFile:
    """A file of a skill's folder, by its path within the folder."""

    path: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Offer:
    """A version of an entry. `key` is the source's stable identifier of the entry."""

    key: str
    descriptor: IntegrationDescriptor
    category: str = ""
    tags: tuple[str, ...] = ()
    readme: str = ""
    repository: str = ""
    tools: tuple[JSONObject, ...] = ()
    status: str = "active"
    is_latest: bool = True
    published_at: datetime | None = None
    files: tuple[OfferedFile, ...] = ()
    details: JSONObject = field(default_factory=dict)


def offer_of(
    descriptor: IntegrationDescriptor, capabilities: Iterable[Descriptor] = (), **more: Any
) -> Offer:
    """Build an offer from a parsed descriptor; `more` overrides what the descriptor says."""
    source_ref = descriptor.source_ref
    own_capabilities = tuple(
        capability for capability in capabilities if capability.integration == descriptor.slug
    )
    values: dict[str, Any] = {
        "key": str(source_ref.get("name") or descriptor.slug),
        "category": _category(descriptor, own_capabilities),
        "tags": tuple(source_ref.get("tags") or ()),
        "repository": str(source_ref.get("repository") or ""),
        "tools": _tools(own_capabilities) or _tools_by_name(source_ref.get("tools")),
    }
    return Offer(descriptor=descriptor, **values | more)


def needs_of(descriptor: IntegrationDescriptor) -> JSONObject:
    """Return what it needs: variables, the program to start, and the hosts it connects to."""
    described = {
        variable["name"]: variable for variable in descriptor.source_ref.get("variables") or ()
    }
    names = dict.fromkeys((*descriptor.required_secrets, *described))
    listed_hosts = [str(host) for host in descriptor.source_ref.get("hosts") or ()]
    try:
        endpoint_host = urlsplit(descriptor.endpoint).hostname if descriptor.endpoint else None
    except ValueError:
        endpoint_host = None
    return {
        "variables": [
            {
                "name": name,
                "description": str(described.get(name, {}).get("description", "")),
                "secret": bool(described.get(name, {}).get("secret", True)),
                "required": name in descriptor.required_secrets,
                **{key: described[name][key] for key in _OFFERED if key in described.get(name, {})},
            }
            for name in names
        ],
        "program": descriptor.command[0] if descriptor.command else "",
        "hosts": list(dict.fromkeys(filter(None, (endpoint_host, *listed_hosts)))),
    }


def _category(descriptor: IntegrationDescriptor, capabilities: tuple[Descriptor, ...]) -> str:
    """Return the declared category, else its tools' most common one, else infer it."""
    declared = str(descriptor.source_ref.get("category") or "")
    categories = [
        capability.category
        for capability in capabilities
        if capability.category not in ("", "other")
    ]
    common = max(categories, key=categories.count, default="")
    title, description = descriptor.title, descriptor.description
    return resolve_category(declared or common, name=title, description=description)[0]


def _tools(capabilities: tuple[Descriptor, ...]) -> tuple[JSONObject, ...]:
    return tuple(
        {
            "name": capability.action,
            "title": capability.display_name,
            "description": short_description(capability.description, _MOST_DESCRIPTION),
            "side_effect": assess(capability, declared=declared_effect(capability)).effect,
        }
        for capability in capabilities[:_MOST_TOOLS]
        if capability.kind == "tool"
    )


def _tools_by_name(names: Any) -> tuple[JSONObject, ...]:
    """Return tools for a source that lists only their names, or the effect of each as well."""
    listed = names if isinstance(names, list) else []
    return tuple(_tool_by_name(name_or_tool) for name_or_tool in listed[:_MOST_TOOLS])


def _tool_by_name(tool: Any) -> JSONObject:
    if not isinstance(tool, dict) or not {"name", "effect"} <= tool.keys():
        return {"name": str(tool)}
    return {"name": str(tool["name"]), "side_effect": str(tool["effect"])}
