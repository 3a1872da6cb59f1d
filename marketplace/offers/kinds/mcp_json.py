"""MCP client configurations: one document at a URL, or files on this machine."""

from collections.abc import Iterator

from django.utils.translation import gettext_lazy as _

from catalog.formats.loader import load_value
from catalog.formats.source_folders import display_path
from marketplace.offers.kinds.base import SourceAccess, keep_formats, load_files, parse_source_text
from marketplace.offers.offer import Offer, offer_of, resolve_allowed_path

LABEL = _("Client configuration (mcpServers)")
HINT = _("A file with mcpServers, at a URL or on this machine.")
# What programs an organisation's clients start is nobody else's business.
IS_INTERNAL = True
PLACE = "document"
SUGGESTED = ()
_FORMATS = frozenset({"mcp.json"})


def offers(reading: SourceAccess) -> Iterator[Offer]:
    """Yield the servers of every configuration, without any secret values."""
    location = reading.source.location
    if not reading.source.is_local:
        name = location.rpartition("/")[2] or "mcp.json"
        value, text = parse_source_text(reading.fetch_source(location))
        loaded = load_value(value, file=name, text=text)
        reading.report(*loaded.defects)
        for integration in keep_formats(loaded, _FORMATS, name, reading).integrations:
            yield offer_of(integration)
        return
    root = resolve_allowed_path(location)
    for path, loaded in load_files(root, reading):
        for integration in keep_formats(
            loaded, _FORMATS, display_path(path, root), reading
        ).integrations:
            yield offer_of(integration)
