"""A server's `tools/list` answer, live or stored in a file."""

from typing import Any

from catalog.formats.descriptors import IntegrationDescriptor, Loaded
from catalog.formats.entry import Document
from catalog.formats.files import DEFAULT_LIMITS, Limits
from catalog.formats.readers.tool import integration_of_tools, read_tools

OF_SERVERS = False
IS_LOOSE = False


def recognises(value: Any) -> bool:
    """Return True for a mapping with a list under `tools`, plain or as a JSON-RPC response."""
    answer = _unwrap_result(value)
    tools = answer.get("tools")
    if isinstance(answer.get("mcp_servers"), list):  # a request to a model's provider
        return False
    return isinstance(tools, list) and all(
        isinstance(tool, dict) and tool.get("type") != "mcp" for tool in tools[:3]
    )


def read(document: Document) -> Loaded:
    """Read a stored answer; the server is its `server` key, or else the file's name."""
    answer = document.entry(_unwrap_result(document.value))
    title = answer.name("server") or document.stem
    integration = integration_of_tools(document, title, "tools/list")
    return Loaded(
        (integration,), read_tools(document, answer.raw("tools"), "tools", integration=integration)
    )


def normalize_tools(
    tools: Any, *, integration: IntegrationDescriptor, limits: Limits = DEFAULT_LIMITS
) -> Loaded:
    """Read a live answer with all its pages, for the integration being connected."""
    document = Document(file=f"{integration.slug}: tools/list", value=tools, limits=limits)
    capabilities = read_tools(document, tools, "tools", integration=integration)
    return Loaded((integration,), capabilities, tuple(document.defects))


def _unwrap_result(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        return {}
    result = value.get("result")
    return result if isinstance(result, dict) else value
