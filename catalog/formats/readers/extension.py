"""Extension catalogues, whose entries declare whether they are available."""

from collections.abc import Callable
from typing import Any

from catalog.formats._side_effects import side_effect_declared
from catalog.formats.declared import DeclaredCapability, build_declared
from catalog.formats.descriptors import Loaded
from catalog.formats.entry import Document, Entry
from catalog.formats.files import RefusedError

OF_SERVERS = False
IS_LOOSE = False


def recognises(value: Any) -> bool:
    """Return True for a mapping with a list under `extensions`."""
    return isinstance(value, dict) and isinstance(value.get("extensions"), list)


def read(document: Document) -> Loaded:
    """Read every extension in the list."""
    return read_listed(document, "extensions", read_extension)


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


def read_listed(
    document: Document, key: str, read_one: Callable[[Entry], DeclaredCapability]
) -> Loaded:
    """Read a list in which each entry is its own integration; report invalid entries."""
    declarations: list[DeclaredCapability] = []
    values = document.value.get(key)
    for entry in document.entries(values, key, limit=document.limits.entries_per_file):
        try:
            declarations.append(read_one(entry))
        except RefusedError as refused:
            document.report(refused.field, refused.reason)
    return Loaded(
        tuple(declaration.integration for declaration in declarations),
        tuple(declaration.capability for declaration in declarations),
    )
