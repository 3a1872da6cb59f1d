"""The MCP registry's server.json: bare, wrapped, a page of many, and the snake_case form of May
2025.

A server.json lists a server and how to start it, never its tools.
"""

from typing import Any

from catalog.formats.descriptors import IntegrationDescriptor, JSONObject, Loaded
from catalog.formats.entry import Document, Entry, distinct
from catalog.formats.files import RefusedError
from catalog.formats.headers import Header, LaidOut, lay_out
from catalog.formats.launch_command import launch_command
from catalog.formats.names import display_name_for, slug_for
from catalog.formats.secret_redaction import placeholders_in, with_gaps
from catalog.formats.web_address import transport_of, web_address

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
    endpoint = with_gaps(web_address(remote, "url"))[0] if remote else ""
    repository = entry.mapping("repository")
    package, command = (None, ()) if endpoint else _launched(packages)
    used = remote if remote and endpoint else package
    variables = _variables(used) if used else []
    headers = _headers(remote) if remote and endpoint else LaidOut({}, ())
    publisher, _, short = name.rpartition("/")
    home = web_address(repository, "url") if repository else ""
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
        homepage=web_address(entry, "websiteUrl") or home,
        source_ref=_source_ref(entry, name, packages, remotes)
        | {"repository": home, "variables": variables}
        | ({"headers": headers.templates} if headers.templates else {}),
    )


def _launched(packages: list[Entry]) -> tuple[Entry | None, tuple[str, ...]]:
    """The first package that a launcher starts; the first of all where none does."""
    for package in packages:
        if command := launch_command(package):
            return package, command
    return (packages[0] if packages else None), ()


def _transport(remote: Entry | None, endpoint: str, has_command: bool) -> Any:
    if remote is not None and endpoint:
        return transport_of(remote.name("type", "transportType"), endpoint=endpoint)
    return "stdio" if has_command else ""


def _secrets(
    endpoint: str, variables: list[JSONObject], headers: LaidOut, limit: int
) -> tuple[str, ...]:
    """Names of the variables that are secret or required, and of what addresses and headers leave
    open."""
    needed = [one["name"] for one in variables if one["secret"] or one["required"]]
    return distinct((*needed, *placeholders_in(endpoint), *headers.names), limit)


def _variables(package: Entry) -> list[JSONObject]:
    return [
        {
            "name": one.name("name"),
            "description": one.text("description", limit=package.document.limits.reason),
            "secret": bool(one.flag("isSecret")),
            "required": bool(one.flag("isRequired")),
        }
        for one in package.mappings("environmentVariables")
        if one.name("name")
    ]


def _headers(remote: Entry) -> LaidOut:
    return lay_out(
        remote,
        (
            Header(
                one.name("name"),
                one.text("value"),
                secret=bool(one.flag("isSecret")),
                needed=_is_needed(one),
            )
            for one in remote.mappings("headers")
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


def _latest(versions: list[tuple[bool, IntegrationDescriptor]]) -> IntegrationDescriptor:
    """The version that the registry calls the latest, otherwise the last one in the file."""
    marked = [integration for is_latest, integration in versions if is_latest]
    return (marked or [integration for _, integration in versions])[-1]


def _slug(name: str) -> str:
    """The slug of a reverse-DNS name; the prefix that thousands of servers share says nothing."""
    return slug_for(name.removeprefix("io.github."))
