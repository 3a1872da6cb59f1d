"""Using one tool that has been found: reading it, calling it."""

from typing import Any
from uuid import UUID

from acl.rights.caller import Caller
from catalog.formats.descriptors import JSONObject
from catalog.lookups import catalog_queries
from catalog.lookups.detail_levels import Detail
from catalog.tokens import estimate_tokens
from discovery.calls.call_queries import find_own_call
from discovery.calls.call_view import tell
from discovery.calls.execution import NotFoundError, execute, not_found
from discovery.gateway.answers.answer_rows import said
from discovery.gateway.answers.metatool_call import MetaCall

MOST_TOKENS = 3_000
MOST_EXAMPLES = 3
SHORTER: dict[Detail, Detail] = {
    "full_schema": "compact_schema",
    "compact_schema": "micro_schema",
    "micro_schema": "name_description",
}
_CUT = "The schema is too long to be given in full; this is its {} form."
# Of a lookup's entry, what says how to call it. Where it comes from is for people.
_SHOWN = (
    *("full_name", "kind", "display_name", "description", "category", "side_effect", "access"),
    *("input_schema", "micro_schema", "examples", "required_secrets", "required_tools"),
)


def get_tool(call: MetaCall) -> JSONObject:
    """One tool at a level of detail; at a shorter one where that would be thousands of tokens."""
    name, wanted = call.arguments["name"], call.arguments["detail"]
    detail = wanted
    entry = shown(call.caller, name, detail)
    while estimate_tokens(entry) > MOST_TOKENS and detail in SHORTER:
        detail = SHORTER[detail]
        entry = shown(call.caller, name, detail)
    return said(**entry, note=_CUT.format(detail) if detail != wanted else "")


def shown(caller: Caller, full_name: str, detail: Detail) -> dict[str, Any]:
    """What a lookup says, under the name that a model calls; NotFoundError where it finds none."""
    entry = catalog_queries.get_capability(
        caller=caller, full_name=full_name, detail=detail, examples=True
    )
    if entry is None:
        raise not_found(caller=caller, full_name=full_name)
    entry["examples"] = entry["examples"][:MOST_EXAMPLES]
    body = {key: entry[key] for key in _SHOWN if entry.get(key) not in (None, "", [])}
    return {"name": body.pop("full_name"), **body, "hint": entry["hint"]}


def execute_tool(call: MetaCall) -> JSONObject:
    """Call a tool."""
    done = execute(
        caller=call.caller,
        full_name=call.arguments["name"],
        arguments=call.arguments["params"],
        turn_id=call.turn_id,
    )
    return done.as_answer()


def get_call(call: MetaCall) -> JSONObject:
    """How an earlier call of the caller's own stands; NotFoundError for anybody else's."""
    asked = call.arguments["call_id"]
    wait = call.arguments["wait"]
    found = find_own_call(caller=call.caller, pk=UUID(asked), wait_seconds=wait)
    if found is None:
        raise NotFoundError(asked, (), what="call")
    return tell(found).as_answer()
