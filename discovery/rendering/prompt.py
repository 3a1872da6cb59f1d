"""What a system prompt says about the selected tools.

Descriptions come from outside, and reasons quote the message: each stays on one short line, so that
none can pass for an instruction of ours.
"""

from discovery.rendering.common import callable_ones, shortened
from discovery.selected import Selected, Selection

DISCOVERY_TOOL = "tool_discovery__find"
_LONGEST_LINE = 160


def render_prompt(selection: Selection) -> str:
    """What was selected and why, what asks first, and how to look for more; empty without tools."""
    items = callable_ones(selection.selected)
    if not items:
        return ""
    parts = ["Tools selected for this message:", *map(_line, items)]
    if any(item.asks_first for item in items):
        parts += [
            "",
            'A tool marked "asks first" waits for a person: say what you are about to do.',
        ]
    if any(item.full_name == DISCOVERY_TOOL for item in items):
        parts += ["", f"If none of them fits, look for others with {DISCOVERY_TOOL}."]
    return "\n".join(parts)


def _line(item: Selected) -> str:
    text = _one_line(item.description or item.display_name)
    marks = " [asks first]" if item.asks_first else ""
    why = f" (why: {_one_line(item.reasons[0])})" if item.reasons else ""
    return f"- {item.full_name}{marks}: {text}{why}"


def _one_line(text: str) -> str:
    return shortened(" ".join(text.split()), _LONGEST_LINE)
