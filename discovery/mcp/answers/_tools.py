"""Answers to the meta-tools that read and call one tool."""

from typing import Any
from uuid import UUID

from acl.rights.caller_lookup import Caller
from catalog.capabilities import catalog_queries
from catalog.capabilities.detail_levels import Detail
from catalog.formats.descriptors import JSONObject
from catalog.token_counter import estimate_tokens
from discovery.calls.execution import NotFoundError, execute, not_found
from discovery.calls.queries import find_own_call
from discovery.calls.view import describe_call
from discovery.mcp.answers._base import MetaCall, without_empty

MOST_TOKENS = 3_000
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
    while estimate_tokens(entry) > MOST_TOKENS and detail in SHORTER:
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
