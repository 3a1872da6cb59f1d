"""Docker's MCP catalogue, and ToolHive's registry: a folder for each server."""

from collections.abc import Iterator

from catalog.formats.source_folders import shown
from marketplace.listings.offers import Offer, offer_of
from marketplace.sources.source_files import loaded_files, of_formats, readme_in
from marketplace.sources.source_reader import Reading

_FORMATS = frozenset({"docker", "toolhive"})


def offers(reading: Reading) -> Iterator[Offer]:
    """Every server of the catalogue, with the tools that it says it has."""
    with reading.folder() as root:
        for path, loaded in loaded_files(root, reading):
            kept = of_formats(loaded, _FORMATS, shown(path, root), reading)
            for one in kept.integrations:
                yield offer_of(one, loaded.capabilities, readme=readme_in(path.parent))
