"""Arguments as a person reads them before they say yes: each with what it means, nothing hidden."""

import json
import re
import unicodedata
from dataclasses import dataclass
from typing import Any

from discovery.models import Call

LONG = 600  # characters; longer ones are folded, and can be opened
_HIDDEN = {"Cf", "Cc", "Co", "Cs", "Cn"}
_PLAIN = re.compile(r"[\n\t\x20-\x7e]*")


@dataclass(frozen=True, slots=True)
class Shown:
    """One argument. `text` is a text as it is, or JSON over several lines."""

    name: str
    meaning: str
    text: str
    is_text: bool

    @property
    def is_long(self) -> bool:
        """Whether the page folds it."""
        return len(self.text) > LONG or self.text.count("\n") > 20

    @property
    def beginning(self) -> str:
        """What a fold says of what is in it."""
        return " ".join(self.text[:80].split())

    @property
    def size(self) -> int:
        """In characters."""
        return len(self.text)


def shown_arguments(call: Call) -> list[Shown]:
    """In the order in which they were sent."""
    schema = call.capability.input_schema if call.capability else None
    properties = (schema or {}).get("properties")
    parts = properties if isinstance(properties, dict) else {}
    return [_shown(name, value, parts.get(name)) for name, value in call.arguments.items()]


def _shown(name: str, value: Any, part: Any) -> Shown:
    meaning = part.get("description") if isinstance(part, dict) else ""
    is_text = isinstance(value, str)
    text = value if is_text else json.dumps(value, ensure_ascii=False, indent=2)
    return Shown(
        visible(name), visible(meaning) if isinstance(meaning, str) else "", visible(text), is_text
    )


def visible(text: str) -> str:
    """With a name in the place of each character that nobody sees, or that turns others around."""
    if _PLAIN.fullmatch(text):
        return text
    return "".join(map(_visible, text))


def _visible(character: str) -> str:
    if character in "\n\t" or unicodedata.category(character) not in _HIDDEN:
        return character
    return f"[U+{ord(character):04X}]"
