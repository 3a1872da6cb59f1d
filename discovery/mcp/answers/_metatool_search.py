"""Search for tools by task, with the selector's ranking but without its limit on tools per turn."""

from dataclasses import dataclass
from typing import Any

from acl.rights.caller_lookup import Caller
from catalog.access.my_tools import attach_readiness
from catalog.capabilities.catalog_queries import describe_disconnected
from catalog.capabilities.detail_levels import access_of, short_description
from catalog.formats.descriptors import JSONObject
from catalog.models import Capability
from catalog.readiness.obstacles import Obstacle
from discovery.calls.argument_check import ArgumentsRefusedError
from discovery.mcp.answers._base import MetaCall, note_of, search_row, without_empty
from discovery.metatools.metatool import EVERY_KIND
from discovery.metatools.registry import META_TOOLS
from discovery.select.selection import Selected, Selection, SelectRequest
from discovery.select.selector import select_capabilities
from discovery.turns.records import note_discovery

MAX_RESULTS = 50  # the selector's maximum; pages are cut from these
MAX_NEAREST = 3
MAX_DISCOVERED = 5
NOTHING_FITS = "Nothing fits well; these come nearest."


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Search results, best first; or, if nothing fits, the nearest capabilities."""

    items: tuple[Selected, ...]
    nearest: tuple[str, ...]  # ids
    hint: str
    degraded: tuple[str, ...]


def search_tools(call: MetaCall) -> JSONObject:
    """Return a page of the results for the query."""
    arguments = call.arguments
    result = search(call)
    start, end = arguments["offset"], arguments["offset"] + arguments["limit"]
    return without_empty(
        tools=[search_row(item) for item in result.items[start:end]],
        next_offset=end if len(result.items) > end else None,
        **notes_on(call.caller, result),
    )


def discover_capabilities(call: MetaCall) -> JSONObject:
    """Return the five best results."""
    result = search(call)
    capabilities = [
        {"id": item.identifier, **search_row(item)} for item in result.items[:MAX_DISCOVERED]
    ]
    return without_empty(
        capabilities=capabilities,
        more=len(result.items) - MAX_DISCOVERED if len(result.items) > MAX_DISCOVERED else None,
        **notes_on(call.caller, result),
    )


def search(call: MetaCall) -> SearchResult:
    """Select the caller's connected capabilities that match the query."""
    query = call.arguments["query"]
    if not query.strip():
        raise ArgumentsRefusedError("query", "Say what is to be done.")
    selection = select_capabilities(
        SelectRequest(
            message=query,
            caller=call.caller,
            max_tools=MAX_RESULTS,
            only_connected=False,  # disconnected ones are counted in the hint
            kind=call.arguments.get("kind", EVERY_KIND),
            may_lag=True,
        )
    )
    fitting = _fitting(selection)
    disconnected = _disconnected(fitting)
    connected = (item for item in fitting if item.integration not in disconnected)
    # A model may tell its user what a tool needs, but tries the others first.
    items = tuple(sorted(connected, key=lambda item: not item.readiness.is_offered))
    hint = describe_disconnected(item for item in fitting if item.integration in disconnected)
    nearest = () if fitting else selection.ranking
    if call.turn_id:
        note_discovery(call.turn_id, call.caller, len(items))
    return SearchResult(items, nearest, hint, selection.degraded)


def notes_on(caller: Caller, result: SearchResult) -> dict[str, Any]:
    """Return the parts beside the results: hints, degradations, and the nearest if nothing fits."""
    nearest = _nearest_rows(caller, result.nearest) if result.nearest else None
    return {
        "nearest": nearest or None,
        "note": NOTHING_FITS if nearest else "",
        "hint": result.hint,
        "degraded": " ".join(result.degraded),
    }


def _nearest_rows(caller: Caller, identifiers: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return rows of the highest-ranked capabilities, although none of them fits."""
    ranked = Capability.objects.filter(identifier__in=identifiers)
    usable = Capability.objects.usable_by(caller, among=ranked).connected()
    capabilities = attach_readiness(caller, list(usable))
    rows = {row.identifier: row for row in capabilities}
    near = [rows[identifier] for identifier in identifiers if identifier in rows]
    return [
        {
            "name": row.full_name,
            "description": short_description(row.description),
            "access": access_of(row.readiness.asks_first),  # type: ignore[attr-defined]
            **note_of(row.readiness),  # type: ignore[attr-defined]
        }
        for row in [row for row in near if row.full_name not in META_TOOLS][:MAX_NEAREST]
    ]


def _fitting(selection: Selection) -> list[Selected]:
    """Drop the meta-tools, and pinned capabilities that score below the threshold."""
    least = selection.workings.threshold if selection.workings else 0.0
    return [
        item
        for item in selection.selected
        if item.full_name not in META_TOOLS and (not item.pinned or item.score >= least)
    ]


def _disconnected(items: list[Selected]) -> set[str]:
    """Return the slugs of their disconnected integrations."""
    missing = Obstacle.NOT_CONNECTED
    return {item.integration for item in items if item.readiness.obstacle is missing}
