"""Searching by what is to be done: the selector's own ranking, without the places of a turn."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings

from acl.rights.caller import Caller
from catalog.formats.descriptors import JSONObject
from catalog.lookups.catalog_queries import describe_disconnected
from catalog.lookups.detail_levels import short_description
from catalog.models import Capability, Integration
from discovery.calls.argument_check import ArgumentsRefusedError
from discovery.gateway.answers.answer_rows import access_of, found, said
from discovery.gateway.answers.metatool_call import MetaCall
from discovery.metatools.all_metatools import META_TOOLS
from discovery.metatools.parameters import EVERY_KIND
from discovery.select.ranking.thresholds import cut
from discovery.select.selection import Asked, Selected, Selection
from discovery.select.selector import select_capabilities
from discovery.turns.turn_records import note_discovery

MOST_FOUND = 50  # what a selection has at most; paging goes through these
MOST_NEAREST = 3
DISCOVERED = 5
NOTHING_FITS = "Nothing fits well; these come nearest."


@dataclass(frozen=True, slots=True)
class Found:
    """What fits, best first; or, where nothing does, what comes nearest."""

    items: tuple[Selected, ...]
    nearest: tuple[str, ...]  # ids
    hint: str
    degraded: tuple[str, ...]


def search_tools(call: MetaCall) -> JSONObject:
    """A page of what fits the query."""
    wanted = call.arguments
    result = find(call)
    start, end = wanted["offset"], wanted["offset"] + wanted["limit"]
    return said(
        tools=[found(item) for item in result.items[start:end]],
        next_offset=end if len(result.items) > end else None,
        **beside(call.caller, result),
    )


def discover_capabilities(call: MetaCall) -> JSONObject:
    """The five that fit best."""
    result = find(call)
    capabilities = [{"id": item.identifier, **found(item)} for item in result.items[:DISCOVERED]]
    return said(
        capabilities=capabilities,
        more=len(result.items) - DISCOVERED if len(result.items) > DISCOVERED else None,
        **beside(call.caller, result),
    )


def find(call: MetaCall) -> Found:
    """Everything of the caller's that fits the query and whose integration is connected."""
    query = call.arguments["query"]
    _check(query)
    selection = select_capabilities(
        Asked(
            message=query,
            caller=call.caller,
            max_tools=MOST_FOUND,
            only_connected=False,  # what is left out is told
            kind=call.arguments.get("kind", EVERY_KIND),
        )
    )
    fitting = _fitting(selection)
    away = _disconnected(fitting)
    items = tuple(item for item in fitting if item.integration not in away)
    hint = describe_disconnected(item for item in fitting if item.integration in away)
    nearest = () if fitting else selection.ranking
    if call.turn_id:
        note_discovery(call.turn_id, call.caller, len(items))
    return Found(items, nearest, hint, selection.degraded)


def beside(caller: Caller, result: Found) -> dict[str, Any]:
    """What goes with the results: what is nearest where nothing fits, and what is to be known."""
    nearest = _nearest_rows(caller, result.nearest) if result.nearest else None
    return {
        "nearest": nearest or None,
        "note": NOTHING_FITS if nearest else "",
        "hint": result.hint,
        "degraded": " ".join(result.degraded),
    }


def _nearest_rows(caller: Caller, identifiers: tuple[str, ...]) -> list[dict[str, Any]]:
    """The first of what was ranked, though none of it fits."""
    usable = Capability.objects.usable_by(caller).connected()
    shown = usable.filter(identifier__in=identifiers).with_access(caller)
    rows = {row.identifier: row for row in shown}
    near = [rows[one] for one in identifiers if one in rows]
    return [
        {
            "name": row.full_name,
            "description": short_description(row.description),
            "access": access_of(bool(getattr(row, "asks_first", True))),
        }
        for row in [row for row in near if row.full_name not in META_TOOLS][:MOST_NEAREST]
    ]


def _check(query: str) -> None:
    most = settings.PEGBOARD_MAX_MESSAGE_CHARACTERS
    if not query.strip():
        raise ArgumentsRefusedError("query", "Say what is to be done.")
    if len(query) > most:
        raise ArgumentsRefusedError("query", f"At most {most} characters.")


def _fitting(selection: Selection) -> list[Selected]:
    """Without what is in every selection whether it fits or not, and without ourselves."""
    least = cut([item.score for item in selection.selected])
    return [
        item
        for item in selection.selected
        if item.full_name not in META_TOOLS and (not item.pinned or item.score >= least)
    ]


def _disconnected(items: list[Selected]) -> set[str]:
    """Which of their integrations are not connected. The slugs are all of the caller's own."""
    slugs = {item.integration for item in items}
    away = Integration.objects.filter(slug__in=slugs, connection="disconnected")
    return set(away.values_list("slug", flat=True))
