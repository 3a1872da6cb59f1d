"""The MCP registry's server.json: bare, wrapped, a page of many, and the snake_case form of May
2025.

A server.json lists a server and how to start it, never its tools.
"""

from typing import Any

from catalog.descriptors import IntegrationDescriptor, JSONObject, Loaded
from catalog.normalizing.addresses import transport_of, web_address
from catalog.normalizing.entries import Document, Entry, distinct
from catalog.normalizing.launching import launch_command
from catalog.normalizing.naming import display_name_for, slug_for
from catalog.normalizing.reading import RefusedError
from catalog.normalizing.redaction import placeholders_in

_META = "io.modelcontextprotocol.registry/official"


def recognises(value: Any) -> bool:
    """A server, a wrapped server, a list of them, or such a list under `servers`."""
    servers = _listed(value)
    if servers is None:
        return _is_server(value)
    return any(_is_server(server) for server in servers[:3])


def read(document: Document) -> Loaded:
    """Every server of the file; of several versions of one server, the latest stands for them."""
    servers = _listed(document.value)
    single = servers is None
    values, at = ([document.value], "server") if single else (servers, "servers")
    found: dict[str, list[tuple[bool, IntegrationDescriptor]]] = {}
    for wrapper in document.entries(values, at, limit=document.limits.entries_per_file):
        try:
            is_latest, integration = _server(wrapper, document.integration if single else None)
        except RefusedError as refused:
            document.report(refused.field, refused.reason)
            continue
        found.setdefault(integration.slug, []).append((is_latest, integration))
    return Loaded(tuple(_latest(versions) for versions in found.values()))


def _listed(value: Any) -> list[Any] | None:
    servers = value.get("servers") if isinstance(value, dict) else value
    return servers if isinstance(servers, list) else None


def _is_server(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    server = value.get("server", value)
    if not isinstance(server, dict) or "name" not in server:
        return False
    known = {"packages", "remotes", "version_detail", "$schema", "repository", "websiteUrl"}
    return bool(known & server.keys()) and "plugins" not in server


def _server(wrapper: Entry, slug: str | None) -> tuple[bool, IntegrationDescriptor]:
    entry = wrapper.mapping("server") or wrapper
    meta = wrapper.mapping("_meta")
    official = meta.mapping(_META) if meta else None
    detail = entry.mapping("versionDetail")
    name = entry.name("name", required=True)
    status = (official.name("status") if official else "") or entry.name("status")
    if status == "deleted":
        raise RefusedError("is marked as deleted by its registry", entry.place("status"))
    flags = [source.flag("isLatest") for source in (official, detail) if source]
    return any(flags), _integration(entry, name, slug or _slug(name), detail)


def _integration(entry: Entry, name: str, slug: str, detail: Entry | None) -> IntegrationDescriptor:
    packages = entry.mappings("packages")
    remotes = entry.mappings("remotes")
    remote = remotes[0] if remotes else None
    endpoint = web_address(remote, "url") if remote else ""
    repository = entry.mapping("repository")
    command = () if endpoint else next(filter(None, map(launch_command, packages)), ())
    publisher, _, short = name.rpartition("/")
    return IntegrationDescriptor(
        slug=slug,
        kind="mcp",
        title=entry.name("title") or display_name_for(short),
        description=entry.text("description"),
        publisher=publisher,
        version=entry.version("version") or (detail.version("version") if detail else ""),
        transport=_transport(remote, endpoint, bool(command)),
        endpoint=endpoint,
        command=command,
        required_secrets=_secrets(packages, remotes, entry.document.limits.secret_name),
        homepage=web_address(entry, "websiteUrl")
        or (web_address(repository, "url") if repository else ""),
        source_ref=_source_ref(entry, name, packages, remotes),
    )


def _transport(remote: Entry | None, endpoint: str, has_command: bool) -> Any:
    if remote is not None and endpoint:
        return transport_of(remote.name("type", "transportType"), endpoint=endpoint)
    return "stdio" if has_command else ""


def _secrets(packages: list[Entry], remotes: list[Entry], limit: int) -> tuple[str, ...]:
    """Names of the variables and headers that are secret or required, and of what addresses leave
    open."""
    names: list[str] = []
    for package in packages:
        names += [
            one.name("name") for one in package.mappings("environmentVariables") if _is_needed(one)
        ]
    for remote in remotes:
        names += placeholders_in(remote.text("url"))
        for header in remote.mappings("headers"):
            names += placeholders_in(header.text("value")) or (
                [header.name("name")] if _is_needed(header) else []
            )
    return distinct(names, limit)


def _is_needed(variable: Entry) -> bool:
    return bool(variable.flag("isSecret") or variable.flag("isRequired"))


def _source_ref(entry: Entry, name: str, packages: list[Entry], remotes: list[Entry]) -> JSONObject:
    return {
        "format": "server.json",
        "file": entry.document.file,
        "name": name,
        "packages": [
            {
                "registry": package.name("registryType", "registryName"),
                "identifier": package.name("identifier", "name"),
                "version": package.version("version"),
                "sha256": package.name("fileSha256"),
            }
            for package in packages
        ],
        "remotes": [remote.name("type", "transportType") for remote in remotes],
    }


def _latest(versions: list[tuple[bool, IntegrationDescriptor]]) -> IntegrationDescriptor:
    """The version that the registry calls the latest, otherwise the last one in the file."""
    marked = [integration for is_latest, integration in versions if is_latest]
    return (marked or [integration for _, integration in versions])[-1]


def _slug(name: str) -> str:
    """The slug of a reverse-DNS name; the prefix that thousands of servers share says nothing."""
    return slug_for(name.removeprefix("io.github."))
