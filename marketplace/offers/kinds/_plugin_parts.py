"""Installable parts of a plugin folder: the servers of its MCP configuration, and its skills."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from catalog.formats.descriptors import Defect
from catalog.formats.files import RefusedError, parse_json, read_text
from catalog.formats.loader import load_value
from catalog.formats.read_limits import DEFAULT_LIMITS
from catalog.formats.skill import is_skill_file
from catalog.formats.source_folders import display_path
from marketplace.offers.kinds.base import SourceAccess, load_files
from marketplace.offers.kinds.skills import skill_offers
from marketplace.offers.offer import Offer, offer_of

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
