"""Docker's MCP catalogue and ToolHive's registry: one folder per server."""

from collections.abc import Iterator

from django.utils.translation import gettext_lazy as _

from catalog.formats.source_folders import display_path
from marketplace.offers.kinds.base import (
    ARCHIVE_HINT,
    SourceAccess,
    keep_formats,
    load_files,
    read_readme,
)
from marketplace.offers.offer import Offer, offer_of

LABEL = _("Docker catalogue")
HINT = ARCHIVE_HINT
IS_INTERNAL = False
PLACE = "archive"
SUGGESTED = (("Docker's MCP catalogue", "https://github.com/docker/mcp-registry"),)
_FORMATS = frozenset({"docker", "toolhive", "obot"})


def offers(reading: SourceAccess) -> Iterator[Offer]:
    """Yield the servers of the catalogue with their declared tools."""
    with reading.folder() as root:
        for path, loaded in load_files(root, reading):
            supported = keep_formats(loaded, _FORMATS, display_path(path, root), reading)
            for integration in supported.integrations:
                yield offer_of(integration, loaded.capabilities, readme=read_readme(path.parent))
