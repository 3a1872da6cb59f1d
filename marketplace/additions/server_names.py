"""The name of an added MCP server: an admin's choice, the server's own, or that of its host.

A server's own name is a stranger's text. It is taken only where it is one plain line that a review
would not hold back, and where nothing else is called so.
"""

from urllib.parse import urlsplit

from django.core.exceptions import ValidationError

from acl.visible_text.plain_names import check_plain_name
from catalog.formats.names import RESERVED, display_name_for, slug_for
from catalog.models import Integration
from catalog.trust.findings import requires_review
from catalog.trust.gate import examine_listing
from marketplace.additions.stored_additions import SOURCE
from marketplace.models import Addition, Listing

LONGEST_NAME = 60
# Pegboard's own, and what SDKs and templates call any server.
_NOT_ITS_OWN = RESERVED | {
    *("fastmcp", "mcp-server", "mcpserver", "my-mcp-server", "my-server", "server"),
}


def title_for(row: Addition, own_names: tuple[str, ...] = ()) -> str:
    """Return the title of an address; `own_names` are the server's, the best first.

    What was added before keeps its title, so that adding it again is an update.
    """
    if row.name:
        return row.name
    known = Listing.objects.filter(source__slug=SOURCE, endpoint=row.address).order_by("pk").first()
    if known is not None:
        return known.title
    titles = filter(None, map(_plain_title, own_names))
    free = (one for one in titles if not _is_taken(slug_for(one), row.address))
    return next(free, "") or _host_title(row.address)


def _plain_title(name: str) -> str:
    """Return the name as a title, or "" where it would not do as one."""
    line = " ".join(name.split())
    title = display_name_for(line) if line.islower() and " " not in line else line
    if not 1 < len(title) <= LONGEST_NAME or {slug_for(title), title.lower()} & _NOT_ITS_OWN:
        return ""
    try:
        check_plain_name(title)
    except ValidationError:
        return ""
    return "" if requires_review(examine_listing({"title": title})) else title


def _is_taken(slug: str, address: str) -> bool:
    """Return True if another thing is called so."""
    return any(
        model.objects.filter(slug=slug).exclude(endpoint=address).exists()
        for model in (Listing, Integration)
    )


def _host_title(address: str) -> str:
    host = urlsplit(address).hostname or "server"
    return host.removeprefix("www.").removeprefix("mcp.").removeprefix("api.")
