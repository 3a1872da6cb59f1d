"""Configurations of MCP clients: `mcpServers`, `servers`, or the bare map, without any secret."""

from typing import Any

from catalog.formats._launch_command import safe_command
from catalog.formats._remote_server import (
    Header,
    HeaderTemplates,
    build_header_templates,
    parse_transport,
    read_web_address,
)
from catalog.formats.descriptors import IntegrationDescriptor, Loaded
from catalog.formats.entry import Document, Entry, distinct
from catalog.formats.files import RefusedError
from catalog.formats.names import display_name_for, slug_for
from catalog.formats.secret_redaction import find_placeholders, normalize_placeholders

OF_SERVERS = True

# Paths of the person who wrote the file, not secrets to ask for.
_LOCAL_VARIABLES = frozenset(
    {"workspaceFolder", "userHome", "HOME", "PWD", "CLAUDE_PLUGIN_ROOT", "PATH", "USER"}
)


def recognises(value: Any) -> bool:
    """Return True for a mapping of names to servers with a command or an address."""
    servers = _servers(value)
    if not isinstance(value, dict) or servers is value:
        return bool(servers) and all(_is_server(server) for server in servers.values())
    return not isinstance(value.get("description"), str)


def read(document: Document) -> Loaded:
    """Read every server, without tools: those are listed when it is connected."""
    servers = _servers(document.value)
    single = document.integration if len(servers) == 1 else None
    integrations: list[IntegrationDescriptor] = []
    limit = document.limits.entries_per_file
    if len(servers) > limit:
        document.report(
            "mcpServers", f"has {len(servers):,} servers; only the first {limit:,} are read"
        )
    for name, value in list(servers.items())[:limit]:
        try:
            integrations.append(_integration(document.entry(value, str(name)), str(name), single))
        except RefusedError as refused:
            document.report(refused.field, refused.reason)
    return Loaded(tuple(integrations))


def _servers(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        return {}
    for key in ("mcpServers", "servers"):
        if isinstance(value.get(key), dict):
            servers: dict[str, Any] = value[key]
            return servers
    return value


def _is_server(value: Any) -> bool:
    return isinstance(value, dict) and (
        isinstance(value.get("command"), str) or isinstance(value.get("url"), str)
    )


def _integration(entry: Entry, name: str, slug: str | None) -> IntegrationDescriptor:
    if len(name) > entry.document.limits.name:
        raise RefusedError("has a name that is too long", entry.at[: entry.document.limits.name])
    endpoint = normalize_placeholders(read_web_address(entry, "url", "serverUrl"))[0]
    command = _command(entry)
    headers = _headers(entry) if endpoint else HeaderTemplates({}, ())
    if not endpoint and not command:
        raise RefusedError("needs a command or an address (url)", entry.at)
    return IntegrationDescriptor(
        slug=slug or slug_for(name),
        kind="mcp",
        title=entry.name("title") or display_name_for(entry.cleaned(name, "name")),
        description=entry.text("description"),
        transport=_transport(entry, endpoint),
        endpoint=endpoint,
        command=() if endpoint else command,
        required_secrets=_secrets(entry, headers),
        source_ref={
            "format": "mcp.json",
            "file": entry.document.file,
            "name": entry.cleaned(name, "name"),
            **({"headers": headers.templates} if headers.templates else {}),
        },
    )


def _transport(entry: Entry, endpoint: str) -> Any:
    return (
        parse_transport(entry.name("type", "transport"), endpoint=endpoint) if endpoint else "stdio"
    )


def _command(entry: Entry) -> tuple[str, ...]:
    program = entry.name("command")
    return safe_command(entry, (program, *entry.texts("args"))) if program else ()


def _headers(entry: Entry) -> HeaderTemplates:
    headers = entry.raw("headers")
    listed = headers.items() if isinstance(headers, dict) else ()
    return build_header_templates(entry, (Header(str(name), str(value)) for name, value in listed))


def _secrets(entry: Entry, headers: HeaderTemplates) -> tuple[str, ...]:
    """List variable names from the environment, headers, arguments and address."""
    names: list[str] = []
    environment = entry.raw("env")
    if isinstance(environment, dict):
        names += [str(name) for name in environment]
    names += headers.names
    for text in (*entry.texts("args"), entry.text("url")):
        names += find_placeholders(text)
    clean = (str(entry.cleaned(name, "env")) for name in names if name not in _LOCAL_VARIABLES)
    return distinct(clean, entry.document.limits.secret_name)
