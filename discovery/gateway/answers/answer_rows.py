"""One entry of an answer: as much as a model needs to choose, and no more."""

from typing import Any

from catalog.lookups.detail_levels import short_description
from catalog.tokens import estimate_tokens
from discovery.select.selection import Selected

LONGEST_DESCRIPTION = 100  # what is found by a search is compared by it


def listed(item: dict[str, Any]) -> dict[str, Any]:
    """An entry of a list; `item` is at the level `name_description`."""
    return {
        "name": item["full_name"],
        "description": item["description"],
        "access": item["access"],
    }


def found(item: Selected) -> dict[str, Any]:
    """An entry of a search."""
    return {
        "name": item.full_name,
        "kind": item.kind,
        "description": short_description(item.description, LONGEST_DESCRIPTION),
        "access": access_of(item.asks_first),
        "score": round(item.score, 2),
    }


def access_of(asks_first: bool) -> str:
    """Whether a person is asked before each call."""
    return "asks first" if asks_first else "runs"


def within(rows: list[dict[str, Any]], tokens: int) -> list[dict[str, Any]]:
    """The first rows that cost no more than so many tokens together; always at least one."""
    left = tokens
    for place, row in enumerate(rows):
        left -= estimate_tokens(row)
        if left < 0:
            return rows[: max(1, place)]
    return rows


def said(**parts: Any) -> dict[str, Any]:
    """The answer without what is empty: a hint that says nothing costs tokens, too."""
    return {name: part for name, part in parts.items() if part not in ("", None)}
