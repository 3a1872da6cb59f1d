"""Tools of a `tools/list` answer: definition, digest and descriptor of each."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from catalog.formats.descriptors import (
    Descriptor,
    IntegrationDescriptor,
    JSONObject,
    ToolDefect,
    canonical_json,
    from_columns,
    ordered_json,
)
from catalog.formats.files import DEFAULT_LIMITS, KB, is_deeper
from catalog.formats.names import display_name_for
from catalog.formats.readers.tool import POLICY_OF_PAGE, passed_meta, passed_on
from catalog.formats.readers.tools_list import normalize_tools
from catalog.models import Capability, Integration
from catalog.trust.findings import Finding, Severity

# Pinning of tools: digests of definitions exactly as their server sent them.
# Before cleaning, so that only a change by the server changes the digest, never one by Pegboard's
# reader.

# Everything a model or a policy sees; the rest of a server's answer is ignored.
PINNED = (
    *("name", "title", "description", "inputSchema", "outputSchema", "annotations"),
    *("icons", "_meta"),
)
# In `_meta`: a tool's app, whom it is shown to, and what its client may do.
_ACTED_ON = ("ui", "openai/", "anthropic/")
# Of a digest, what is of the list alone: the rest may be of the page of the tool's app, which is
# read at each sync, but not before each call.
OF_LIST = 40


def pinned_part(tool: Mapping[str, Any]) -> JSONObject:
    """Return the pinned fields of a `tools/list` entry."""
    meta = tool.get("_meta")
    if isinstance(meta, Mapping):
        tool = {**tool, "_meta": passed_meta(meta) or None}
    return {key: tool[key] for key in PINNED if tool.get(key) is not None}


def serialize_definition(definition: Mapping[str, Any]) -> str:
    """Serialize a definition in its source's order, in ASCII, so that any column keeps it."""
    return ordered_json(dict(definition), ascii_only=True)


def canonical_definition(definition: Mapping[str, Any]) -> str:
    """Serialize equal definitions equally, whatever the order of their keys."""
    return canonical_json(dict(definition), ascii_only=True)


def digest_definition(definition: Mapping[str, Any]) -> str:
    """Return the digest of a definition. The order of keys does not change it, and in `_meta` only
    what clients act on does: the rest may differ each time, and stays as it was reviewed."""
    meta, policy = definition.get("_meta"), None
    if isinstance(meta, Mapping):
        acting = {key: part for key, part in meta.items() if key.startswith(_ACTED_ON)}
        policy = acting.pop(POLICY_OF_PAGE, None)
        rest = {key: part for key, part in definition.items() if key != "_meta"}
        definition = rest | ({"_meta": acting} if acting else {})
    digest = digest_text(canonical_definition(definition))
    if policy is None:
        return digest
    return digest[:OF_LIST] + digest_text(canonical_json(policy, ascii_only=True))[OF_LIST:]


def parse_definition(text: str) -> JSONObject:
    """Parse a serialized definition."""
    definition: JSONObject = json.loads(text) if text else {}
    return definition


def digest_text(text: str) -> str:
    """Return the digest of a text, such as a canonical definition."""
    return hashlib.sha256(text.encode()).hexdigest()


# Room for both schemas and the description at their limits; larger tools are not stored.
LARGEST = 256 * KB
_FIELDS = [one.name for one in fields(IntegrationDescriptor)]


