"""ToolHive's registry, or one of its entries (spec.yaml), which list tools by name only."""

from typing import Any

from catalog.formats._declared_targets import (
    Header,
    build_header_templates,
    container_command,
    parse_transport,
    read_variable,
    read_web_address,
)
from catalog.formats.descriptors import IntegrationDescriptor, JSONObject, Loaded
from catalog.formats.entry import Document, Entry, distinct
from catalog.formats.files import RefusedError
from catalog.formats.names import display_name_for, slug_for
from catalog.formats.readers.tool import read_tools
from catalog.formats.secret_redaction import normalize_placeholders

OF_SERVERS = True
IS_LOOSE = False


def recognises(value: Any) -> bool:
    """Return True for a mapping with a transport and an image or address, or maps of such."""
    if not isinstance(value, dict):
        return False
    entries = [entry for _, entry in _listed(value)]
    # Clients' configurations have servers at addresses, too.
    has_image = any("image" in entry for entry in entries if isinstance(entry, dict))
    if entries:
        return has_image and all(map(recognises, entries))
    return "transport" in value and bool({"image", "url"} & value.keys())


def _listed(value: JSONObject) -> list[tuple[str, Any]]:
    """Return the entries of a registry, by name; none for a single entry."""
    groups = (value.get("servers"), value.get("remote_servers"))
    return [pair for group in groups if isinstance(group, dict) for pair in group.items()]


def read(document: Document) -> Loaded:
    """Read one server and the names of its tools, or all of a registry."""
    listed = _listed(document.value)
    if not listed:
        entry = document.entry(document.value)
        return _read_entry(document, entry, entry.name("name") or document.stem)
    limit = document.limits.entries_per_file
    if len(listed) > limit:
        document.report(
            "servers", f"has {len(listed):,} servers; only the first {limit:,} are read"
        )
    loaded = Loaded()
    for name, value in listed[:limit]:
        try:
            server = _read_entry(document, document.entry(value, name), name)
        except RefusedError as refused:
            document.report(refused.field, refused.reason)
            continue
        integrations = (*loaded.integrations, *server.integrations)
        loaded = Loaded(integrations, (*loaded.capabilities, *server.capabilities))
    return loaded


def _read_entry(document: Document, entry: Entry, name: str) -> Loaded:
    is_single = not _listed(document.value)
    slug = document.integration if is_single else None
    integration = _integration(entry, name, slug or slug_for(name))
    tools = [{"name": tool} for tool in entry.names("tools")]
    capabilities = read_tools(
        document, tools, "tools", integration=integration, tags=entry.tags("tags")
    )
    return Loaded((integration,), capabilities)


def _integration(entry: Entry, name: str, slug: str) -> IntegrationDescriptor:
    image = entry.name("image")
    endpoint = normalize_placeholders(read_web_address(entry, "url"))[0]
    declared = [*entry.mappings("envVars"), *entry.mappings("headers")]
    limit = entry.document.limits.secret_name
    variables = [
        read_variable(variable, variable_name)
        for variable in declared
        if (variable_name := variable.name("name", limit=limit))
    ]
    headers = build_header_templates(
        entry,
        (
            Header(header_name, f"${{{header_name}}}")
            for header in entry.mappings("headers")
            if (header_name := header.name("name", limit=limit))
        ),
    )
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
            **({"headers": headers.templates} if headers.templates else {}),
            "hosts": list(outbound.names("allowHost") if outbound else ()),
        },
    )
