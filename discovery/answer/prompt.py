"""The system prompt's text about tools.

Descriptions come from third parties, and reasons quote the message. Each is kept on one short line,
so that it cannot pass for an instruction of ours.
"""

from collections.abc import Callable, Sequence

from django.conf import settings

from catalog.capabilities.detail_levels import short_description
from catalog.token_counter import token_counter
from discovery.answer.formats.base import Tool, filter_callable, shorten
from discovery.select.helping_offers import DISCOVERY_TOOL
from discovery.select.selection import Selected, Selection

# Texts cut to a token budget, never within a word or line.


def fits(text: str, budget: int) -> bool:
    """Return True if the text costs at most `budget` tokens."""
    return token_counter().count(text) <= budget


def cut(before: str, text: str, after: str, budget: int) -> str:
    """Return the text on one line between two others, dropping its last words if needed.

    `before` and `after` are never cut; "" if not even they fit.
    """
    words = text.split()
    if fits(whole := f"{before}{' '.join(words)}{after}", budget):
        return whole
    word_count = largest(
        max(len(words) - 1, 0),
        lambda number: fits(f"{before}{_with_ellipsis(words[:number])}{after}", budget),
    )
    if word_count:
        return f"{before}{_with_ellipsis(words[:word_count])}{after}"
    bare = f"{before.rstrip(' :')}{after}"
    return bare if fits(bare, budget) else ""


def _with_ellipsis(words: Sequence[str]) -> str:
    return " ".join(words).rstrip(" ,;:-") + "…"


def largest(most: int, holds: Callable[[int], bool]) -> int | None:
    """Return the largest number up to `most` for which `holds` is true; None if it is false for 0.

    `holds` must be monotonic: true for all smaller numbers, too.
    """
    if holds(most):
        return most
    if most == 0 or not holds(0):
        return None
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def cost(text: str) -> int:
    """Count the text's tokens."""
    return token_counter().count(text)


_LONGEST_LINE = 160
_ASKS_FIRST = 'A tool marked "asks first" waits for a person: say what you are about to do.'
_FAILING = 'A tool marked "failing" has a server that did not answer: try another one first.'
_MOST_NAMES = 40


def render_prompt(selection: Selection) -> str:
    """Render the selected tools and reasons, and how to find more; "" without tools."""
    items = filter_callable(selection.selected)
    if not items:
        return ""
    parts = ["Tools selected for this message:", *map(_line, items)]
    if any(item.asks_first for item in items):
        parts += ["", _ASKS_FIRST]
    if any(item.readiness.is_failing for item in items):
        parts += ["", _FAILING]
    if any(item.full_name == DISCOVERY_TOOL for item in items):
        parts += ["", f"If none of them fits, look for others with {DISCOVERY_TOOL}."]
    return "\n".join(parts)


def render_direct(tools: Sequence[Tool]) -> str:
    """Render which tools need approval or have a failing server, to go with all definitions."""
    asking = [tool.name for tool in tools if tool.asks_first]
    failing = [tool.name for tool in tools if tool.failing]
    lines = (
        ("These wait for a person, so say what you are about to do", asking),
        ("The servers of these are failing, so try others first", failing),
    )
    return "\n".join(f"{opening}: {_join(names)}." for opening, names in lines if names)


def _join(names: Sequence[str]) -> str:
    more = f" (+{len(names) - _MOST_NAMES} more)" if len(names) > _MOST_NAMES else ""
    return f"{', '.join(names[:_MOST_NAMES])}{more}"


def render_compact(tools: Sequence[Tool]) -> str:
    """Render a line for each tool, to replace its definition."""
    if not tools:
        return ""
    parts = [
        "Your tools, by name. Call get_tool for the arguments of one, then execute_tool:",
        *map(_compact_line, tools),
    ]
    if any(tool.asks_first for tool in tools):
        parts += ["", _ASKS_FIRST]
    if any(tool.failing for tool in tools):
        parts += ["", _FAILING]
    return "\n".join(parts)


def render_discovery(count: int) -> str:
    """Render how to find tools, if there are any."""
    if not count:
        return ""
    return (
        f"You have {count:,} tools that are not shown. Look for what you need with search_tools, or"
        " with list_categories and browse_category; read its arguments with get_tool; call it with"
        " execute_tool."
    )


def render_deferred(search: Tool) -> str:
    """Render how to load deferred definitions."""
    return (
        f"Your tools are loaded as you look for them: call {search.name} with what is to be done."
    )


def _compact_line(tool: Tool) -> str:
    """Return a line within the token limit; only a name is never cut."""
    marks = f" [{tool.mark}]" if tool.mark else ""
    text = short_description(tool.description or tool.title)
    budget = settings.PEGBOARD_COMPACT_TOKENS
    return cut(f"- {tool.name}{marks}: ", text, "", budget) or f"- {tool.name}{marks}"


def _line(item: Selected) -> str:
    text = _one_line(item.description or item.display_name)
    mark = item.readiness.mark
    marks = f" [{mark}]" if mark else ""
    why = f" (why: {_one_line(item.reasons[0])})" if item.reasons else ""
    return f"- {item.full_name}{marks}: {text}{why}"


def _one_line(text: str) -> str:
    return shorten(" ".join(text.split()), _LONGEST_LINE)