@dataclass(frozen=True, slots=True)
class Offered:
    """A listed tool: `text` is its serialized definition, `descriptor` the parsed one."""

    name: str
    text: str
    digest: str
    descriptor: Descriptor | None
    defects: tuple[ToolDefect, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def canonical_text(self) -> str:
        """Return the definition with sorted keys, as earlier releases stored it."""
        return canonical_definition(self.definition)

    @property
    def definition(self) -> JSONObject:
        """Return the definition as the server sent it."""
        return parse_definition(self.text)


def build_descriptor(row: Integration) -> IntegrationDescriptor:
    """Build the descriptor of a stored integration."""
    return from_columns(IntegrationDescriptor, {name: getattr(row, name) for name in _FIELDS})


def read_offer(
    integration: Integration, tools: Iterable[Mapping[str, Any]]
) -> tuple[dict[str, Offered], list[ToolDefect]]:
    """Parse tools by name; return them with the defects.

    The first of several with one name stays, with a finding about the others.
    """
    descriptor = build_descriptor(integration)
    offered: dict[str, Offered] = {}
    defects: list[ToolDefect] = []
    for tool in list(tools)[: DEFAULT_LIMITS.tools_per_server]:
        offer = read_tool(descriptor, tool)
        defects += offer.defects
        before = offered.get(offer.name)
        if offer.name and before is None:
            offered[offer.name] = offer
        elif before and before.digest != offer.digest:
            offered[offer.name] = _mark_duplicate(before)
    return offered, defects


def read_tool(integration: IntegrationDescriptor, tool: Mapping[str, Any]) -> Offered:
    """Parse one tool. A tool too deep or too large is known by its digest only."""
    definition = pinned_part(tool)
    name = definition.get("name")
    name = name.strip() if isinstance(name, str) else ""
    if is_deeper(definition, DEFAULT_LIMITS.json_depth):
        reason = f"is nested more than {DEFAULT_LIMITS.json_depth} deep"
        return _unreadable_tool(integration, name, digest_text(reason), reason)
    text = serialize_definition(definition)
    if len(text) > LARGEST:
        reason = f"has {len(text):,} bytes; the limit is {LARGEST:,}"
        return _unreadable_tool(integration, name, digest_definition(definition), reason)
    loaded = normalize_tools([definition], integration=integration)
    descriptor = next(iter(loaded.capabilities), None)
    of_tool = name[:80] or "a tool without a name"
    defects = tuple(
        ToolDefect(defect.file, defect.field.replace("tools[0]", of_tool), defect.reason, of_tool)
        for defect in loaded.defects
    )
    # Unreadable and too long for its column: report it without a row.
    if descriptor is None and len(name) > DEFAULT_LIMITS.name:
        name = ""
    return Offered(name, text, digest_definition(definition), descriptor, defects)


def digest_tools(tools: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return digests by tool name; "" for a name with several different definitions."""
    digests: dict[str, str] = {}
    for tool in tools:
        name = tool.get("name")
        if not isinstance(name, str):
            continue
        deep = is_deeper(tool, DEFAULT_LIMITS.json_depth)
        digest = "" if deep else digest_definition(pinned_part(tool))
        name = name.strip()
        digests[name] = digest if digests.get(name, digest) == digest else ""
    return digests


def reconstruct_definition(capability: Capability) -> str:
    """Reconstruct the server's definition of a tool stored before pinning existed."""
    clients = passed_on(capability.annotations)
    source_texts = capability.source_texts
    title = source_texts.get("display_name", capability.display_name)
    definition = {
        "name": capability.action,
        "description": source_texts.get("description", capability.description) or None,
        "inputSchema": capability.input_schema,
        "outputSchema": capability.output_schema,
        "annotations": clients.hints or None,
        "icons": clients.icons or None,
        "_meta": clients.meta or None,
    }
    if title != display_name_for(capability.action):
        definition["title"] = title
    return serialize_definition(pinned_part(definition))


def _unreadable_tool(
    integration: IntegrationDescriptor, name: str, digest: str, reason: str
) -> Offered:
    name = name if len(name) <= DEFAULT_LIMITS.name else ""
    of_tool = name[:80] or "a tool without a name"
    defect = ToolDefect(f"{integration.slug}: tools/list", of_tool, reason, of_tool)
    return Offered(name, serialize_definition({"name": name}), digest, None, (defect,))


def _mark_duplicate(first: Offered) -> Offered:
    finding = Finding(
        "listed_twice",
        Severity.HIGH,
        "name",
        "The server lists this name more than once, with different definitions.",
    )
    return Offered(
        first.name, first.text, first.digest, first.descriptor, first.defects, (finding,)
    )
