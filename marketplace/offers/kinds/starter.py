"""The starter collection: capabilities and listings that are installed with Pegboard.

It reads only our own data files in `marketplace/starter` and trusts their shape: a defect there is
a bug that the tests find. Everything is `available`, although channels and mailboxes name secrets:
without a connection the chat backend makes the call, so newcomers see real selections at once.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import yaml
from django.utils.translation import gettext_lazy as _

from catalog.formats.descriptors import (
    Descriptor,
    EdgeDescriptor,
    IntegrationDescriptor,
    IntegrationKind,
    JSONObject,
    Kind,
    Loaded,
)
from catalog.formats.names import display_name_for, full_name_for, identifier_for
from catalog.formats.package_names import Index, Package
from discovery.metatools import META_TOOLS
from marketplace.offers.kinds.base import SourceAccess
from marketplace.offers.offer import FINDINGS, WORKING, Offer, offer_of

LABEL = _("Comes with Pegboard")
HINT = ""  # nobody adds it
IS_INTERNAL = False
PLACE = "document"
SUGGESTED = ()
FOLDER = Path(__file__).resolve().parents[2] / "starter"
VERSION = "1.0.0"
TOGETHER_WEIGHT = 0.5
INDEXES: dict[str, Index] = {"python": "pypi", "node": "npm"}

LoneKind = Literal["channel", "voice", "extension", "skill"]
Provider = tuple[IntegrationDescriptor, tuple[Descriptor, ...]]


def starter_collection() -> Loaded:
    """Return every integration and capability of the collection, in a stable order."""
    providers = [*_builtins(), *_channels(), *_voices(), *_extensions(), *_skills()]
    return Loaded(
        integrations=tuple(integration for integration, _ in providers),
        capabilities=tuple(capability for _, several in providers for capability in several),
    )


def starter_listings() -> tuple[IntegrationDescriptor, ...]:
    """Return the real MCP servers that the marketplace offers from the first start on."""
    findings = read_findings()
    entries = _read("listings.yaml")["listings"]
    return tuple(_listing(entry, findings.get(entry["slug"], {})) for entry in entries)


def read_findings() -> dict[str, JSONObject]:
    """Return the findings of `make atlas` about packages, by the slug of their listing."""
    findings: dict[str, JSONObject] = json.loads(
        (FOLDER / "atlas.json").read_text(encoding="utf-8")
    )
    return findings


def offers(reading: SourceAccess) -> Iterator[Offer]:
    """Yield the starter listings, like any other source."""
    listings = starter_listings()
    reading.total = len(listings)
    yield from map(offer_of, listings)


def _builtins() -> Iterator[Provider]:
    for path in sorted((FOLDER / "integrations").glob("*.yaml")):
        entry = _read(f"integrations/{path.name}")
        integration = _integration(entry, kind="builtin", path=f"integrations/{path.name}")
        tools = entry.get("tools") or {"": entry["tool"]}
        yield (
            integration,
            tuple(
                _capability(
                    {**_shared(entry), **_meta_tool(entry, action), **tool},
                    integration,
                    action=action,
                )
                for action, tool in tools.items()
            ),
        )


def _channels() -> Iterator[Provider]:
    """Yield channels. They write to others in the user's name, so calls need approval."""
    for slug, entry in _read("channels.yaml")["channels"].items():
        message = _message_parameters(entry["recipient"])
        defaults = {"category": "communication", "side_effect": "write", "ai_access": "propose"}
        yield _single_capability(
            {**defaults, **message, **entry, "slug": slug}, "channel", "channels.yaml"
        )


def _voices() -> Iterator[Provider]:
    for slug, entry in _read("extras.yaml")["voices"].items():
        yield _single_capability({**entry, "slug": slug}, "voice", "extras.yaml")


def _extensions() -> Iterator[Provider]:
    for slug, entry in _read("extras.yaml")["extensions"].items():
        yield _single_capability({**entry, "slug": slug}, "extension", "extras.yaml")


def _skills() -> Iterator[Provider]:
    for path in sorted((FOLDER / "skills").glob("*/SKILL.md")):
        _, front_matter, body = path.read_text(encoding="utf-8").split("---\n", 2)
        entry = yaml.safe_load(front_matter)
        title = display_name_for(entry["name"])
        entry |= {"slug": entry["name"], "title": title, "content": body.strip() + "\n"}
        yield _single_capability(entry, "skill", f"skills/{entry['name']}/SKILL.md")


