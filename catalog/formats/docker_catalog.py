"""Docker's MCP catalogue: server.yaml with an optional tools.json, which may be empty."""

from typing import Any

from catalog.formats._launch_command import container_command
from catalog.formats._remote_server import (
    Header,
    HeaderTemplates,
    build_header_templates,
    parse_transport,
    read_web_address,
)
from catalog.formats.descriptors import Descriptor, IntegrationDescriptor, JSONObject, Loaded
from catalog.formats.entry import Document, Entry, distinct
from catalog.formats.files import RefusedError, parse_json, read_text
from catalog.formats.icon_choice import icon_address
from catalog.formats.names import display_name_for, slug_for
from catalog.formats.secret_redaction import normalize_placeholders
from catalog.formats.tool import read_tools

OF_SERVERS = True

FILE_NAME = "server.yaml"
TOOLS_FILE = "tools.json"


def recognises(value: Any) -> bool:
    """Return True for a server entry with one of the types that Docker uses."""
    if not isinstance(value, dict) or value.get("type") not in ("server", "remote", "poci"):
        return False
    return "name" in value and bool({"about", "image", "remote", "meta"} & value.keys())


def read(document: Document) -> Loaded:
    """Read one server, with the tools from its tools.json."""
    entry = document.entry(document.value)
    name = entry.name("name", required=True)
    integration = _integration(entry, name, document.integration or slug_for(name))
    return Loaded((integration,), _tools(entry, document, integration))


def _integration(entry: Entry, name: str, slug: str) -> IntegrationDescriptor:
    about = entry.mapping("about")
    source = entry.mapping("source")
    remote = entry.mapping("remote")
    endpoint = normalize_placeholders(read_web_address(remote, "url"))[0] if remote else ""
    headers = _headers(remote) if remote else HeaderTemplates({}, ())
    meta = entry.mapping("meta")
    run = entry.mapping("run")
    image = entry.name("image")
    variables = _variables(entry)
    limit = entry.document.limits.secret_name
    secrets = distinct((*(variable["name"] for variable in variables), *headers.names), limit)
    project = read_web_address(source, "project") if source else ""
    return IntegrationDescriptor(
        slug=slug,
        kind="mcp",
        title=(about.name("title") if about else "") or display_name_for(name),
        description=about.text("description") if about else "",
        publisher=image.partition("/")[0] if "/" in image else "",
        transport=parse_transport(
            remote.name("transportType") if remote else "", endpoint=endpoint
        ),
        endpoint=endpoint,
        command=container_command(entry, image, secrets, run.texts("command") if run else ()),
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
            **({"icon": icon} if about and (icon := icon_address(about.raw("icon"))) else {}),
            **({"headers": headers.templates} if headers.templates else {}),
        },
    )


def _headers(remote: Entry) -> HeaderTemplates:
    headers = remote.raw("headers")
    listed = headers.items() if isinstance(headers, dict) else ()
    return build_header_templates(remote, (Header(str(name), str(value)) for name, value in listed))


def _variables(entry: Entry) -> list[JSONObject]:
    """List the variables to set: secrets, settings, and values from OAuth."""
    config = entry.mapping("config") if isinstance(entry.raw("config"), dict) else None
    secrets = config.mappings("secrets") if config else []
    secrets += entry.mappings("oauth") if isinstance(entry.raw("oauth"), list) else []
    settings = config.mappings("env") if config else []
    limits = entry.document.limits
    return [
        {
            "name": name,
            "description": variable.text("description", limit=limits.reason),
            "secret": variable in secrets,
            "required": True,
        }
        for variable in (*secrets, *settings)
        if (name := variable.name("env", "name", limit=limits.secret_name))
    ]


def _tools(
    entry: Entry, document: Document, integration: IntegrationDescriptor
) -> tuple[Descriptor, ...]:
    folder = document.folder
    if folder is None or not (folder / TOOLS_FILE).exists():
        return ()
    meta = entry.mapping("meta")
    beside = Document(
        file=_sibling_tools_file(document.file),
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


def _sibling_tools_file(file: str) -> str:
    folder, slash, _ = file.rpartition("/")
    return f"{folder}{slash}{TOOLS_FILE}"
