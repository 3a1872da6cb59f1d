"""A server's answer in parts for a page: texts, tables, JSON, images, and what pages do not show.

Answers come from outside: texts are shown with every character visible, and images by four types
of pixels only, which run nothing.
"""

import json
from base64 import b64decode
from binascii import Error
from dataclasses import dataclass
from typing import Any, Literal

from acl.platform.strict_json import StrictJSONError, parse_json
from catalog.formats.descriptors import JSONObject
from discovery.calls.argument_check import ArgumentsRefusedError
from discovery.calls.execution import NotFoundError
from discovery.calls.view import Execution, describe_call
from discovery.models import Call

PartKind = Literal["text", "table", "json", "image", "other"]

IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
MOST_PARTS = 50
MOST_ROWS, MOST_COLUMNS = 200, 20
LONGEST_CELL = 300
_DEEPEST = 64


@dataclass(frozen=True, slots=True)
class ResultPart:
    """A part of an answer. `more` counts the rows that a table leaves out."""

    kind: PartKind
    text: str = ""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    more: int = 0


def list_parts(result: JSONObject | None) -> list[ResultPart]:
    """Return the parts of an answer as a call has stored it; each content only once."""
    if not result:
        return []
    parts: list[ResultPart] = []
    structured = result.get("structured")
    if structured not in (None, {}, []):
        parts.append(_part_of_value(structured))
    blocks = result.get("content")
    for block in blocks[:MOST_PARTS] if isinstance(blocks, list) else []:
        # A server repeats what is structured as a text, for clients that know nothing else.
        if isinstance(block, dict) and not _repeats(block, structured):
            parts.append(_part_of_block(block))
    return parts


def _part_of_block(block: dict[str, Any]) -> ResultPart:
    kind, text = block.get("type"), block.get("text")
    if kind == "text" and isinstance(text, str):
        return _part_of_text(text)
    if kind == "image":
        media, data = block.get("mimeType"), block.get("data")
        if media not in IMAGES or not isinstance(data, str):
            return ResultPart("other", str(media or "image")[:40])
        try:
            b64decode(data, validate=True)
        except (Error, ValueError):
            return ResultPart("other", str(media))
        return ResultPart("image", f"data:{media};base64,{data}")
    if kind == "resource_link":
        return ResultPart("text", str(block.get("uri", "")))
    inner = block.get("resource")
    if kind == "resource" and isinstance(inner, dict) and isinstance(inner.get("text"), str):
        return _part_of_text(inner["text"])
    return ResultPart("other", str(kind)[:40])


def _part_of_text(text: str) -> ResultPart:
    if text.lstrip()[:1] in ("{", "["):
        try:
            return _part_of_value(parse_json(text, max_depth=_DEEPEST, any_text=True))
        except StrictJSONError:
            pass
    return ResultPart("text", text)


def _part_of_value(value: Any) -> ResultPart:
    rows = _rows_of(value)
    if not rows:
        return ResultPart("json", json.dumps(value, ensure_ascii=False, indent=2))
    columns = list(dict.fromkeys(name for row in rows for name in row))
    if len(columns) > MOST_COLUMNS:
        return ResultPart("json", json.dumps(value, ensure_ascii=False, indent=2))
    cells = tuple(tuple(_cell(row.get(name)) for name in columns) for row in rows[:MOST_ROWS])
    return ResultPart("table", "", tuple(columns), cells, max(0, len(rows) - MOST_ROWS))


def _rows_of(value: Any) -> list[dict[str, Any]]:
    """Return the rows of a list of flat objects, alone or as the only field of an object."""
    if isinstance(value, dict) and len(value) == 1:
        [value] = value.values()
    if not isinstance(value, list) or not value:
        return []
    return value if all(map(_is_flat, value)) else []


def _is_flat(row: Any) -> bool:
    if not isinstance(row, dict) or not row:
        return False
    return not any(isinstance(value, dict | list) for value in row.values())


def _cell(value: Any) -> str:
    text = "" if value is None else value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= LONGEST_CELL else f"{text[: LONGEST_CELL - 1]}…"


def _repeats(block: dict[str, Any], structured: Any) -> bool:
    text = block.get("text")
    if structured in (None, {}, []) or block.get("type") != "text" or not isinstance(text, str):
        return False
    try:
        return bool(parse_json(text, max_depth=_DEEPEST, any_text=True) == structured)
    except StrictJSONError:
        return False


# The outcome of a call for pages: its description and the parts of its answer.


def outcome_of(call: Call) -> tuple[Execution, list[ResultPart]]:
    """Describe the call. A meta-tool is answered anew, and may find that a right is gone."""
    try:
        done = describe_call(call)
    except (ArgumentsRefusedError, NotFoundError) as refused:
        return Execution("failed", call.full_name, str(refused), str(call.pk)), []
    return done, list_parts(_as_result(done))


def _as_result(done: Execution) -> dict[str, object] | None:
    """Return the answer in the form of a server's. Meta-tools answer with any object."""
    result = done.result
    if result is None or "content" in result or "structured" in result:
        return result
    return {"structured": result}