def _single_capability(entry: JSONObject, kind: LoneKind, path: str) -> Provider:
    """Return an integration and its only capability."""
    integration = _integration(entry, kind=kind, path=path)
    capability = {**entry, "name": entry["title"]}
    return integration, (_capability(capability, integration, kind=kind),)


def _integration(entry: JSONObject, *, kind: IntegrationKind, path: str) -> IntegrationDescriptor:
    return IntegrationDescriptor(
        slug=entry["slug"],
        kind=kind,
        title=entry["title"],
        description=entry["description"],
        publisher="Pegboard",
        version=VERSION,
        required_secrets=tuple(entry.get("required_secrets", ())),
        licence="Apache-2.0",
        source_ref={"type": "starter", "path": path},
    )


def _capability(
    entry: JSONObject, integration: IntegrationDescriptor, *, action: str = "", kind: Kind = "tool"
) -> Descriptor:
    full_name = full_name_for(integration.slug, action) if action else integration.slug
    return Descriptor(
        kind=kind,
        integration=integration.slug,
        action=action or integration.slug,
        full_name=full_name,
        identifier=identifier_for(kind, full_name),
        display_name=entry["name"],
        description=entry["description"],
        category=entry["category"],
        tags=tuple(entry["tags"]),
        input_schema=_input_schema(entry),
        content=entry.get("content", ""),
        examples=tuple(entry["examples"]),
        required_secrets=tuple(entry.get("required_secrets", ())),
        required_tools=tuple(entry.get("required_tools", ())),
        side_effect=entry.get("side_effect", "read"),
        ai_access=entry.get("ai_access", "execute"),
        core=entry.get("core", False),
        pinned=entry.get("pinned", False),
        edges=tuple(
            EdgeDescriptor(target=target, type="COMPOSED_WITH", weight=TOGETHER_WEIGHT)
            for target in entry.get("goes_with", ())
        ),
        source_ref=integration.source_ref,
    )


def _input_schema(entry: JSONObject) -> JSONObject | None:
    """Spell out the parameters as a JSON schema; a skill has none."""
    if "parameters" not in entry:
        return None
    return {
        "type": "object",
        "properties": entry["parameters"],
        "required": entry.get("required", []),
        "additionalProperties": False,
    }


def _message_parameters(recipient: str) -> JSONObject:
    return {
        "parameters": {
            "to": {"type": "string", "description": recipient},
            "text": {"type": "string", "description": "The message."},
            "attachments": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Paths of files to send along.",
            },
        },
        "required": ["to", "text"],
    }


def _meta_tool(entry: JSONObject, action: str) -> JSONObject:
    """Return the registered definition of a meta-tool, or {} for other tools."""
    tool = META_TOOLS.get(f"{entry['slug']}__{action}")
    if tool is None:
        return {}
    return {
        "name": tool.title,
        "description": tool.description,
        "parameters": tool.parameters,
        "required": list(tool.required),
    }


def _shared(entry: JSONObject) -> JSONObject:
    """Return the values that a file declares for all of its tools."""
    return {key: entry[key] for key in ("category", "required_secrets") if key in entry}


def _listing(entry: JSONObject, findings: Mapping[str, Any]) -> IntegrationDescriptor:
    package = entry.get("package")
    reference: JSONObject = {"type": "starter", "path": "listings.yaml"}
    effects: Mapping[str, str] = findings.get("tools", {})
    tools = [{"name": name, "effect": effect} for name, effect in effects.items()]
    reference["tools"] = tools or entry.get("tools", [])
    if hosts := entry.get("hosts"):
        reference["hosts"] = hosts
    if findings.get("state") in WORKING:
        reference[FINDINGS] = {name: findings[name] for name in findings if name != "tools"}
    return IntegrationDescriptor(
        slug=entry["slug"],
        kind="mcp",
        title=entry["title"],
        description=entry["description"],
        publisher=entry["publisher"],
        version=package["version"] if package else "",
        transport="stdio" if package else "http",
        endpoint=entry.get("endpoint", ""),
        command=_command(package, entry.get("arguments", ())) if package else (),
        required_secrets=tuple(entry.get("required_secrets", ())),
        homepage=entry["homepage"],
        licence=entry.get("licence", ""),
        source_ref=reference | ({"package": package} if package else {}),
    )


def _command(package: dict[str, str], arguments: list[str]) -> tuple[str, ...]:
    return Package(
        INDEXES[package["kind"]],
        package["name"],
        package["version"],
        program=package.get("program", ""),
        arguments=tuple(arguments),
    ).command()


def _read(name: str) -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))
    return data
