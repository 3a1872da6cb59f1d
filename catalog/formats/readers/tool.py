"""Tool definitions in any of the usual shapes, and files with a plain list of them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from catalog.formats._side_effects import side_effect_of_tool
from catalog.formats.categories import resolve_category
from catalog.formats.descriptors import (
    Descriptor,
    IntegrationDescriptor,
    JSONObject,
    Loaded,
    SideEffect,
    canonical_json,
)
from catalog.formats.entry import Document, Entry
from catalog.formats.files import KB, RefusedError
from catalog.formats.names import display_name_for, full_name_for, identifier_for, slug_for
from catalog.formats.text_cleanup import clean_name, clean_text
from catalog.formats.usable_schema import (
    read_input_schema,
    read_output_schema,
    schema_from_arguments,
)

OF_SERVERS = False
IS_LOOSE = True

_TITLE_LENGTH = 200
SCHEMA_KEYS = ("inputSchema", "parameters", "schema")
# Kept among a tool's annotations, for clients that show it.
_BESIDE = ("icons", "_meta")
_LARGEST_BESIDE = 64 * KB
_OF_ONE_HOP = ("io.modelcontextprotocol/", "pegboard/")
# In a tool's `_meta`, beside what its server says: the content policy of its app's page.
POLICY_OF_PAGE = "ui/resource-csp"


def recognises(value: Any) -> bool:
    """Return True for a list of tools, or a mapping with such a list under `functions`."""
    tools = value.get("functions") if isinstance(value, dict) else value
    return isinstance(tools, list) and bool(tools) and all(_is_tool(tool) for tool in tools[:3])


def read(document: Document) -> Loaded:
    """Read the tools of a file as one integration, named after the file or folder."""
    integration = integration_of_tools(document, document.stem, "tools")
    tools = document.value.get("functions") if isinstance(document.value, dict) else document.value
    return Loaded((integration,), read_tools(document, tools, "tools", integration=integration))


def integration_of_tools(
    document: Document, title: str, source_format: str
) -> IntegrationDescriptor:
    """Build the server of a tool list; a slug given by the importing admin takes precedence."""
    if document.integration:
        title = display_name_for(document.integration)
        return IntegrationDescriptor(slug=document.integration, kind="mcp", title=title)
    return IntegrationDescriptor(
        slug=slug_for(title),
        kind="mcp",
        title=title[: document.limits.name] if " " in title else display_name_for(title),
        source_ref={"format": source_format, "file": document.file},
    )


def read_tools(
    document: Document,
    tools: Any,
    at: str,
    *,
    integration: IntegrationDescriptor,
    category: str = "",
    tags: tuple[str, ...] = (),
) -> tuple[Descriptor, ...]:
    """Read the tools of one server, up to the limit, and report each invalid one."""
    descriptors: list[Descriptor] = []
    for entry in document.entries(tools, at, limit=document.limits.tools_per_server):
        try:
            descriptors.append(
                read_tool(entry, integration=integration, category=category, tags=tags)
            )
        except RefusedError as refused:
            document.report(refused.field, refused.reason)
    return tuple(descriptors)


def read_tool(
    entry: Entry,
    *,
    integration: IntegrationDescriptor,
    category: str = "",
    tags: tuple[str, ...] = (),
) -> Descriptor:
    """Read a tool of an MCP server, or of a list in the same shape."""
    # Unwrap `{"type": "function", "function": {…}}`.
    inner = entry.mapping("function") if entry.raw("name") is None else None
    entry = inner or entry
    action = action_name(entry)
    annotations = entry.mapping("annotations")
    tool = tool_descriptor(
        entry,
        integration=integration.slug,
        action=action,
        side_effect=side_effect_of_tool(action, annotations),
        category=entry.name("category") or category,
        tags=entry.tags("tags") or tags,
        display_name=entry.name("title"),
        source_ref={**integration.source_ref, "file": entry.document.file, "tool": action},
    )
    # True if the server shows the tool to its own app, and to no model.
    meta = passed_on(tool.annotations).meta
    ui = meta.get("ui")
    visibility = ui.get("visibility") if isinstance(ui, dict) else None
    is_hidden = isinstance(visibility, list) and "model" not in visibility
    if is_hidden or meta.get("openai/visibility") == "private":
        tool = replace(tool, ai_access="app")
    if integration.kind != "openapi" and "http" in tool.annotations:
        # Only a document that Pegboard has read says how an operation is sent.
        remaining = {key: value for key, value in tool.annotations.items() if key != "http"}
        tool = replace(tool, annotations=remaining)
    return tool


def tool_descriptor(
    entry: Entry,
    *,
    integration: str,
    action: str,
    side_effect: SideEffect,
    category: str,
    tags: tuple[str, ...],
    display_name: str,
    source_ref: JSONObject,
    side_effect_inferred: bool = True,
    declared_id: str = "",
) -> Descriptor:
    """Build the descriptor of a tool, given the values specific to its source."""
    description = entry.text("description")
    category_name, inferred = resolve_category(category, name=action, description=description)
    full_name = full_name_for(integration, action, declared_id=declared_id)
    schema = read_input_schema(entry, *SCHEMA_KEYS)
    annotations = _annotations(entry)
    return Descriptor(
        kind="tool",
        integration=integration,
        action=action,
        full_name=full_name,
        identifier=declared_id or identifier_for("tool", full_name),
        display_name=display_name or _title_in(annotations) or display_name_for(action),
        description=description,
        category=category_name,
        category_inferred=inferred,
        tags=tags,
        input_schema=schema_from_arguments(entry, "arguments") if schema is None else schema,
        output_schema=read_output_schema(entry),
        examples=entry.texts("examples"),
        required_secrets=entry.secrets("requiredSecrets"),
        required_tools=entry.names("requiredTools"),
        side_effect=side_effect,
        side_effect_inferred=side_effect_inferred,
        annotations=annotations,
        source_ref=source_ref,
        hidden_characters=entry.hidden,
    )


def action_name(entry: Entry) -> str:
    """Return the tool name exactly as the server expects it; refuse hidden characters."""
    raw = entry.raw("name")
    name = entry.name("name", required=True)
    if isinstance(raw, str) and clean_text(raw).hidden:
        raise RefusedError("contains hidden or control characters", entry.place("name"))
    if len(str(raw)) > entry.document.limits.name:
        raise RefusedError("is too long", entry.place("name"))
    if not name.isascii():
        entry.report("name", "has non-ASCII letters; models call it by a short form of its name")
    return str(raw).strip() or name


class PassedOn(NamedTuple):
    """Parts of a tool for clients, which get them as its server says them."""

    hints: JSONObject
    icons: list[JSONObject]
    meta: JSONObject


def passed_on(annotations: Mapping[str, Any]) -> PassedOn:
    """Separate what is kept among a tool's annotations; how an API's call is sent is none of it."""
    hints = {key: value for key, value in annotations.items() if key not in ("http", *_BESIDE)}
    return PassedOn(hints, annotations.get("icons") or [], annotations.get("_meta") or {})


def page_address(meta: Mapping[str, Any] | None) -> str:
    """Return the address of the page that a tool's `_meta` names for its results, or ""."""
    ui = (meta or {}).get("ui")
    uri = ui.get("resourceUri") if isinstance(ui, dict) else None
    return uri if isinstance(uri, str) and uri.startswith("ui://") else ""


