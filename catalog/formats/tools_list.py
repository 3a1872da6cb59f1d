"""What an MCP server says about itself: its `tools/list` answer, live or kept in a file."""

from typing import Any

from catalog.formats.descriptors import IntegrationDescriptor, Loaded
from catalog.formats.entry import Document
from catalog.formats.read_limits import DEFAULT_LIMITS, Limits
from catalog.formats.tool import integration_of_tools, read_tools


def recognises(value: Any) -> bool:
    """A mapping with a list under `tools`, as it is or as a JSON-RPC answer."""
    tools = _answer(value).get("tools")
    return isinstance(tools, list) and all(isinstance(tool, dict) for tool in tools[:3])


def read(document: Document) -> Loaded:
    """The tools of a kept answer; a `server` key, else the file's name, says whose they are."""
    answer = document.entry(_answer(document.value))
    title = answer.name("server") or document.stem
    integration = integration_of_tools(document, title, "tools/list")
    return Loaded(
        (integration,), read_tools(document, answer.raw("tools"), "tools", integration=integration)
    )


def normalize_tools(
    tools: Any, *, integration: IntegrationDescriptor, limits: Limits = DEFAULT_LIMITS
) -> Loaded:
    """The tools of a live answer, all its pages together, for an integration that is being
    connected."""
    document = Document(file=f"{integration.slug}: tools/list", value=tools, limits=limits)
    capabilities = read_tools(document, tools, "tools", integration=integration)
    return Loaded((integration,), capabilities, tuple(document.defects))


def _answer(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        return {}
    result = value.get("result")
    return result if isinstance(result, dict) else value
