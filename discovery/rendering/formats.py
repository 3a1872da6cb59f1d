"""Chooses how the tools are written down."""

from collections.abc import Callable, Mapping
from typing import Any

from discovery.rendering import anthropic, gemini, mcp, openai
from discovery.selected import Selection

FORMATS: Mapping[str, Callable[[Selection], list[dict[str, Any]]]] = {
    "anthropic": anthropic.render,
    "openai": openai.render,
    "gemini": gemini.render,
    "mcp": mcp.render,
}
NO_TOOLS = "none"


def render_tools(selection: Selection, provider: str) -> list[dict[str, Any]] | None:
    """The provider's `tools`; None where the request wanted none."""
    return None if provider == NO_TOOLS else FORMATS[provider](selection)
