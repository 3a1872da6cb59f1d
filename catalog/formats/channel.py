"""Channel platforms: the ways a message can leave, always in the category `communication`."""

from typing import Any

from catalog.formats.categories import COMMUNICATION
from catalog.formats.declared import Declared, declared
from catalog.formats.descriptors import Loaded
from catalog.formats.entry import Document, Entry
from catalog.formats.extension import read_listed
from catalog.formats.side_effects import side_effect_declared


def recognises(value: Any) -> bool:
    """A mapping with a list under `channels`."""
    return isinstance(value, dict) and isinstance(value.get("channels"), list)


def read(document: Document) -> Loaded:
    """Every platform of the list."""
    return read_listed(document, "channels", read_channel)


def read_channel(entry: Entry) -> Declared:
    """One platform. Sending is a write unless the entry says otherwise."""
    name = entry.name("platform", "name", required=True)
    return declared(
        entry,
        kind="channel",
        name=name,
        category=COMMUNICATION,
        side_effect=side_effect_declared("", entry.flag("hasSideEffects"), otherwise="write"),
        source_ref={"format": "channels", "file": entry.document.file, "name": name},
    )
