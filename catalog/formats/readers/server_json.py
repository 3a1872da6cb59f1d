"""The MCP registry's server.json: bare, wrapped, a page, or the snake_case form of May 2025.

A server.json describes a server and its launch, never its tools.
"""

import re
from typing import Any

from catalog.formats._declared_targets import (
    Header,
    HeaderTemplates,
    argument_gap,
    build_header_templates,
    build_variable,
    is_bundle,
    launch_command,
    parse_transport,
    read_variable,
    read_web_address,
)
from catalog.formats.descriptors import IntegrationDescriptor, JSONObject, Loaded
from catalog.formats.entry import Document, Entry, distinct
from catalog.formats.files import RefusedError
from catalog.formats.icon_choice import choose_icon
from catalog.formats.names import display_name_for, slug_for
from catalog.formats.secret_redaction import find_placeholders, normalize_placeholders

OF_SERVERS = True
IS_LOOSE = False

_BEFORE_RELEASE = re.compile(
    r"\d[-_.]?(?:a|b|c|rc|alpha|beta|dev|pre|preview|next|canary|snapshot|nightly|insiders?)(?![a-z])|-",
    re.IGNORECASE,
)
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
    # A plugin names its repository by an address alone, or with the type that npm has.
    if isinstance(server.get("repository"), dict) and "type" not in server["repository"]:
        return True
    if "server" in str(server.get("$schema", "")).rpartition("/")[2]:
        return True
    return bool({"packages", "remotes", "version_detail", "websiteUrl"} & server.keys())


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
    # The slug of a reverse-DNS name, without the prefix thousands of servers share.
    return any(flags), _integration(
        entry, name, slug or slug_for(name.removeprefix("io.github.")), detail, status
    )


def _integration(
    entry: Entry, name: str, slug: str, detail: Entry | None, status: str = ""
) -> IntegrationDescriptor:
    packages = entry.mappings("packages")
    remotes = entry.mappings("remotes")
    # The first is the one that the server prefers.
    addresses = [(remote, read_web_address(remote, "url")) for remote in remotes]
    remote, address = next((pair for pair in addresses if pair[1]), (None, ""))
    endpoint = normalize_placeholders(address)[0]
    repository = entry.mapping("repository")
    package, command = (None, ()) if endpoint else _select_package(packages)
    launch = _Launch(remote or package, endpoint)
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
        required_secrets=launch.required(entry.document.limits.secret_name),
        homepage=read_web_address(entry, "websiteUrl") or home,
        source_ref=_source_ref(entry, name, packages, remotes)
        | ({"status": status} if status == "deprecated" else {})
        | {"repository": home, "variables": list(launch.variables.values())}
        | ({"icon": icon} if (icon := choose_icon(entry.raw("icons"))) else {})
        | ({"headers": launch.headers.templates} if launch.headers.templates else {}),
    )


def _select_package(packages: list[Entry]) -> tuple[Entry | None, tuple[str, ...]]:
    """Return the first package with a launch command, otherwise the first package.

    Those that speak over standard streams come first, as Pegboard starts programs so; bundles come
    last: an operator has to allow them, and few run everywhere.
    """
    for package in sorted(
        packages, key=lambda entry: (answers_at_an_address(entry), is_bundle(entry))
    ):
        if command := launch_command(package):
            return package, command
    return (packages[0] if packages else None), ()


def answers_at_an_address(package: Entry) -> bool:
    """Return True for a package that is reached by HTTP once it runs, not by standard streams."""
    transport = package.raw("transport")
    kind = transport.get("type") if isinstance(transport, dict) else ""
    return isinstance(kind, str) and kind not in ("", "stdio")


def _transport(remote: Entry | None, endpoint: str, has_command: bool) -> Any:
    if remote is not None and endpoint:
        return parse_transport(remote.name("type", "transportType"), endpoint=endpoint)
    return "stdio" if has_command else ""


class _Launch:
    """Collects what a package or remote needs: its variables, and the headers made of them."""

    def __init__(self, used: Entry | None, endpoint: str) -> None:
        self.variables: dict[str, JSONObject] = {}
        self.headers = HeaderTemplates({}, ())
        if used is None:
            return
        limit = used.document.limits.secret_name
        listed = [*used.mappings("environmentVariables"), *_described(used.mapping("variables"))]
        for variable in listed:
            if name := variable.name("name", limit=limit):
                self.variables.setdefault(name, read_variable(variable, name))
        if endpoint:
            self._read_headers(used)
        arguments = (*used.mappings("runtimeArguments"), *used.mappings("packageArguments"))
        for argument in arguments:
            for variable in _described(argument.mapping("variables")):
                name = variable.name("name", limit=limit)
                self.variables.setdefault(name, read_variable(variable, name))
            if used.raw("registryName") is not None:
                continue  # arguments of that form stay away from the command
            if gap := argument_gap(argument):
                self.variables.setdefault(gap, read_variable(argument, gap, required=True))
            for name in normalize_placeholders(argument.text("value", "default"))[1]:
                self.variables.setdefault(name, build_variable(used, name))
        for name in (*find_placeholders(endpoint), *self.headers.names):
            self.variables.setdefault(name, build_variable(used, name))

    def required(self, limit: int) -> tuple[str, ...]:
        """Return the names of the variables that need a value."""
        needed = (variable["name"] for variable in self.variables.values() if variable["required"])
        return distinct(needed, limit)

    def _read_headers(self, remote: Entry) -> None:
        """Read headers. One without a value is a variable; a default that is no secret is sent."""
        headers: list[Header] = []
        for entry in remote.mappings("headers"):
            name, value = entry.name("name"), entry.text("value")
            variable = read_variable(entry, name)
            for inner in _described(entry.mapping("variables")):
                inner_name = inner.name("name")
                self.variables.setdefault(inner_name, read_variable(inner, inner_name))
            is_fixed = bool(value) or ("default" in variable and "choices" not in variable)
            if not is_fixed:
                self.variables.setdefault(name, variable)
            text = value or (variable["default"] if is_fixed else f"${{{name}}}")
            headers.append(Header(name, text, secret=variable["secret"]))
        self.headers = build_header_templates(remote, headers)


def _described(variables: Entry | None) -> list[Entry]:
    """Return the variables of a map by name as mappings that have their name."""
    if variables is None:
        return []
    return [
        Entry({**value, "name": name}, document=variables.document, at=variables.place(name))
        for name, value in variables.items()
        if isinstance(value, dict)
    ]


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
    """Return the version marked as latest, otherwise the newest stable one.

    A mark on a version before its release counts only where nothing stable is there.
    """
    marked = [entry for is_latest, entry in versions if is_latest and is_stable(entry.version)]
    candidates = marked or [entry for _, entry in versions]
    return max(candidates, key=lambda entry: version_key(entry.version))


def is_stable(version: str) -> bool:
    """Return False for a version before its release: `2.0.0-rc.1`, `2.0b1`, `2.0.dev3`."""
    return not _BEFORE_RELEASE.search(version.partition("+")[0])


def version_key(version: str) -> tuple[bool, tuple[tuple[int, str], ...], bool]:
    """Return a key by which versions are ordered: stable ones last, then by their numbers."""
    plain = version.partition("+")[0].lower().removeprefix("v")
    release, _dash, before = plain.partition("-")
    numbers = re.findall(r"(\d+)|([a-z]+)", release + (f".{before}" if before else ""))
    parts = tuple(
        (int(number or 0) if len(number) < 19 else 10**18, word) for number, word in numbers
    )
    return is_stable(version), parts, not before
