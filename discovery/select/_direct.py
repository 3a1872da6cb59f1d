"""Choice of the one tool that needs no model to choose it, if there is one."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from catalog.lexical import words
from catalog.models.relation_kinds import Kind
from discovery.select._candidate_rows import Candidate, Candidates
from discovery.select.ranking.competition import Ranked
from discovery.select.ranking.thresholds import is_direct
from discovery.select.selection import Selected

_NUMBER = re.compile(r"\d")
# Days are said in words, too.
_DAY = re.compile(
    r"\d|\b(?:today|tonight|tomorrow|yesterday|now|noon|midnight"
    r"|(?:this|next|last) (?:week|month|year)|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b",
    re.IGNORECASE,
)
_DAYS = frozenset(("date", "date-time", "time"))


def find_direct(
    message: str, ranked: Sequence[Ranked], selected: Sequence[Selected], candidates: Candidates
) -> str | None:
    """Return the full name of a capability that is far ahead, runs without approval, and whose
    required arguments the message holds.

    Experiences do not count, since no model checks this choice.
    """
    if not selected or not is_direct([item.judged.by_itself for item in ranked]):
        return None
    best = max(ranked, key=lambda item: item.judged.by_itself).candidate
    if best.pk != selected[0].pk:
        return None
    links = (link for link in candidates.links if link.kind == Kind.DEPENDS_ON and link.weight > 0)
    needs_another = any(link.source == best.pk for link in links)
    runs = best.readiness.runs_unasked and best.side_effect == "read"
    return best.full_name if runs and not needs_another and _has_arguments(message, best) else None


def _has_arguments(message: str, tool: Candidate) -> bool:
    schema: Mapping[str, Any] = tool.input_schema or {}
    required, properties = schema.get("required"), schema.get("properties")
    if not isinstance(required, list) or not isinstance(properties, dict):
        return not required
    needed = [properties.get(name) or {} for name in required]
    needed = [argument for argument in needed if "default" not in argument]
    # Each takes an informative word that does not say which tool is meant.
    naming = words(f"{tool.full_name.replace('_', ' ')} {tool.display_name} {tool.description}")
    values = set(words(message)).difference(naming)
    return len(needed) <= len(values) and all(_is_said(message, argument) for argument in needed)


def _is_said(message: str, argument: Mapping[str, Any]) -> bool:
    """Return True if the message may hold a value of the argument; False where it must be built."""
    values = argument.get("enum")
    if isinstance(values, list):
        return any(set(words(message)).issuperset(words(str(value)) or [""]) for value in values)
    kind, form = argument.get("type"), argument.get("format")
    if kind in {"integer", "number"}:
        return _NUMBER.search(message) is not None
    if kind == "array" and isinstance(argument.get("items"), dict):
        return _is_said(message, argument["items"])
    if kind != "string":
        return False
    return form not in _DAYS or _DAY.search(message) is not None
