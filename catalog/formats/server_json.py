"""The MCP registry's server.json: bare, wrapped, a page, or the snake_case form of May 2025.

A server.json describes a server and its launch, never its tools.
"""

from typing import Any

from catalog.formats._launch_command import is_bundle, launch_command
from catalog.formats._remote_server import (
    Header,
    HeaderTemplates,
    build_header_templates,
    parse_transport,
    read_web_address,
)
from catalog.formats.descriptors import IntegrationDescriptor, JSONObject, Loaded
from catalog.formats.entry import Document, Entry, distinct
from catalog.formats.files import RefusedError
from catalog.formats.icon_choice import choose_icon
from catalog.formats.names import display_name_for, slug_for
from catalog.formats.secret_redaction import find_placeholders, normalize_placeholders

OF_SERVERS = True

_META = "io.modelcontextprotocol.registry/official"


def recognises(value: Any) -> bool:
    """Return True for a server, a wrapped server, or a list of servers, bare or under `servers`."""
    servers = _list_servers(value)
    if servers is None:
        return _is_server(value)
    return any(_is_server(server) for server in servers[:3])


def read(document: Document) -> Loaded:
    """Read every server in the file; of several versions of one server, keep the latest."""
    servers = _list_servers(document.value)
    single = servers is None
    values, at = ([document.value], "server") if single else (servers, "servers")
    by_slug: dict[str, list[tuple[bool, IntegrationDescriptor]]] = {}
    for wrapper in document.entries(values, at, limit=document.limits.entries_per_file):
        try:
            is_latest, integration = _server(wrapper, document.integration if single else None)
        except RefusedError as refused:
            document.report(refused.field, refused.reason)
            continue
        by_slug.setdefault(integration.slug, []).append((is_latest, integration))
    return Loaded(tuple(_select_latest(versions) for versions in by_slug.values()))


def _list_servers(value: Any) -> list[Any] | None:
    servers = value.get("servers") if isinstance(value, dict) else value
    return servers if isinstance(servers, list) else None


def _is_server(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    server = value.get("server", value)
    if not isinstance(server, dict) or "name" not in server:
        return False
    if "plugins" in server:
        return False
    # A plugin names its repository by an address alone.
    if isinstance(server.get("repository"), dict):
        return True
    server_keys = {"packages", "remotes", "version_detail", "$schema", "websiteUrl"}
    return bool(server_keys & server.keys())


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
    endpoint = normalize_placeholders(read_web_address(remote, "url"))[0] if remote else ""
    repository = entry.mapping("repository")
    package, command = (None, ()) if endpoint else _select_package(packages)
    used = remote if remote and endpoint else package
    variables = _variables(used) if used else []
    headers = _headers(remote) if remote and endpoint else HeaderTemplates({}, ())
    publisher, _, short = name.rpartition("/")
    home = read_web_address(repository, "url") if repository else ""
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
        required_secrets=_secrets(endpoint, variables, headers, entry.document.limits.secret_name),
        homepage=read_web_address(entry, "websiteUrl") or home,
        source_ref=_source_ref(entry, name, packages, remotes)
        | {"repository": home, "variables": variables}
        | ({"icon": icon} if (icon := choose_icon(entry.raw("icons"))) else {})
        | ({"headers": headers.templates} if headers.templates else {}),
    )


def _select_package(packages: list[Entry]) -> tuple[Entry | None, tuple[str, ...]]:
    """Return the first package with a launch command, otherwise the first package.

    Bundles come last: an operator has to allow them, and few run everywhere.
    """
    for package in sorted(packages, key=is_bundle):
        if command := launch_command(package):
            return package, command
    return (packages[0] if packages else None), ()


def _transport(remote: Entry | None, endpoint: str, has_command: bool) -> Any:
    if remote is not None and endpoint:
        return parse_transport(remote.name("type", "transportType"), endpoint=endpoint)
    return "stdio" if has_command else ""


def _secrets(
    endpoint: str, variables: list[JSONObject], headers: HeaderTemplates, limit: int
) -> tuple[str, ...]:
    """Return the secret or required variables, and the placeholders of address and headers."""
    needed = [
        variable["name"] for variable in variables if variable["secret"] or variable["required"]
    ]
    return distinct((*needed, *find_placeholders(endpoint), *headers.names), limit)


def _variables(package: Entry) -> list[JSONObject]:
    return [
        {
            "name": variable.name("name"),
            "description": variable.text("description", limit=package.document.limits.reason),
            "secret": bool(variable.flag("isSecret")),
            "required": bool(variable.flag("isRequired")),
        }
        for variable in package.mappings("environmentVariables")
        if variable.name("name")
    ]


def _headers(remote: Entry) -> HeaderTemplates:
    return build_header_templates(
        remote,
        (
            Header(
                header.name("name"),
                header.text("value"),
                secret=bool(header.flag("isSecret")),
                needed=_is_needed(header),
            )
            for header in remote.mappings("headers")
        ),
    )


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


def _select_latest(versions: list[tuple[bool, IntegrationDescriptor]]) -> IntegrationDescriptor:
    """Return the version marked as latest, otherwise the last one in the file."""
    marked = [integration for is_latest, integration in versions if is_latest]
    return (marked or [integration for _, integration in versions])[-1]


def _slug(name: str) -> str:
    """Return the slug of a reverse-DNS name, without the prefix thousands of servers share."""
    return slug_for(name.removeprefix("io.github."))
