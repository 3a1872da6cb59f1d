"""What a server answered, as a row keeps it: typed as it came, and capped."""

from typing import Any

from acl.platform.strict_json import write_json
from catalog.formats.descriptors import JSONObject
from catalog.servers.client.mcp_session import Result

LEFT_OUT = "[Left out: the answer is larger than {:,} bytes.]"


def written_result(result: Result, *, most: int) -> str:
    """The answer as text of so many bytes at the most; what does not fit is cut or left out, and
    the answer says so."""
    whole = {"content": result.content, "structured": result.structured}
    told: JSONObject = {**whole, "is_error": result.is_error, "truncated": False}
    text = _dumped(told)
    if len(text) <= most:
        return text
    content, left = _cut(result.content, most)
    told |= {"content": content, "structured": None, "truncated": True}
    if result.structured is not None and len(_dumped(result.structured)) <= left:
        told["structured"] = result.structured
    return _dumped(told)


def _cut(blocks: list[dict[str, Any]], most: int) -> tuple[list[dict[str, Any]], int]:
    """The first blocks that fit, a text to its first part; and how much room is left."""
    kept: list[dict[str, Any]] = []
    left = most - 200  # for what is around them
    for block in blocks:
        size = len(_dumped(block))
        if size <= left:
            kept.append(block)
            left -= size
            continue
        note = LEFT_OUT.format(most)
        text = block.get("text")
        # A character is six bytes at the most as it is written here.
        start = text[: max(0, left // 6 - len(note))] if isinstance(text, str) else ""
        kept.append({"type": "text", "text": f"{start}\n{note}".strip()})
        return kept, 0
    return kept, left


def _dumped(value: Any) -> str:
    # ASCII only: whatever characters a server sends, Postgres takes them.
    return write_json(value)
