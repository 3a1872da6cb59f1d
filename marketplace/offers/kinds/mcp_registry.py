"""MCP registries: the API page by page, one JSON document, or files on this machine.

Every version of a server is an offer. Listings show the one that the registry marks as latest.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any
from urllib.parse import quote

from django.utils.dateparse import parse_datetime
from django.utils.timezone import is_aware, make_aware
from django.utils.translation import gettext_lazy as _

from catalog.formats.descriptors import Defect
from catalog.formats.files import DEFAULT_LIMITS, RefusedError, parse_json, read_text
from catalog.formats.loader import load_value
from catalog.formats.source_folders import display_path, find_sources
from marketplace.offers.kinds.base import SourceAccess, parse_source_json
from marketplace.offers.offer import Offer, SourceProblemError, offer_of, resolve_allowed_path

_META = "io.modelcontextprotocol.registry/official"
_STATUSES = ("active", "deprecated", "deleted")
_PER_PAGE = 100  # the most that the API gives
MOST_PAGES = 2_000
_EMPTY_PAGES = 3
NAME = "registry"
LABEL = _("MCP registry")
HINT = _("An API such as https://registry.example.com, or a JSON file.")
IS_INTERNAL = False
PLACE = "document"
SUGGESTED = (("MCP registry", "https://registry.modelcontextprotocol.io"),)
_VERSIONS = ("v0.1", "v0")
_LONGEST_CURSOR = 1_000
Page = tuple[str, Any]


def offers(reading: SourceAccess) -> Iterator[Offer]:
    """Yield every version of every server."""
    for name, value in _pages(reading):
        for wrapper in _entries(value, name, reading):
            yield from _offer(wrapper, name, reading)


def _pages(reading: SourceAccess) -> Iterator[Page]:
    location = reading.source.location
    if reading.source.is_local:
        yield from _file_pages(reading)
    elif location.partition("?")[0].endswith(".json"):
        yield location.rpartition("/")[2], parse_source_json(reading.fetch_source(location))
    else:
        yield from _api_pages(reading, location)


def _file_pages(reading: SourceAccess) -> Iterator[Page]:
    sources = find_sources(resolve_allowed_path(reading.source.location), DEFAULT_LIMITS)
    reading.report(*sources.defects)
    for path in sources.files:
        name = display_path(path, sources.root)
        try:
            text = read_text(path, sources.root, limit=DEFAULT_LIMITS.file)
            yield name, parse_json(text, max_depth=DEFAULT_LIMITS.json_depth)
        except RefusedError as refused:
            reading.report(Defect(name, refused.field, refused.reason))


def _api_pages(reading: SourceAccess, location: str) -> Iterator[Page]:
    """Yield the pages of the API. Stop at a cursor that repeats, and after several empty pages."""
    base = location.rstrip("/").removesuffix("/servers")
    versioned = base if base.endswith(tuple(f"/{version}" for version in _VERSIONS)) else ""
    address, cursor, cursors, empty = (versioned or f"{base}/{_VERSIONS[0]}"), "", set[str](), 0
    for number in range(1, MOST_PAGES + 1):
        more = f"&cursor={quote(cursor, safe='')}" if cursor else ""
        value, address = _fetch_page(reading, base, address, more)
        yield f"page {number}", value
        empty = 0 if isinstance(value, dict) and value.get("servers") else empty + 1
        cursor = _cursor(value)
        if not cursor:
            return
        if cursor in cursors or empty >= _EMPTY_PAGES or len(cursor) > _LONGEST_CURSOR:
            reading.cut_short("its cursor repeats")
            return
        cursors.add(cursor)
    reading.cut_short(f"has more than {MOST_PAGES:,} pages")


def _fetch_page(reading: SourceAccess, base: str, address: str, more: str) -> tuple[Any, str]:
    """Fetch a page. On 404 for the first page, fall back to the API's older version."""
    try:
        return reading.fetch_json(f"{address}/servers?limit={_PER_PAGE}{more}"), address
    except SourceProblemError as problem:
        older = f"{base}/{_VERSIONS[1]}"
        if problem.reason != "status_404" or more or address in (older, base):
            raise
        return reading.fetch_json(f"{older}/servers?limit={_PER_PAGE}"), older


def _cursor(value: Any) -> str:
    metadata = value.get("metadata") if isinstance(value, dict) else None
    if not isinstance(metadata, dict):
        return ""
    cursor = metadata.get("nextCursor") or metadata.get("next_cursor")
    return cursor if isinstance(cursor, str) else ""


def _entries(value: Any, name: str, reading: SourceAccess) -> list[Any]:
    servers = value.get("servers") if isinstance(value, dict) else value
    if isinstance(servers, list):
        limit = DEFAULT_LIMITS.entries_per_file
        if len(servers) > limit:
            reading.report(Defect(name, "servers", f"only the first {limit:,} are read"))
        return servers[:limit]
    if isinstance(value, dict) and ("server" in value or "name" in value):
        return [value]
    reading.report(Defect(name, "servers", "is not a list of servers"))
    return []


def _offer(wrapper: Any, page: str, reading: SourceAccess) -> Iterator[Offer]:
    name, official = _metadata(wrapper)
    status = str(official.get("status") or "active").lower()
    loaded = load_value(_without_deletion(wrapper), file=name or page)
    reading.report(*loaded.defects)
    for integration in loaded.integrations:
        if integration.source_ref.get("format") != "server.json":
            reading.report(Defect(name or page, "server", "is not a server.json"))
            continue
        if status == "deleted":
            reading.report(
                Defect(name, "status", f"{integration.version} is deleted by its registry")
            )
        latest = official.get("isLatest", official.get("is_latest"))
        yield offer_of(
            integration,
            status=status if status in _STATUSES else "active",
            is_latest=latest is not False,
            published_at=_parse_time(official.get("publishedAt") or official.get("published_at")),
        )


def _metadata(wrapper: Any) -> tuple[str, dict[str, Any]]:
    """Return the server's name and registry metadata: in `_meta`, or in the entry if older."""
    wrapper = wrapper if isinstance(wrapper, dict) else {}
    inner = wrapper.get("server")
    server = inner if isinstance(inner, dict) else wrapper
    meta = wrapper.get("_meta", server.get("_meta"))
    official = meta.get(_META) if isinstance(meta, dict) else None
    metadata = official if isinstance(official, dict) else {}
    if "status" not in metadata and isinstance(server.get("status"), str):
        metadata = metadata | {"status": server["status"]}
    return str(server.get("name") or "")[:200], metadata


def _without_deletion(wrapper: Any) -> Any:
    """Return the entry without its deletion mark."""
    # Format readers skip deleted entries, but admins want to see which version they installed.
    if not isinstance(wrapper, dict):
        return wrapper
    bare = {key: value for key, value in wrapper.items() if key not in ("_meta", "status")}
    if isinstance(bare.get("server"), dict):
        bare["server"] = {key: v for key, v in bare["server"].items() if key != "status"}
    return bare


def _parse_time(value: Any) -> datetime | None:
    try:
        moment = parse_datetime(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return moment if moment is None or is_aware(moment) else make_aware(moment)
