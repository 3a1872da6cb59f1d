"""MCP bundles (`.mcpb`, once `.dxt`): a zip with a manifest and the program of one server.

Pegboard names a bundle by its address and the digest of the file. Only bundles for Node start here:
they bring everything they need.
"""

import re
from typing import Any
from urllib.parse import urlsplit

from catalog.formats.archive_members import MB, ArchiveLimits
from catalog.formats.descriptors import IntegrationDescriptor, JSONObject, Loaded
from catalog.formats.entry import Document, Entry, distinct
from catalog.formats.files import RefusedError
from catalog.formats.icon_choice import choose_icon, icon_address
from catalog.formats.launch_command import safe_command
from catalog.formats.names import display_name_for, slug_for
from catalog.formats.package_names import Package
from catalog.formats.remote_server import read_web_address
from catalog.formats.tools_list import normalize_tools

MANIFEST = "manifest.json"
BUNDLE_BYTES = 100 * MB
BUNDLE_LIMITS = ArchiveLimits(members=30_000, total=400 * MB, file=100 * MB)
SUFFIXES = (".mcpb", ".dxt")
_ASKED = re.compile(r"\$\{user_config\.([A-Za-z_][\w.-]{0,99})\}")
_FOLDER = "${__dirname}"
_MOST_ARGUMENTS = 50


def is_bundle_address(address: str) -> bool:
    """Return True if the address names a bundle by its suffix."""
    return urlsplit(address).path.lower().endswith(SUFFIXES)


def read_bundle(
    manifest: Any, *, address: str, digest: str, integration: str | None = None
) -> Loaded:
    """Read the manifest of the bundle at this address. RefusedError if it cannot run here."""
    document = Document(file=address, value=manifest, integration=integration)
    entry = document.entry(manifest, MANIFEST)
    server = _node_server(entry)
    name = entry.name("name", required=True)
    variables = _variables(entry, server)
    package = Package("mcpb", address, digest)
    descriptor = IntegrationDescriptor(
        slug=integration or slug_for(name),
        kind="mcp",
        title=entry.name("displayName") or display_name_for(name),
        description=entry.text("description"),
        publisher=_publisher(entry),
        version=entry.version("version"),
        transport="stdio",
        command=safe_command(entry, package.command()),
        required_secrets=distinct(
            (one["name"] for one in variables if one["secret"] or one["required"]),
            document.limits.secret_name,
        ),
        homepage=read_web_address(entry, "homepage"),
        licence=entry.version("license"),
        source_ref={
            "format": "mcpb",
            "file": address,
            "name": name,
            "variables": variables,
            **({"icon": icon} if (icon := _icon(entry)) else {}),
        },
    )
    tools = normalize_tools(_tools(entry), integration=descriptor)
    defects = (*document.defects, *tools.defects)
    return Loaded((descriptor,), tools.capabilities, defects)


def launch_arguments(manifest: Any, folder: str) -> tuple[str, ...]:
    """Return Node's arguments for a bundle that is unpacked in `folder`.

    What its person enters stays `${NAME}`. Raises RefusedError.
    """
    entry = Document(file=MANIFEST, value=manifest).entry(manifest, MANIFEST)
    server = _node_server(entry)
    return tuple(
        _ASKED.sub(r"${\1}", one).replace(_FOLDER, folder) for one in _arguments(entry, server)
    )


def entry_point(manifest: Any) -> str:
    """Return the path of the program within the bundle. Raises RefusedError."""
    entry = Document(file=MANIFEST, value=manifest).entry(manifest, MANIFEST)
    return _node_server(entry).text("entryPoint", required=True)


def _icon(entry: Entry) -> str:
    """Return the address of its icon. One that is a file of the bundle has none."""
    return choose_icon(entry.raw("icons")) or icon_address(entry.raw("icon"))


def _node_server(entry: Entry) -> Entry:
    server = entry.mapping("server")
    if server is None:
        raise RefusedError("has no server in its manifest", "server")
    if (kind := server.name("type")) != "node":
        raise RefusedError(
            f"is for {kind or 'nothing that is known'}; only bundles for node are started here",
            "server.type",
        )
    return server


def _config(server: Entry) -> Entry | None:
    return server.mapping("mcpConfig")


def _arguments(entry: Entry, server: Entry) -> list[str]:
    """Return the arguments of the manifest's command, or the entry point where it has none."""
    config = _config(server)
    if config is None:
        return [f"{_FOLDER}/{server.text('entryPoint', required=True)}"]
    if config.name("command") != "node":
        raise RefusedError("is not started by node", "server.mcp_config.command")
    listed = config.raw("args")
    if not isinstance(listed, list) or not listed or len(listed) > _MOST_ARGUMENTS:
        raise RefusedError("has no usable arguments", "server.mcp_config.args")
    if not all(isinstance(one, str) and len(one) <= 1_000 for one in listed):
        raise RefusedError("has no usable arguments", "server.mcp_config.args")
    return listed


def _variables(entry: Entry, server: Entry) -> list[JSONObject]:
    """Return what a person enters: by the variable that has it, or by its own name in arguments."""
    config, asked = _config(server), entry.raw("userConfig")
    described = asked if isinstance(asked, dict) else {}
    environment = config.raw("env") if config else None
    names: dict[str, str] = {}
    for variable, value in (environment if isinstance(environment, dict) else {}).items():
        if found := _ASKED.fullmatch(str(value)):
            names[str(variable)] = found.group(1)
        else:
            entry.report(f"env.{variable}", "is set by the bundle, and not by Pegboard")
    for one in _arguments(entry, server):
        names |= {key: key for key in _ASKED.findall(one)}
    return [_variable(entry, name, described.get(key)) for name, key in names.items()]


def _variable(entry: Entry, name: str, described: Any) -> JSONObject:
    about = entry.document.entry(described if isinstance(described, dict) else {}, "user_config")
    return {
        "name": str(entry.cleaned(name, "env")),
        "description": about.text("description", "title", limit=entry.document.limits.reason),
        "secret": bool(about.flag("sensitive")),
        "required": bool(about.flag("required")),
    }


def _publisher(entry: Entry) -> str:
    author = entry.mapping("author") if isinstance(entry.raw("author"), dict) else None
    return author.name("name") if author else ""


def _tools(entry: Entry) -> list[JSONObject]:
    """Return the manifest's tools, which have no schemas: the server tells them when it runs."""
    listed = entry.raw("tools")
    named = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return [{**one, "inputSchema": {"type": "object"}} for one in named]
