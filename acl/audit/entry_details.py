"""Details of an audit entry as rows, with values before and after."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from acl.visible_text.json_text import text_of_value
from acl.visible_text.pieces import show_text

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?[+-]\d\d:\d\d$")
# How services name the two sides of a change.
SIDES = (("before", "after"), ("from", "to"), ("old", "new"))


@dataclass(frozen=True, slots=True)
class DetailRow:
    """A row: a label, and a value or the two sides of a change."""

    label: str
    value: str = ""
    before: str = ""
    after: str = ""
    changed: bool = False


def rows_of(details: Any) -> list[DetailRow]:
    """Build the rows of an entry's details, whatever their shape."""
    if not isinstance(details, dict):
        return [DetailRow("details", _text(details))] if details else []
    return list(_rows(details))


def _rows(details: dict[str, Any]) -> Iterator[DetailRow]:
    sides = _sides_of(details)
    if sides:
        yield from _compared("", *(details[side] for side in sides))
    for name, value in details.items():
        if name in sides or value in (None, "", [], {}):
            continue
        label = show_text(name.replace("_", " "))
        inner = _sides_of(value) if isinstance(value, dict) else ()
        if inner:
            yield from _compared(label, *(value[side] for side in inner))
        else:
            yield DetailRow(label, _text(value))


def _sides_of(details: dict[str, Any]) -> tuple[str, ...]:
    return next((pair for pair in SIDES if set(pair) <= details.keys()), ())


def _compared(label: str, before: Any, after: Any) -> Iterator[DetailRow]:
    """Return one row, or for two objects a row per changed field."""
    if not (isinstance(before, dict) and isinstance(after, dict)):
        yield DetailRow(label or "change", before=_text(before), after=_text(after), changed=True)
        return
    for name in {**before, **after}:
        old, new = before.get(name), after.get(name)
        if old != new:
            where = f"{label}: {name}" if label else name
            sides = {"before": _text(old), "after": _text(new)}
            yield DetailRow(show_text(where.replace("_", " ")), **sides, changed=True)


def _text(value: Any) -> str:
    """Format times and missing values as words, other values canonically."""
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case str() if MOMENT.match(value):
            try:
                moment = datetime.fromisoformat(value).astimezone(UTC)
            except (ValueError, OverflowError):  # a day that no calendar has
                return text_of_value(value)
            return f"{moment:%-d %b %Y, %H:%M} UTC"
    return text_of_value(value)
