"""How much is said about a capability. Each level says what the one before says, and more.

What an argument is called, its type and whether it is required are told from `micro_schema` on;
everything about arguments that a program could check from `compact_schema` on. `full_schema` has
everything that the catalogue keeps for a model and its user.
"""

import re
from collections.abc import Mapping
from typing import Any, Literal, get_args

from catalog.formats.descriptors import JSONObject, canonical_json
from catalog.lookups.listing_cache import Entry
from catalog.models import Capability
from catalog.schemas.compact import compact
from catalog.schemas.micro import micro
from catalog.tokens import estimate_tokens, token_counter

Detail = Literal["name_only", "name_description", "micro_schema", "compact_schema", "full_schema"]
DETAILS: tuple[Detail, ...] = get_args(Detail)
# The levels for which a row is read: what lists are made of has no schemas.
WITH_DEFINITION: frozenset[Detail] = frozenset({"micro_schema", "compact_schema", "full_schema"})
# With the arguments' descriptions gone, the capability's own says how to call it.
WHOLE_DESCRIPTIONS: frozenset[Detail] = frozenset({"compact_schema", "full_schema"})
SHORT = 60
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
# What a model and its user need; how its server is reached is an admin's.
FULL_FIELDS = (
    "action",
    "output_schema",
    "content",
    "examples",
    "required_secrets",
    "required_tools",
    "parameters_summary",
    "unavailable_reason",
)


def short_description(text: str, most: int = SHORT) -> str:
    """The text, its first sentence, or as many of its words as fit."""
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    sentence = _SENTENCE_END.split(text, maxsplit=1)[0]
    if len(sentence) <= most:
        return sentence
    head, space, _ = text[:most].rpartition(" ")
    return (head if space else text[: most - 1]).rstrip(" ,;:-") + "…"


def with_tokens(body: Mapping[str, Any]) -> dict[str, Any]:
    """The entry, and what it costs a model that reads it as it is written."""
    return {**body, "tokens": estimate_tokens(body)}


def description_at(detail: Detail, text: str) -> str:
    """The whole text, or a short one for the levels that are for looking around."""
    return text if detail in WHOLE_DESCRIPTIONS else short_description(text)


def schema_at(detail: Detail, schema: JSONObject | None) -> dict[str, Any]:
    """What a level says of the arguments, under the name of its notation; nothing for the levels
    without.

    No level costs more than the one above: where a schema is so odd that a shorter notation is
    longer, it is written as in the level above.
    """
    if detail not in WITH_DEFINITION:
        return {}
    if detail == "full_schema":
        return {"input_schema": schema}
    short = _cheaper(compact(schema), schema)
    if detail == "compact_schema":
        return {"input_schema": short}
    return {"micro_schema": _cheaper(micro(schema), short)}


def described(
    entry: Entry,
    *,
    asks_first: bool,
    detail: Detail,
    row: Capability | None = None,
    examples: bool = False,
) -> dict[str, Any]:
    """An entry at a level; `row` is needed for the levels with a definition, and for examples."""
    body = _identity(entry)
    if detail != "name_only":
        body |= _outline(entry, asks_first=asks_first, detail=detail)
    if row:
        body |= {"examples": row.examples} if examples else {}
        body |= schema_at(detail, row.input_schema)
    if row and detail == "full_schema":
        body |= {"tags": entry.tags, "core": entry.core, "pinned": entry.pinned}
        body |= {name: getattr(row, name) for name in FULL_FIELDS}
    return with_tokens(body)


def needs_row(detail: Detail, *, examples: bool) -> bool:
    """Whether `described` needs the capability's row."""
    return examples or detail in WITH_DEFINITION


def _identity(entry: Entry) -> dict[str, Any]:
    return {"id": entry.identifier, "full_name": entry.full_name}


def _outline(entry: Entry, *, asks_first: bool, detail: Detail) -> dict[str, Any]:
    return {
        "kind": entry.kind,
        "integration": entry.integration,
        "display_name": entry.display_name,
        "description": description_at(detail, entry.description),
        "category": entry.category,
        "side_effect": entry.side_effect,
        "access": "asks first" if asks_first else "runs",
    }


def _cheaper(short: Any, long: Any) -> Any:
    """The short one, unless it costs more: counted in tokens, and in characters, so that it costs
    no more inside an entry either."""
    texts = canonical_json(short), canonical_json(long)
    costs = [(token_counter().count(text), len(text)) for text in texts]
    return short if all(one <= other for one, other in zip(*costs, strict=True)) else long
