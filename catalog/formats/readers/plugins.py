"""Plugin marketplaces (marketplace.json) and plugins (plugin.json): listings without tools."""

from dataclasses import replace
from typing import Any

from catalog.formats._declared_targets import read_web_address
from catalog.formats.descriptors import IntegrationDescriptor, JSONObject, Loaded
from catalog.formats.entry import Document, Entry
from catalog.formats.files import RefusedError
from catalog.formats.names import display_name_for, slug_for
from catalog.formats.readers import mcp_json
from catalog.formats.secret_redaction import redact_text

OF_SERVERS = True
IS_LOOSE = True

_PLUGIN_KEYS = {
    "author",
    "keywords",
    "homepage",
    "license",
    "skills",
    "commands",
    "agents",
    "mcpServers",
}


def recognises(value: Any) -> bool:
    """Return True for a list of plugins, or a single plugin."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("plugins"), list):
        return True
    if not isinstance(value.get("name"), str) or not isinstance(value.get("description"), str):
        return False
    extra = value.keys() - {"name", "description", "version"}
    return not extra or bool(
        # A package.json has a name and a description too, but also scripts or dependencies.
        extra & _PLUGIN_KEYS and not extra & {"dependencies", "scripts", "main"}
    )


def read(document: Document) -> Loaded:
    """Read every plugin in the file."""
    if isinstance(document.value.get("plugins"), list):
        return _marketplace(document)
    entry = document.entry(document.value)
    plugin = _plugin(entry, slug=document.integration, marketplace=None)
    servers = document.value.get("mcpServers")
    if isinstance(servers, str):
        entry.report("mcpServers", "names another file: add the content of that file")
    if not isinstance(servers, dict):
        return Loaded((plugin,))
    # An agent of Kiro and a plugin of Claude Code have their servers in the same file.
    inner = replace(document, value={"mcpServers": servers}, integration=None)
    return Loaded((plugin, *mcp_json.read(inner).integrations))


def _marketplace(document: Document) -> Loaded:
    marketplace = document.entry(document.value)
    integrations: list[IntegrationDescriptor] = []
    limit = document.limits.entries_per_file
    for entry in document.entries(document.value["plugins"], "plugins", limit=limit):
        try:
            integrations.append(_plugin(entry, slug=None, marketplace=marketplace))
        except RefusedError as refused:
            document.report(refused.field, refused.reason)
    return Loaded(tuple(integrations))


def _plugin(entry: Entry, *, slug: str | None, marketplace: Entry | None) -> IntegrationDescriptor:
    name = entry.name("name", required=True)
    return IntegrationDescriptor(
        slug=slug or slug_for(name),
        kind="extension",
        title=entry.name("displayName") or display_name_for(name),
        description=entry.text("description"),
        publisher=_publisher(entry) or (_publisher(marketplace) if marketplace else ""),
        version=entry.version("version"),
        homepage=_homepage(entry),
        licence=entry.version("license", "licence"),
        source_ref=_source_ref(entry, name, marketplace),
    )


def _publisher(entry: Entry) -> str:
    for key in ("author", "owner"):
        value = entry.raw(key)
        if isinstance(value, dict):
            person = entry.mapping(key)
            return person.name("name") if person else ""
        if isinstance(value, str):
            return entry.name(key)
    return ""


def _homepage(entry: Entry) -> str:
    if entry.raw("homepage") is not None:
        return read_web_address(entry, "homepage")
    repository = entry.raw("repository")
    return read_web_address(entry, "repository") if isinstance(repository, str) else ""


def _source_ref(entry: Entry, name: str, marketplace: Entry | None) -> JSONObject:
    return {
        "format": "marketplace.json" if marketplace else "plugin.json",
        "file": entry.document.file,
        "name": name,
        "marketplace": marketplace.name("name") if marketplace else "",
        "category": entry.name("category"),
        "tags": list(entry.tags("tags", "keywords")),
        "source": _source(entry),
    }


def _source(entry: Entry) -> JSONObject:
    """Return the location of the plugin's files: a path in the marketplace, or a repository."""
    value = entry.raw("source")
    if isinstance(value, str):
        return {"path": entry.name("source")}
    source = entry.mapping("source")
    if source is None:
        return {}
    keys = ("source", "repo", "url", "path", "ref", "sha")
    return {key: redact_text(source.name(key)) for key in keys if source.name(key)}
