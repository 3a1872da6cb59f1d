"""ToolHive's registry entries (spec.yaml), which list a server's tools by name only."""

from typing import Any

from catalog.formats._declared_targets import (
    container_command,
    parse_transport,
    read_variable,
    read_web_address,
)
from catalog.formats.descriptors import IntegrationDescriptor, JSONObject, Loaded
from catalog.formats.entry import Document, Entry, distinct
from catalog.formats.names import display_name_for, slug_for
from catalog.formats.readers.tool import read_tools
from catalog.formats.secret_redaction import normalize_placeholders

OF_SERVERS = True
IS_LOOSE = False


def recognises(value: Any) -> bool:
    """Return True for a mapping with a transport and an image or address."""
    return (
        isinstance(value, dict) and "transport" in value and bool({"image", "url"} & value.keys())
    )


def read(document: Document) -> Loaded:
    """Read one server and the names of its tools."""
    entry = document.entry(document.value)
    name = entry.name("name") or document.stem
    integration = _integration(entry, name, document.integration or slug_for(name))
    tools = [{"name": tool} for tool in entry.names("tools")]
    capabilities = read_tools(
        document, tools, "tools", integration=integration, tags=entry.tags("tags")
    )
    return Loaded((integration,), capabilities)


def _integration(entry: Entry, name: str, slug: str) -> IntegrationDescriptor:
    image = entry.name("image")
    endpoint = normalize_placeholders(read_web_address(entry, "url"))[0]
    variables = _variables(entry)
    needed = (variable["name"] for variable in variables if variable["required"])
    secrets = distinct(needed, entry.document.limits.secret_name)
    repository = read_web_address(entry, "repositoryUrl")
    tag = image.rpartition("/")[2].partition(":")[2]
    # The hosts that the entry's network profile allows.
    permissions = entry.mapping("permissions")
    network = permissions.mapping("network") if permissions else None
    outbound = network.mapping("outbound") if network else None
    return IntegrationDescriptor(
        slug=slug,
        kind="mcp",
        title=entry.name("title") or display_name_for(name),
        description=entry.text("description"),
        version=tag if len(tag) <= entry.document.limits.version else "",
        transport=parse_transport(entry.name("transport"), endpoint=endpoint),
        endpoint=endpoint,
        command=container_command(entry, image, secrets, entry.texts("args")),
        required_secrets=secrets,
        homepage=repository,
        source_ref={
            "format": "toolhive",
            "file": entry.document.file,
            "name": name,
            "tier": entry.name("tier"),
            "status": entry.name("status"),
            "tags": list(entry.tags("tags")),
            "repository": repository,
            "variables": variables,
            "hosts": list(outbound.names("allowHost") if outbound else ()),
        },
    )


def _variables(entry: Entry) -> list[JSONObject]:
    limit = entry.document.limits.secret_name
    return [
        read_variable(variable, name)
        for variable in entry.mappings("envVars")
        if (name := variable.name("name", limit=limit))
    ]
