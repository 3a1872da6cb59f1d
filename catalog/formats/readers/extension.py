"""Lists of extensions, which declare whether they are available, and of channel platforms."""

from typing import Any

from catalog.formats._side_effects import side_effect_declared
from catalog.formats.categories import COMMUNICATION
from catalog.formats.declared import DeclaredCapability, build_declared
from catalog.formats.descriptors import Loaded
from catalog.formats.entry import Document, Entry
from catalog.formats.files import RefusedError
from catalog.formats.readers import mcp_json

OF_SERVERS = False
IS_LOOSE = False


def recognises(value: Any) -> bool:
    """Return True for a mapping with a list under `extensions` or `channels` of no servers."""
    lists = (value.get("extensions"), value.get("channels")) if isinstance(value, dict) else ()
    return any(
        isinstance(items, list) and not any(map(mcp_json.is_server, items)) for items in lists
    )


def read(document: Document) -> Loaded:
    """Read each entry of the lists as its own integration; report invalid ones."""
    declarations: list[DeclaredCapability] = []
    for key, read_entry in (("extensions", read_extension), ("channels", read_channel)):
        values = document.value.get(key)
        if values is None:
            continue
        for entry in document.entries(values, key, limit=document.limits.entries_per_file):
            try:
                declarations.append(read_entry(entry))
            except RefusedError as refused:
                document.report(refused.field, refused.reason)
    return Loaded(
        tuple(declaration.integration for declaration in declarations),
        tuple(declaration.capability for declaration in declarations),
    )


def read_extension(entry: Entry) -> DeclaredCapability:
    """Read one extension."""
    name = entry.name("name", required=True)
    return build_declared(
        entry,
        kind="extension",
        name=name,
        side_effect=side_effect_declared(name, entry.flag("hasSideEffects"), otherwise="read"),
        source_ref={"format": "extensions", "file": entry.document.file, "name": name},
    )


def read_channel(entry: Entry) -> DeclaredCapability:
    """Read one platform of messages."""
    name = entry.name("platform", "name", required=True)
    return build_declared(
        entry,
        kind="channel",
        name=name,
        category=COMMUNICATION,
        # Sending is a write unless the entry declares otherwise.
        side_effect=side_effect_declared("", entry.flag("hasSideEffects"), otherwise="write"),
        source_ref={"format": "channels", "file": entry.document.file, "name": name},
    )
