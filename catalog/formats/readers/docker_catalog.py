"""Docker's MCP catalogue: server.yaml with an optional tools.json, which may be empty.

The published catalogue is one file with all servers under `registry`, by name and without folders.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from catalog.formats._declared_targets import (
    Header,
    HeaderTemplates,
    build_header_templates,
    build_variable,
    container_command,
    parse_transport,
    read_web_address,
)
from catalog.formats.descriptors import Descriptor, IntegrationDescriptor, JSONObject, Loaded
from catalog.formats.entry import Document, Entry, distinct
from catalog.formats.files import RefusedError, parse_json, read_text
from catalog.formats.icon_choice import icon_address
from catalog.formats.names import display_name_for, slug_for
from catalog.formats.readers.tool import read_tools
from catalog.formats.secret_redaction import find_placeholders, normalize_placeholders

OF_SERVERS = True
IS_LOOSE = False

FILE_NAME = "server.yaml"
TOOLS_FILE = "tools.json"


def recognises(value: Any) -> bool:
    """Return True for a server entry with one of the types that Docker uses."""
    if isinstance(value, dict) and isinstance(value.get("registry"), dict):
        return any(map(_is_entry, value["registry"].values()))
    return _is_entry(value) and "name" in value


def read(document: Document) -> Loaded:
    """Read one server with the tools from its tools.json, or all of the published catalogue."""
    if isinstance(document.value.get("registry"), dict):
        return Loaded(tuple(_registry(document)))
    entry = document.entry(document.value)
    name = entry.name("name", required=True)
    integration = _integration(entry, name, document.integration or slug_for(name))
    return Loaded((integration,), _tools(entry, document, integration))


def _is_entry(value: Any) -> bool:
    """Return True for a server with one of the types that Docker uses."""
    if not isinstance(value, dict) or value.get("type") not in ("server", "remote", "poci"):
        return False
    return bool({"about", "image", "remote", "meta"} & value.keys())


def _registry(document: Document) -> Iterator[IntegrationDescriptor]:
    """Yield the servers of a published catalogue, with the names of their tools."""
    servers = list(document.value["registry"].items())
    limit = document.limits.entries_per_file
    if len(servers) > limit:
        document.report(
            "registry", f"has {len(servers):,} servers; only the first {limit:,} are read"
        )
    for name, value in servers[:limit]:
        try:
            entry = document.entry(value, str(name))
            integration = _integration(entry, str(name), slug_for(str(name)))
        except RefusedError as refused:
            document.report(refused.field, refused.reason)
            continue
        tools = [tool.name("name") for tool in entry.mappings("tools")]
        yield replace(integration, source_ref={**integration.source_ref, "tools": tools})


def _integration(entry: Entry, name: str, slug: str) -> IntegrationDescriptor:
    about = entry.mapping("about") or entry
    source = entry.mapping("source")
    remote = entry.mapping("remote")
    endpoint = normalize_placeholders(read_web_address(remote, "url"))[0] if remote else ""
    headers = _headers(remote) if remote else HeaderTemplates({}, ())
    meta = entry.mapping("meta")
    run = entry.mapping("run")
    image = entry.name("image")
    variables = _variables(entry)
    limit = entry.document.limits.secret_name
    # `{{github.mode}}` is a setting that people enter.
    words = [normalize_placeholders(word) for word in (run or entry).texts("command")]
    gaps = dict.fromkeys(gap for _, names in words for gap in names)
    known_names = {variable["name"] for variable in variables}
    passed_on = tuple(variable["name"] for variable in variables)
    variables += [
        build_variable(entry, gap, secret=False) for gap in gaps if gap not in known_names
    ]
    needed = (variable["name"] for variable in variables if variable["required"])
    secrets = distinct((*needed, *headers.names), limit)
    if entry.raw("volumes"):
        entry.report("volumes", "are folders of another machine, and are left out")
    project = read_web_address(source, "project") if source else ""
    return IntegrationDescriptor(
        slug=slug,
        kind="mcp",
        title=about.name("title") or display_name_for(name),
        description=about.text("description"),
        publisher=image.partition("/")[0] if "/" in image else "",
        transport=parse_transport(
            remote.name("transportType") if remote else "", endpoint=endpoint
        ),
        endpoint=endpoint,
        command=container_command(entry, image, passed_on, tuple(word for word, _ in words)),
        required_secrets=secrets,
        homepage=project,
        source_ref={
            "format": "docker",
            "file": entry.document.file,
            "name": name,
            "image": image,
            "commit": source.name("commit") if source else "",
            "category": meta.name("category") if meta else "",
            "tags": list(meta.tags("tags")) if meta else [],
            "repository": project,
            "variables": variables,
            **({"icon": icon} if (icon := icon_address(about.raw("icon"))) else {}),
            **({"headers": headers.templates} if headers.templates else {}),
        },
    )


def _headers(remote: Entry) -> HeaderTemplates:
    headers = remote.raw("headers")
    listed = headers.items() if isinstance(headers, dict) else ()
    return build_header_templates(remote, (Header(str(name), str(value)) for name, value in listed))


def _variables(entry: Entry) -> list[JSONObject]:
    """List the variables to set: secrets, settings, and values from OAuth."""
    nested = entry.raw("config")
    config = (entry.mapping("config") or entry) if isinstance(nested, dict) else entry
    secrets = config.mappings("secrets")
    secrets += entry.mappings("oauth") if isinstance(entry.raw("oauth"), list) else []
    limits = entry.document.limits
    variables: dict[str, JSONObject] = {}
    for variable in (*secrets, *config.mappings("env")):
        if name := variable.name("env", "name", limit=limits.secret_name):
            is_secret = variable in secrets
            value = variable.text("value")
            variables.setdefault(
                name,
                build_variable(
                    variable,
                    name,
                    description=variable.text("description", limit=limits.reason),
                    secret=is_secret,
                    default=None if is_secret or find_placeholders(value) else value,
                ),
            )
    return list(variables.values())


def _tools(
    entry: Entry, document: Document, integration: IntegrationDescriptor
) -> tuple[Descriptor, ...]:
    folder = document.folder
    if folder is None or not (folder / TOOLS_FILE).exists():
        return ()
    meta = entry.mapping("meta")
    beside = Document(
        file="/".join((*document.file.split("/")[:-1], TOOLS_FILE)),
        value=None,
        limits=document.limits,
        defects=document.defects,
    )
    try:
        text = read_text(folder / TOOLS_FILE, folder, limit=document.limits.file)
        tools = parse_json(text, max_depth=document.limits.json_depth)
    except RefusedError as refused:
        beside.report(refused.field, refused.reason)
        return ()
    return read_tools(
        beside,
        tools.get("tools") if isinstance(tools, dict) else tools,
        "tools",
        integration=integration,
        category=meta.name("category") if meta else "",
        tags=meta.tags("tags") if meta else (),
    )
