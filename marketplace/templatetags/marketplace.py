"""Small words that the pages of the marketplace share."""

import shlex
import unicodedata
from collections.abc import Iterable

from django import template

register = template.Library()


@register.filter
def command_line(parts: Iterable[str]) -> str:
    """A command with its parts told apart, and nothing in it that cannot be seen."""
    return " ".join(_visible(shlex.quote(part)) for part in parts)


def _visible(text: str) -> str:
    """Characters that change how others look, or do not show themselves, as their numbers."""
    return "".join(
        f"\\u{{{ord(character):x}}}"
        if unicodedata.category(character)[0] in "CZ" and character != " "
        else character
        for character in text
    )


@register.filter
def seconds(number: float | None) -> str:
    """Format a duration for people."""
    if number is None:
        return ""
    if number < 10:
        return f"{number:.1f} s"
    minutes, rest = divmod(round(number), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
