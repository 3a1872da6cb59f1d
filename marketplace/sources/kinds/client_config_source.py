"""Configurations of MCP clients: one document at an address, or files on this machine."""

from collections.abc import Iterator

from catalog.formats.loader import load_value
from catalog.formats.source_folders import shown
from marketplace.listings.offers import Offer, offer_of
from marketplace.sources.source_files import loaded_files, of_formats
from marketplace.sources.source_location import allowed_path
from marketplace.sources.source_reader import Reading, parsed

_FORMATS = frozenset({"mcp.json"})


def offers(reading: Reading) -> Iterator[Offer]:
    """Every server of every configuration; values of secrets never get in."""
    location = reading.source.location
    if not reading.source.is_local:
        name = location.rpartition("/")[2] or "mcp.json"
        loaded = load_value(parsed(reading.whole(location)), file=name)
        reading.report(*loaded.defects)
        for one in of_formats(loaded, _FORMATS, name, reading).integrations:
            yield offer_of(one)
        return
    root = allowed_path(location)
    for path, loaded in loaded_files(root, reading):
        for one in of_formats(loaded, _FORMATS, shown(path, root), reading).integrations:
            yield offer_of(one)
