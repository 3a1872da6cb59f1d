"""Detail levels of a capability, each with more information than the previous one.

`micro_schema` adds names, types and required arguments. `compact_schema` adds everything a program
could validate. `full_schema` adds all that is stored for a model and its user.
"""

import re
from collections.abc import Mapping
from typing import Any, Literal, get_args

from catalog.capabilities.listing_cache import ListingEntry
from catalog.formats.descriptors import JSONObject, canonical_json
from catalog.models import Capability
from catalog.readiness.readiness import ToolReadiness, mend_link, path_of
from catalog.schemas import compact, micro
from catalog.token_counter import estimate_tokens, token_counter

Detail = Literal["name_only", "name_description", "micro_schema", "compact_schema", "full_schema"]
DETAILS: tuple[Detail, ...] = get_args(Detail)
# Levels that need the row: the cached listing has no schemas.
WITH_DEFINITION: frozenset[Detail] = frozenset({"micro_schema", "compact_schema", "full_schema"})
# Without the arguments' descriptions, the whole description must say how to call it.
WHOLE_DESCRIPTIONS: frozenset[str] = frozenset({"compact_schema", "full_schema"})
SHORT = 60
Access = Literal["runs", "asks first"]
ACCESSES = list(get_args(Access))
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
# Fields for a model and its user; connection details are for admins.
FULL_FIELDS = (
    "action",
    "output_schema",
    "content",
    "examples",
    "required_secrets",
    "required_tools",
    "parameters_summary",
    "unavailable_reason",
    "effect_confidence",
    "effect_evidence",
)


def short_description(text: str, most: int = SHORT) -> str:
    """Return the text, its first sentence, or as many words as fit."""
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    sentence = _SENTENCE_END.split(text, maxsplit=1)[0]
    if len(sentence) <= most:
        return sentence
    head, space, _ = text[:most].rpartition(" ")
    return (head if space else text[: most - 1]).rstrip(" ,;:-") + "…"


def access_of(asks_first: bool) -> Access:
    """Return "asks first" if a person approves each call, else "runs"."""
    return "asks first" if asks_first else "runs"


def with_tokens(body: Mapping[str, Any]) -> dict[str, Any]:
    """Add the entry's own token count, as a model would read it."""
    return {**body, "tokens": estimate_tokens(body)}


def description_at(detail: str, text: str) -> str:
    """Return the description for a level: whole or short."""
    return text if detail in WHOLE_DESCRIPTIONS else short_description(text)


def schema_at(detail: Detail, schema: JSONObject | None) -> dict[str, Any]:
    """Return the arguments' schema in the level's notation, by its field's name, or {}."""
    if detail not in WITH_DEFINITION:
        return {}
    name = "micro_schema" if detail == "micro_schema" else "input_schema"
    return {name: arguments_at(detail, schema)}


def arguments_at(detail: str, schema: JSONObject | None) -> Any:
    """Return the arguments' schema in the notation of a level that has them.

    No level costs more than the next one: if a shorter notation is longer, that level's notation is
    used.
    """
    if detail == "full_schema":
        return schema
    short = _cheaper(compact(schema), schema)
    return short if detail == "compact_schema" else _cheaper(micro(schema), short)


def describe_capability(
    entry: ListingEntry,
    *,
    readiness: ToolReadiness,
    detail: Detail,
    row: Capability | None = None,
    examples: bool = False,
    groups: int = 1,
) -> dict[str, Any]:
    """Build an entry at a level; `row` is needed for schemas and examples.

    `groups` is the number of the caller's groups that have it, for `full_schema`.
    """
    body: dict[str, Any] = {"id": entry.identifier, "full_name": entry.full_name}
    if detail != "name_only":
        body |= _outline(entry, readiness=readiness, detail=detail)
    if row:
        body |= {"examples": row.examples} if examples else {}
        body |= schema_at(detail, row.input_schema)
    if row and detail == "full_schema":
        body |= {"tags": entry.tags, "core": entry.core, "pinned": entry.pinned}
        body |= {name: getattr(row, name) for name in FULL_FIELDS}
        body["available_in_groups"] = groups
    return with_tokens(body)


def needs_row(detail: Detail, *, examples: bool) -> bool:
    """Return True if `describe_capability` needs the capability's row."""
    return examples or detail in WITH_DEFINITION


def _outline(entry: ListingEntry, *, readiness: ToolReadiness, detail: Detail) -> dict[str, Any]:
    return {
        "kind": entry.kind,
        "integration": entry.integration,
        "display_name": entry.display_name,
        "description": description_at(detail, entry.description),
        "category": entry.category,
        "side_effect": entry.side_effect,
        "effect_flags": entry.effect_flags,
        "access": access_of(readiness.asks_first),
        **readiness_parts(readiness, integration=entry.integration, full_name=entry.full_name),
    }


def readiness_parts(
    readiness: ToolReadiness, *, integration: str, full_name: str
) -> dict[str, str]:
    """Return the state, why it is not simply ready, and the page that mends it."""
    link = mend_link(readiness, integration=integration, full_name=full_name)
    parts = {"readiness_reason": readiness.reason, "mend_path": path_of(link)}
    return {"readiness": readiness.state.value} | {k: part for k, part in parts.items() if part}


def _cheaper(short: Any, long: Any) -> Any:
    """Return the short notation unless it costs more, in tokens or characters."""
    # Characters count too, so that it is no longer inside an entry either.
    texts = canonical_json(short), canonical_json(long)
    costs = [(token_counter().count(text), len(text)) for text in texts]
    return (
        short
        if all(short_cost <= long_cost for short_cost, long_cost in zip(*costs, strict=True))
        else long
    )
