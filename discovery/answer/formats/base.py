"""Parts common to all formats: which tools, in which order, with which description."""

from collections.abc import Iterable
from dataclasses import dataclass

from catalog.trust.findings import ReviewedSchema, ReviewedText
from discovery.select.selection import Selected

LONGEST_DESCRIPTION = 1024  # the smallest limit of the providers


@dataclass(frozen=True, slots=True)
class Tool:
    """Input of a provider's format, from a capability or a meta-tool."""

    name: str
    title: ReviewedText
    description: ReviewedText
    input_schema: ReviewedSchema | None = None
    side_effect: str = "read"
    asks_first: bool = False
    failing: bool = False
    mark: str = ""  # for the prompt: "asks first, failing for 4 minutes"


def tools_of(selected: Iterable[Selected]) -> list[Tool]:
    """Return the selected tools that can be called now, by full name."""
    return [
        Tool(
            name=item.full_name,
            title=item.display_name,
            description=item.description,
            input_schema=item.input_schema,
            side_effect=item.side_effect,
            asks_first=item.asks_first,
            failing=item.readiness.is_failing,
            mark=item.readiness.mark,
        )
        for item in filter_callable(selected)
    ]


def sort_by_name(tools: Iterable[Tool]) -> list[Tool]:
    """Sort by name without duplicates, so that the same tools give the same bytes."""
    by_name = {tool.name: tool for tool in tools}
    return [by_name[name] for name in sorted(by_name)]


def filter_callable(selected: Iterable[Selected]) -> list[Selected]:
    """Return the selected items that can be called now, by full name, and failing ones last."""
    tried = (item for item in selected if item.readiness.is_tried)
    return sorted(tried, key=lambda item: (item.readiness.is_failing, item.full_name))


def describe(tool: Tool) -> str:
    """Return the description within the providers' limit; never empty."""
    return shorten(tool.description, LONGEST_DESCRIPTION) or tool.title or tool.name


def shorten(text: str, most: int) -> str:
    """Cut the text at a word if it is longer than `most` characters."""
    text = text.strip()
    if len(text) <= most:
        return text
    head, space, _ = text[: most - 1].rpartition(" ")
    return (head if space else text[: most - 1]).rstrip(" ,;:") + "…"
