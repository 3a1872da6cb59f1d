"""Words of names in any style: of tools, of arguments, of keys."""

import re
from functools import lru_cache

# Words of a tool's name that say only that it is a tool.
_EMPTY = frozenset({"tool", "tools", "api", "function", "mcp", "service", "action", "controller"})
_PATH_PARTS = re.compile(r"[./:]+")
# Longer names are split each time: strangers' names must not fill the memory.
_LONGEST_KEPT = 100


def split_words(text: str) -> list[str]:
    """Split a text into lower-case words, splitting camelCase and snake_case names too."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text)
    return [word.lower() for word in re.findall(r"[^\W_]+", spaced)]


def tool_words(name: str) -> tuple[str, ...]:
    """Return the words of a tool's name, its operation first.

    A dotted name is a path that ends in the operation: `calendar.v3.create_event` gives create,
    event, v3, calendar.
    """
    return _kept_tool_words(name) if len(name) <= _LONGEST_KEPT else _split_tool_name(name)


def argument_words(name: str) -> tuple[str, ...]:
    """Return the words of an argument's or a key's name, in order."""
    return _kept_words(name) if len(name) <= _LONGEST_KEPT else tuple(split_words(name))


def singular(word: str) -> str:
    """Return a noun without its plural's ending."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _split_tool_name(name: str) -> tuple[str, ...]:
    parts = [split_words(part) for part in _PATH_PARTS.split(name)]
    words = [word for part in reversed(parts) for word in part]
    return tuple(word for word in words if word not in _EMPTY) or tuple(words)


_kept_tool_words = lru_cache(maxsize=2048)(_split_tool_name)


@lru_cache(maxsize=2048)
def _kept_words(name: str) -> tuple[str, ...]:
    return tuple(split_words(name))
