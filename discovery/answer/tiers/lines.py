"""Tier 1: a line for each capability that matches the message."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from catalog.formats.descriptors import JSONObject
from discovery.answer.formats.base import shorten
from discovery.answer.tiers.state import StoredFacts
from discovery.answer.token_budget import cost, cut, fits
from discovery.select.selection import Selected

FIRST = "Relevant capabilities:"
MOST_NAMES = 6
LONGEST = 160  # characters of a description


@dataclass(frozen=True, slots=True)
class TierMatch:
    """A selected capability, and stored facts that its definition does not contain."""

    item: Selected
    facts: StoredFacts


@dataclass(frozen=True, slots=True)
class Lines:
    """The tier's text, and the full names of the capabilities in it."""

    text: str
    shown: tuple[str, ...]


def choose_matches(selected: Sequence[Selected], *, top: int, relevance: float) -> list[Selected]:
    """Choose the best relevant matches, and up to two of their dependencies."""
    relevant = [item for item in selected if item.score >= relevance and not item.needed_by]
    first = relevant[:top]
    needed = [item for item in selected if item.needed_by in _names(first)][: min(2, top // 2)]
    if len(first) + len(needed) > top:
        first = relevant[: top - len(needed)]
        needed = [item for item in needed if item.needed_by in _names(first)]
    return [*first, *needed]


def write_lines(matches: Sequence[TierMatch], budget: int) -> Lines:
    """Write a line for each match, shortened if needed; skip those that do not fit at all."""
    text = FIRST
    names: list[str] = []
    for place, match in enumerate(matches):
        used = text
        # The tokens that the text may have after the next of `line_count` lines.
        line_count = len(matches) - place
        spent = cost(used)
        share = spent + max(0, budget - spent) // line_count
        line = next((line for line in _lines(match, len(names) + 1, used, share, budget)), "")
        if line:
            text = f"{used}\n{line}"
            names.append(match.item.full_name)
    return Lines(text if names else "", tuple(names))


def join_parameters(schema: JSONObject | None, most: int = MOST_NAMES) -> str:
    """Join the names of the arguments, required ones first, with the number of the rest."""
    properties = (schema or {}).get("properties")
    if not isinstance(properties, dict) or not properties:
        return ""
    required = (schema or {}).get("required")
    first = required if isinstance(required, list) else []
    required_names = [name for name in first if isinstance(name, str) and name in properties]
    return join_names(list(dict.fromkeys([*required_names, *properties])), most)


def join_names(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """Join the first names on one line, with the number of the rest."""
    remaining = len(names) - most
    joined = ", ".join(" ".join(str(name).split()) for name in names[:most])
    return f"{joined} (+{remaining} more)" if remaining > 0 else joined


def kind_of(item: Selected) -> str:
    """Return its kind, and what a call has to expect: "tool, asks first"."""
    mark = item.readiness.mark
    return f"{item.kind}, {mark}" if mark else item.kind


def _lines(match: TierMatch, number: int, used: str, share: int, budget: int) -> Iterator[str]:
    """Yield the line within its share of the budget, or the shortest one within the whole rest."""
    item = match.item
    start = f"{number}. {item.full_name} ({kind_of(item)})"
    text = shorten(" ".join((item.description or item.display_name).split()), LONGEST)
    for end in (_end(match, MOST_NAMES), _end(match, 2)):
        if line := cut(f"{used}\n{start}. ", text, end, share):
            yield line.removeprefix(f"{used}\n")
    if fits(f"{used}\n{start}", budget):
        yield start


def _end(match: TierMatch, most: int) -> str:
    """Return the line's end: parameters and requirements."""
    parameters = join_parameters(match.item.input_schema, most)
    needed = join_names(match.facts.required_tools, most)
    because = f" Needed by: {match.item.needed_by}" if match.item.needed_by else ""
    return "".join(
        [
            because,
            f" Params: {parameters}" if parameters else "",
            f" Requires: {needed}" if needed else "",
        ]
    )


def _names(items: Sequence[Selected]) -> set[str]:
    return {item.full_name for item in items}
