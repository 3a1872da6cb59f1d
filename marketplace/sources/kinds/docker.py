"""Docker's MCP catalogue and ToolHive's registry: one folder per server."""

from collections.abc import Iterator

from catalog.formats.source_folders import display_path
from marketplace.listings.offers import Offer, offer_of
from marketplace.sources._files import keep_formats, load_files, read_readme
from marketplace.sources._reader import SourceReading

_FORMATS = frozenset({"docker", "toolhive", "obot"})


def offers(reading: SourceReading) -> Iterator[Offer]:
    """Yield the servers of the catalogue with their declared tools."""
    with reading.folder() as root:
        for path, loaded in load_files(root, reading):
            supported = keep_formats(loaded, _FORMATS, display_path(path, root), reading)
            for integration in supported.integrations:
                yield offer_of(integration, loaded.capabilities, readme=read_readme(path.parent))
