"""What all formats have in common: which capabilities, in which order, how they are described."""

from collections.abc import Iterable
from dataclasses import dataclass

from catalog.trust.reviewed_texts import ReviewedSchema, ReviewedText
from discovery.select.selection import Selected

LONGEST_DESCRIPTION = 1024  # the shortest limit among the providers


@dataclass(frozen=True, slots=True)
class Tool:
    """What a provider's format is made of, whether a capability or one of our own tools."""

    name: str
    title: ReviewedText
    description: ReviewedText
    input_schema: ReviewedSchema | None = None
    side_effect: str = "read"
    asks_first: bool = False


def tools_of(selected: Iterable[Selected]) -> list[Tool]:
    """Those that can be called now, by full name."""
    return [
        Tool(
            name=item.full_name,
            title=item.display_name,
            description=item.description,
            input_schema=item.input_schema,
            side_effect=item.side_effect,
            asks_first=item.asks_first,
        )
        for item in callable_ones(selected)
    ]


def in_order(tools: Iterable[Tool]) -> list[Tool]:
    """By name, each once: the same tools give the same bytes, whatever was asked."""
    by_name = {tool.name: tool for tool in tools}
    return [by_name[name] for name in sorted(by_name)]


def callable_ones(selected: Iterable[Selected]) -> list[Selected]:
    """Those that can be called now, by full name."""
    return sorted((item for item in selected if item.available), key=lambda item: item.full_name)


def described(tool: Tool) -> str:
    """Its description within the providers' limit; never empty."""
    return shortened(tool.description, LONGEST_DESCRIPTION) or tool.title or tool.name


def shortened(text: str, most: int) -> str:
    """The text, cut at a word where it is too long."""
    text = text.strip()
    if len(text) <= most:
        return text
    head, space, _ = text[: most - 1].rpartition(" ")
    return (head if space else text[: most - 1]).rstrip(" ,;:") + "…"
