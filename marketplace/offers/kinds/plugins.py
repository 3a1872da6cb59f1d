"""Plugin marketplaces.

A plugin is listed as an extension; its servers and skills get listings of their own.
Plugin files are in the marketplace's repository, or in a repository of their own. Those are fetched
as archives, a limited number per refresh, and only once if they are pinned to a commit.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from django.utils.translation import gettext_lazy as _

from catalog.formats.descriptors import Defect, IntegrationDescriptor, JSONObject
from catalog.formats.files import (
    DEFAULT_LIMITS,
    RefusedError,
    parse_json,
    read_text,
    resolve_inside,
)
from catalog.formats.loader import load_value
from catalog.formats.skill import is_skill_file
from catalog.formats.source_folders import display_path
from catalog.formats.text_cleanup import clean_name
from catalog.servers.net.address_check import OutgoingError
from marketplace.models import Listing
from marketplace.offers.kinds.base import (
    SourceAccess,
    keep_formats,
    load_files,
    parse_source_json,
    read_readme,
)
from marketplace.offers.kinds.skills import skill_offers
from marketplace.offers.offer import (
    Offer,
    SourceProblemError,
    archive_url,
    offer_of,
    resolve_allowed_path,
)

# Installable parts of a plugin folder: the servers of its MCP configuration, and its skills.

_MANIFESTS = (".claude-plugin/plugin.json", ".github/plugin/plugin.json", "plugin.json")
_CONFIGURATIONS = (".mcp.json", "mcp.json")
# Parts of plugins for other programs. Pegboard lists their names, but never runs them.
_UNSUPPORTED = ("agents", "commands", "hooks", "lsp", "output-styles")
_PLUGIN_ROOT = "PLUGIN_ROOT"


def plugin_parts(folder: Path, plugin: str, reading: SourceAccess) -> Iterator[Offer]:
    """Yield the plugin's servers and skills, with keys below the plugin's key."""
    for part in (*_server_offers(folder, plugin, reading), *_skill_offers(folder, reading)):
        key = f"{plugin}/{part.key}"[:300]
        yield replace(part, key=key, details=part.details | {"plugin": plugin})


def unsupported_parts(folder: Path) -> list[str]:
    """Return the names of other parts that the folder contains."""
    return [name for name in _UNSUPPORTED if (folder / name).exists()]


def _skill_offers(folder: Path, reading: SourceAccess) -> Iterator[Offer]:
    total = reading.total  # `load_files` overwrites the number of plugins
    for path, loaded in load_files(folder, reading, is_wanted=is_skill_file):
        yield from skill_offers(path, folder, loaded, reading)
    reading.total = total


def _server_offers(folder: Path, plugin: str, reading: SourceAccess) -> Iterator[Offer]:
    configuration, name = _configuration(folder, plugin, reading)
    if not configuration:
        return
    loaded = load_value(configuration, file=name)
    reading.report(*(replace(item, file=f"{plugin}/{item.file}") for item in loaded.defects))
    for item in loaded.integrations:
        if any(_PLUGIN_ROOT in part for part in item.command):
            words = f"{item.slug} starts a program of the plugin's own, which is not kept"
            reading.report(Defect(plugin, "mcpServers", words))
        elif item.source_ref.get("format") == "mcp.json":
            yield offer_of(item)


def _configuration(folder: Path, plugin: str, reading: SourceAccess) -> tuple[Any, str]:
    """Return the MCP configuration and its file name: from the manifest, or a known file."""
    manifest = _read_first(folder, _MANIFESTS, plugin, reading)
    declared = manifest.get("mcpServers") if isinstance(manifest, dict) else None
    if isinstance(declared, dict):
        return {"mcpServers": declared}, "plugin.json"
    names = (declared, *_CONFIGURATIONS) if isinstance(declared, str) else _CONFIGURATIONS
    return _read_first(folder, names, plugin, reading), ".mcp.json"


def _read_first(folder: Path, names: tuple[str, ...], plugin: str, reading: SourceAccess) -> Any:
    for name in names:
        path = folder / name
        if not path.is_file():
            continue
        try:
            text = read_text(path, folder, limit=DEFAULT_LIMITS.file)
            return parse_json(text, max_depth=DEFAULT_LIMITS.json_depth)
        except RefusedError as refused:
            at = f"{plugin}/{display_path(path, folder) if path.is_relative_to(folder) else name}"
            reading.report(Defect(at, refused.field, refused.reason))
    return None


LABEL = _("Plugin marketplace")
HINT = _("A repository on a supported Git host, an archive, a marketplace.json, or a folder.")
IS_INTERNAL = False
PLACE = "archive or document"
SUGGESTED = (("Awesome Copilot, plugins", "https://github.com/github/awesome-copilot"),)
MARKETPLACE_FILES = (
    ".claude-plugin/marketplace.json",
    ".github/plugin/marketplace.json",
    ".cursor-plugin/marketplace.json",
    "marketplace.json",
    ".claude-plugin/plugin.json",
    "plugin.json",
)
MOST_ARCHIVES = 25
_MOST_RENAMES = 1_000
_FORMATS = frozenset({"marketplace.json", "plugin.json"})


@dataclass(frozen=True, slots=True)
class _Plugin:
    """A plugin, with what the last reading knew of its files."""

    integration: IntegrationDescriptor
    known: JSONObject

    @property
    def key(self) -> str:
        return str(self.integration.source_ref["name"])

    @property
    def origin(self) -> JSONObject:
        """Location of its files, from the marketplace."""
        return dict(self.integration.source_ref.get("source") or {})

    @property
    def has_own_repository(self) -> bool:
        """True if its files are in a repository of its own."""
        return bool(self.origin.get("url") or self.origin.get("repo"))

    @property
    def is_known(self) -> bool:
        """True if the commit that it is pinned to has been read."""
        return bool(self.origin.get("sha")) and self.known.get("read") == self.origin


def offers(reading: SourceAccess) -> Iterator[Offer]:
    """Yield every plugin and its parts."""
    source = reading.source
    if not source.is_local and source.location.partition("?")[0].endswith(".json"):
        name = source.location.rpartition("/")[2]
        yield from _read_marketplace(
            parse_source_json(reading.fetch_source(source.location)), name, None, reading
        )
    elif source.is_local and resolve_allowed_path(source.location).is_file():
        path = resolve_allowed_path(source.location)
        yield from _read_file(path, path.parent, reading)
    else:
        with reading.folder() as root:
            yield from _read_folder(root, reading)


def _read_folder(root: Path, reading: SourceAccess) -> Iterator[Offer]:
    """Read the marketplace at a usual path; otherwise every marketplace file in the folder."""
    expected = next((root / name for name in MARKETPLACE_FILES if (root / name).is_file()), None)
    if expected is not None:
        yield from _read_file(expected, root, reading)
        return
    for path, loaded in load_files(root, reading):
        for integration in keep_formats(
            loaded, _FORMATS, display_path(path, root), reading
        ).integrations:
            yield offer_of(integration)


def _read_file(path: Path, root: Path, reading: SourceAccess) -> Iterator[Offer]:
    value = _parse_file(path, path.parent)
    yield from _read_marketplace(value, display_path(path, root), root, reading)


def _parse_file(path: Path, root: Path) -> Any:
    try:
        text = read_text(path, root, limit=DEFAULT_LIMITS.file)
        return parse_json(text, max_depth=DEFAULT_LIMITS.json_depth)
    except RefusedError as refused:
        raise SourceProblemError("not_json", f"{path.name} {refused.reason}.") from None


def _read_marketplace(
    value: Any, name: str, root: Path | None, reading: SourceAccess
) -> Iterator[Offer]:
    # A plugin's servers are read with its other parts, from its folder.
    is_plugin = isinstance(value, dict) and "plugins" not in value
    described = {k: v for k, v in value.items() if k != "mcpServers"} if is_plugin else value
    loaded = load_value(described, file=name)
    reading.report(*loaded.defects)
    renames = value.get("renames") if isinstance(value, dict) else None
    pairs = list(renames.items())[:_MOST_RENAMES] if isinstance(renames, dict) else []
    reading.renames = {str(old): clean_name(new).text for old, new in pairs if isinstance(new, str)}
    details_by_key = dict(
        Listing.objects.filter(source=reading.source).values_list("key", "details")
    )
    plugins = [
        _Plugin(integration, details_by_key.get(str(integration.source_ref["name"]), {}))
        for integration in keep_formats(loaded, _FORMATS, name, reading).integrations
    ]
    reading.total = len(plugins)
    base = _plugin_root(value)
    fetched = {plugin.key for plugin in _to_fetch(plugins)}
    for plugin in plugins:
        if not plugin.has_own_repository:
            yield from _from_marketplace_folder(plugin, root, base, reading)
        elif plugin.key in fetched:
            yield from _from_own_repository(plugin, reading)
        else:
            yield _unchanged_offer(plugin, reading)


def _plugin_root(value: Any) -> str:
    """Return the folder that plugin paths are relative to, or "."."""
    metadata = value.get("metadata") if isinstance(value, dict) else None
    base = metadata.get("pluginRoot") if isinstance(metadata, dict) else None
    return base if isinstance(base, str) else "."


def _to_fetch(plugins: list[_Plugin]) -> list[_Plugin]:
    """Return plugins to fetch now, those not read for the longest time first."""
    waiting = [plugin for plugin in plugins if plugin.has_own_repository and not plugin.is_known]
    waiting.sort(key=lambda plugin: int(plugin.known.get("read_in", 0)))
    return waiting[:MOST_ARCHIVES]


def _from_marketplace_folder(
    plugin: _Plugin, root: Path | None, base: str, reading: SourceAccess
) -> Iterator[Offer]:
    """Yield a plugin whose files are in the marketplace's own folder."""
    if root is None:
        words = (
            "its files are next to the marketplace: use the repository's address to include them"
        )
        reading.report(Defect(plugin.key, "source", words))
        yield offer_of(plugin.integration)
        return
    path = str(plugin.origin.get("path") or ".")
    try:
        # Join the path of a plugin with the base folder.
        folder = resolve_inside(
            root / path if path.startswith(".") or (root / path).is_dir() else root / base / path,
            root,
        )
    except RefusedError as refused:
        reading.report(Defect(plugin.key, "source", refused.reason))
        yield offer_of(plugin.integration)
        return
    yield from _plugin_with_parts(plugin, folder, {}, reading)


