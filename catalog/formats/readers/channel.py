"""Channel platforms: ways to send a message, always in the category `communication`."""

from typing import Any

from catalog.formats._side_effects import side_effect_declared
from catalog.formats.categories import COMMUNICATION
from catalog.formats.declared import DeclaredCapability, build_declared
from catalog.formats.descriptors import Loaded
from catalog.formats.entry import Document, Entry
from catalog.formats.readers.extension import read_listed

OF_SERVERS = False
IS_LOOSE = False


def recognises(value: Any) -> bool:
    """Return True for a mapping with a list under `channels`."""
    return isinstance(value, dict) and isinstance(value.get("channels"), list)


def read(document: Document) -> Loaded:
    """Read every platform in the list."""
    return read_listed(document, "channels", read_channel)


def read_channel(entry: Entry) -> DeclaredCapability:
    """Read one platform."""
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