def with_policy(tool: JSONObject, policy: JSONObject | None) -> JSONObject:
    """Return a listed tool with the content policy of its app's page."""
    return {**tool, "_meta": {**tool["_meta"], POLICY_OF_PAGE: policy}} if policy else tool


def passed_meta(meta: Mapping[str, Any] | None) -> JSONObject:
    """Return a server's `_meta` without what is between two neighbours only, and what is ours."""
    return {key: value for key, value in (meta or {}).items() if not key.startswith(_OF_ONE_HOP)}


def _annotations(entry: Entry) -> JSONObject:
    """Return the hints, with icons and `_meta` beside them, so that all that clients get is in the
    definition that is reviewed."""
    value = entry.value("annotations")
    hints = value if isinstance(value, dict) else {}
    annotations = {key: hint for key, hint in hints.items() if key not in _BESIDE}
    icons, meta = entry.value("icons"), entry.value("_meta")
    beside = {
        "icons": [icon for icon in icons if isinstance(icon, dict)]
        if isinstance(icons, list)
        else [],
        "_meta": passed_meta(meta) if isinstance(meta, dict) else {},
    }
    for key, part in beside.items():
        if len(canonical_json({key: part})) > _LARGEST_BESIDE:
            entry.report(key, f"has more than {_LARGEST_BESIDE:,} bytes; left out")
        elif part:
            annotations[key] = part
    return annotations


def _title_in(annotations: JSONObject) -> str:
    """Return the title that older servers put among the annotations."""
    title = annotations.get("title")
    return clean_name(title).text[:_TITLE_LENGTH] if isinstance(title, str) else ""


def _is_tool(tool: Any) -> bool:
    if not isinstance(tool, dict):
        return False
    says_more = {"description", "arguments", "annotations", "input_schema", *SCHEMA_KEYS}
    return isinstance(tool.get("function"), dict) or bool(
        "name" in tool and says_more & tool.keys()
    )
