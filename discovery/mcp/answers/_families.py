"""Answers to the meta-tools by family: categories, search, and reading and calling one tool."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from acl.rights.caller_lookup import Caller
from catalog.access.my_tools import attach_readiness
from catalog.capabilities import catalog_queries
from catalog.capabilities.catalog_queries import describe_disconnected
from catalog.capabilities.detail_levels import Detail, access_of, short_description
from catalog.formats.descriptors import JSONObject
from catalog.models import Capability
from catalog.readiness.obstacles import Obstacle
from catalog.readiness.readiness import Readiness, ToolReadiness
from catalog.token_counter import estimate_tokens
from discovery.calls.argument_check import ArgumentsRefusedError
from discovery.calls.execution import NotFoundError, execute, near_names, not_found
from discovery.calls.queries import find_own_call
from discovery.calls.view import describe_call
from discovery.metatools import EVERY_KIND, META_TOOLS
from discovery.select.selection import Selected, Selection, SelectRequest
from discovery.select.selector import select_capabilities
from discovery.turns.records import note_discovery

# A call of a meta-tool, and the rows of its answer, as short as a model needs them to choose.


@dataclass(frozen=True, slots=True)
class MetaCall:
    """A call of a meta-tool, with checked arguments and their defaults.

    `turn_id` is the turn whose selection was not enough, if the caller names it.
    """

    caller: Caller
    arguments: JSONObject
    turn_id: UUID | None = None
    conversation: str = ""


LONGEST_DESCRIPTION = 100  # enough to compare search results


def list_row(item: dict[str, Any]) -> dict[str, Any]:
    """Return the row of a listed capability; `item` has the detail level `name_description`."""
    return {
        "name": item["full_name"],
        "description": item["description"],
        "access": item["access"],
        **_state_parts(item["readiness"], item.get("readiness_reason", "")),
    }


def search_row(item: Selected) -> dict[str, Any]:
    """Return the row of a search result."""
    return {
        "name": item.full_name,
        "kind": item.kind,
        "description": short_description(item.description, LONGEST_DESCRIPTION),
        "access": access_of(item.asks_first),
        **note_of(item.readiness),
        "score": round(item.score, 2),
    }


def note_of(readiness: ToolReadiness) -> dict[str, str]:
    """Return the state if `access` does not tell it, and why a call would not be carried out now.

    Both cost tokens, so rows of tools that simply run or ask first have neither.
    """
    return _state_parts(readiness.state.value, readiness.sentence)


def _state_parts(state: str, sentence: str) -> dict[str, str]:
    if state in {Readiness.READY, Readiness.ASKS_FIRST}:
        return {}
    described = state == Readiness.DESCRIBED_ONLY
    return {"readiness": state} if described else {"readiness": state, "note": sentence}


def fit_to_budget(rows: list[dict[str, Any]], tokens: int) -> list[dict[str, Any]]:
    """Return the leading rows that fit into `tokens`; always at least one."""
    remaining = tokens
    for place, row in enumerate(rows):
        remaining -= estimate_tokens(row)
        if remaining < 0:
            return rows[: max(1, place)]
    return rows


def without_empty(**parts: Any) -> dict[str, Any]:
    """Return the answer without empty parts, which would cost tokens."""
    return {name: part for name, part in parts.items() if part not in ("", None)}


# Answers to the meta-tools that list and browse categories.

NAMES_PER_CATEGORY = 3
MOST_TOKENS = 1_200


def list_categories(call: MetaCall) -> JSONObject:
    """List the categories in which the caller has tools, with counts and some names."""
    categories, hint = catalog_queries.list_categories(caller=call.caller)
    return without_empty(**category_index(categories), hint=hint)


def browse_category(call: MetaCall) -> JSONObject:
    """Return a page of one category."""
    category, offset = call.arguments["category"], call.arguments["offset"]
    page = read_page(call.caller, category, limit=call.arguments["limit"], offset=offset)
    tools = fit_to_budget([list_row(item) for item in page.items], MOST_TOKENS)
    following = offset + len(tools)
    return without_empty(
        category=category,
        tools=tools,
        total=page.total,
        next_offset=following if tools and following < page.total else None,
        hint=page.hint,
    )


def read_page(
    caller: Caller, category: str, *, limit: int, offset: int = 0
) -> catalog_queries.Page:
    """Read a page of a category. Raises NotFoundError if the caller has nothing in it."""
    page = catalog_queries.list_capabilities(
        caller=caller,
        filters=catalog_queries.CapabilityFilters(category=category),
        limit=limit,
        offset=offset,
    )
    if page.total == 0 and category and not page.hint:
        categories, _ = catalog_queries.list_categories(caller=caller)
        near = near_names(category, (summary.category for summary in categories))
        raise NotFoundError(category, near, what="category")
    return page


def category_index(categories: Sequence[catalog_queries.CategorySummary]) -> JSONObject:
    """Return the categories that fit the token budget; the rest by name alone."""
    rows = fit_to_budget(
        [
            {
                "category": summary.category,
                "count": len(summary.names),
                "names": summary.names[:NAMES_PER_CATEGORY],
            }
            for summary in categories
        ],
        MOST_TOKENS,
    )
    left_out = [summary.category for summary in categories[len(rows) :]]
    total = sum(len(summary.names) for summary in categories)
    return without_empty(categories=rows, others=left_out or None, total=total)


# Search for tools by task, with the selector's ranking but without its limit on tools per turn.

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
    # The slugs of their disconnected integrations.
    missing = Obstacle.NOT_CONNECTED
    disconnected = {item.integration for item in fitting if item.readiness.obstacle is missing}
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


# Answers to the meta-tools that read and call one tool.

MOST_SCHEMA_TOKENS = 3_000
MOST_EXAMPLES = 3
SHORTER: dict[Detail, Detail] = {
    "full_schema": "compact_schema",
    "compact_schema": "micro_schema",
    "micro_schema": "name_description",
}
_CUT = "The schema is too long to be given in full; this is its {} form."
# Fields of a lookup that a model needs for a call; provenance is for people.
_FIELDS = (
    *("full_name", "kind", "display_name", "description", "category", "side_effect", "access"),
    *("readiness", "readiness_reason"),
    *("input_schema", "micro_schema", "examples", "required_secrets", "required_tools"),
)


def get_tool(call: MetaCall) -> JSONObject:
    """Describe a tool, at a lower level of detail if the schema would cost too many tokens."""
    name, requested_detail = call.arguments["name"], call.arguments["detail"]
    detail = requested_detail
    entry = read_tool(call.caller, name, detail)
    while estimate_tokens(entry) > MOST_SCHEMA_TOKENS and detail in SHORTER:
        detail = SHORTER[detail]
        entry = read_tool(call.caller, name, detail)
    return without_empty(**entry, note=_CUT.format(detail) if detail != requested_detail else "")


def read_tool(caller: Caller, full_name: str, detail: Detail) -> dict[str, Any]:
    """Look up a tool for a model. Raises NotFoundError if the caller has none of that name."""
    entry = catalog_queries.get_capability(
        caller=caller, full_name=full_name, detail=detail, examples=True
    )
    if entry is None:
        raise not_found(caller=caller, full_name=full_name)
    entry["examples"] = entry["examples"][:MOST_EXAMPLES]
    body = {key: entry[key] for key in _FIELDS if entry.get(key) not in (None, "", [])}
    return {"name": body.pop("full_name"), **body, "hint": entry["hint"]}


def execute_tool(call: MetaCall) -> JSONObject:
    """Call a tool and return its outcome."""
    done = execute(
        caller=call.caller,
        full_name=call.arguments["name"],
        arguments=call.arguments["arguments"],
        turn_id=call.turn_id,
        conversation=call.conversation,
    )
    return done.as_answer()


def get_call(call: MetaCall) -> JSONObject:
    """Return the state of one of the caller's calls. Raises NotFoundError for any other."""
    call_id = call.arguments["call_id"]
    wait = call.arguments["wait"]
    own_call = find_own_call(caller=call.caller, pk=UUID(call_id), wait_seconds=wait)
    if own_call is None:
        raise NotFoundError(call_id, (), what="call")
    return describe_call(own_call).as_answer()
