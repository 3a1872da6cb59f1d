"""Obot's catalogue: a server to a file, with the runtime that starts it."""

from typing import Any

from catalog.formats._declared_targets import (
    Header,
    HeaderTemplates,
    build_header_templates,
    container_command,
    read_variable,
    read_web_address,
    safe_command,
)
from catalog.formats.descriptors import IntegrationDescriptor, JSONObject, Loaded
from catalog.formats.entry import Document, Entry, distinct
from catalog.formats.icon_choice import icon_address
from catalog.formats.names import display_name_for, slug_for
from catalog.formats.secret_redaction import normalize_placeholders

OF_SERVERS = True
IS_LOOSE = False

_RUNTIMES = {"uvx": "uvxConfig", "npx": "npxConfig", "containerized": "containerizedConfig"}
_REMOTE = "remote"
_MOST_TOOLS = 200


def recognises(value: Any) -> bool:
    """Return True for an entry with one of Obot's runtimes, or a list of such."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(entry, dict) and recognises(entry) for entry in value)
    return isinstance(value, dict) and value.get("runtime") in (*_RUNTIMES, _REMOTE, "composite")


def read(document: Document) -> Loaded:
    """Read one server, or each of a list."""
    if not isinstance(document.value, list):
        entry = document.entry(document.value)
        return Loaded((_integration(document, entry, document.integration),))
    limit = document.limits.entries_per_file
    entries = document.entries(document.value, "servers", limit=limit)
    return Loaded(tuple(_integration(document, entry, None) for entry in entries))


def _integration(document: Document, entry: Entry, slug: str | None) -> IntegrationDescriptor:
    """Read one server; what Obot alone can start is listed without a command, and told."""
    name = entry.name("name") or document.stem
    remote = entry.mapping("remoteConfig")
    address = read_web_address(remote, "fixedURL", "urlTemplate", "url") if remote else ""
    declared = [*entry.mappings("env"), *(remote.mappings("headers") if remote else ())]
    variables = [
        read_variable(variable, key, required=variable.flag("required") is not False)
        for variable in declared
        if (key := variable.name("key", "name", limit=document.limits.secret_name))
    ]
    endpoint, headers = normalize_placeholders(address)[0], HeaderTemplates({}, ())
    if remote and endpoint:
        headers = build_header_templates(entry, _headers(remote))
    command = () if endpoint else _command(entry, [variable["name"] for variable in variables])
    if not endpoint and not command:
        entry.report("runtime", "is none that Pegboard starts or reaches, so it is only listed")
    return IntegrationDescriptor(
        slug=slug or slug_for(name),
        kind="mcp",
        title=display_name_for(name) if name.islower() else name,
        description=entry.text("shortDescription", "description"),
        transport="http" if endpoint else "stdio" if command else "",
        endpoint=endpoint,
        command=command,
        required_secrets=distinct(
            (variable["name"] for variable in variables if variable["required"]),
            document.limits.secret_name,
        ),
        homepage=read_web_address(entry, "repoURL"),
        source_ref=_source_ref(entry, name, variables, headers),
    )


def _source_ref(
    entry: Entry, name: str, variables: list[JSONObject], headers: HeaderTemplates
) -> JSONObject:
    metadata = entry.mapping("metadata")
    icon = icon_address(entry.raw("icon"))
    tools = [tool.name("name") for tool in entry.mappings("toolPreview", "tools")[:_MOST_TOOLS]]
    return {
        "format": "obot",
        "file": entry.document.file,
        "name": name,
        "category": metadata.name("categories") if metadata else "",
        "repository": read_web_address(entry, "repoURL"),
        "tools": [tool for tool in tools if tool],
        "variables": variables,
        **({"icon": icon} if icon else {}),
        **({"headers": headers.templates} if headers.templates else {}),
    }


def _headers(remote: Entry) -> list[Header]:
    """Return the headers; one without a value is filled with the variable of its name."""
    return [
        Header(name, header.text("value") or f"{header.text('prefix')} ${{{name}}}".strip())
        for header in remote.mappings("headers")
        if (name := header.name("key", "name"))
    ]


def _command(entry: Entry, variables: list[str]) -> tuple[str, ...]:
    runtime = entry.name("runtime")
    config = entry.mapping(_RUNTIMES.get(runtime, _REMOTE))
    if config is None:
        return ()
    if runtime == "containerized":
        if config.raw("port") is not None:
            return ()  # it answers at a port of its container
        words = (*config.texts("command"), *config.texts("args"))
        return container_command(entry, config.name("image"), tuple(variables), words)
    package, program = config.text("package"), config.text("command")
    launch = ("npx", "-y") if runtime == "npx" else ("uvx",)
    started = ("--from", package, program) if program and runtime == "uvx" else (package,)
    return safe_command(entry, (*launch, *started, *config.texts("args"))) if package else ()
