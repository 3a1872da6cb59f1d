"""A call of a meta-tool, and the rows of its answer, as short as a model needs them to choose."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from acl.rights.caller_lookup import Caller
from catalog.capabilities.detail_levels import access_of, short_description
from catalog.formats.descriptors import JSONObject
from catalog.readiness.readiness import Readiness, ToolReadiness
from catalog.token_counter import estimate_tokens
from discovery.select.selection import Selected


@dataclass(frozen=True, slots=True)
class MetaCall:
    """A call of a meta-tool, with checked arguments and their defaults.

    `turn_id` is the turn whose selection was not enough, if the caller names it.
    """

    caller: Caller
    arguments: JSONObject
    turn_id: UUID | None = None


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