def _from_own_repository(plugin: _Plugin, reading: SourceAccess) -> Iterator[Offer]:
    """Fetch a plugin's own repository and yield its parts."""
    origin = plugin.origin
    address = str(origin.get("url") or f"https://github.com/{origin.get('repo')}")
    try:
        archive = archive_url(address, ref=str(origin.get("sha") or origin.get("ref") or ""))
        path = str(origin.get("path") or "").removeprefix("./").strip("/")
        if ".." in path.split("/"):
            raise RefusedError("leads out of the repository")
        within = "" if path == "." else path
        body = reading.fetch_part(archive)
        with reading.unpacked(body, folder=within) as folder:
            origin_details = {"read": origin, "read_in": reading.source.run}
            yield from _plugin_with_parts(plugin, folder, origin_details, reading)
    except (RefusedError, SourceProblemError, OutgoingError) as problem:
        reading.report(Defect(plugin.key, "source", str(problem)))
        # This was its turn: others are fetched before it next time.
        yield _unchanged_offer(plugin, reading, tried=reading.source.run)


def _unchanged_offer(plugin: _Plugin, reading: SourceAccess, *, tried: int = 0) -> Offer:
    """Return the plugin with what earlier readings knew of its files."""
    if not plugin.is_known and not tried:
        words = f"its files are read later: each refresh reads {MOST_ARCHIVES} repositories"
        reading.report(Defect(plugin.key, "source", words))
    reading.kept.add(plugin.key)
    names = ("parts", "holds", "read", "read_in")
    details = {name: plugin.known[name] for name in names if name in plugin.known}
    return offer_of(plugin.integration, details=details | ({"read_in": tried} if tried else {}))


def _plugin_with_parts(
    plugin: _Plugin, folder: Path, origin_details: JSONObject, reading: SourceAccess
) -> Iterator[Offer]:
    plugin_offer = offer_of(plugin.integration)
    parts = list(plugin_parts(folder, plugin.key, reading))
    details = {
        "parts": [part.key for part in parts],
        "holds": unsupported_parts(folder),
        **origin_details,
    }
    yield replace(plugin_offer, readme=read_readme(folder), details=details)
    for part in parts:
        yield _inherit(part, plugin_offer)


def _inherit(part: Offer, plugin_offer: Offer) -> Offer:
    """Fill the part's missing fields from its plugin."""
    mine, theirs = part.descriptor, plugin_offer.descriptor
    descriptor = replace(
        mine,
        description=mine.description or theirs.description,
        publisher=mine.publisher or theirs.publisher,
        version=mine.version or theirs.version,
        homepage=mine.homepage or theirs.homepage,
        licence=mine.licence or theirs.licence,
    )
    declared = theirs.source_ref.get("category")
    return replace(
        part,
        descriptor=descriptor,
        category=plugin_offer.category if declared else part.category,
        tags=part.tags or plugin_offer.tags,
        repository=part.repository or plugin_offer.repository,
    )
