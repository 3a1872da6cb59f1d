"""A server's answer as stored: typed, and capped in size."""

from typing import Any

from acl.platform.strict_json import write_json
from catalog.formats.descriptors import JSONObject
from catalog.servers.client.mcp_session import Result

LEFT_OUT = "[Left out: the answer is larger than {:,} bytes.]"


def serialize_result(result: Result, *, most: int) -> str:
    """Serialize the answer in at most `most` bytes; what is cut or left out is marked as such."""
    whole = {"content": result.content, "structured": result.structured}
    stored: JSONObject = {**whole, "is_error": result.is_error, "truncated": False}
    text = _serialize(stored)
    if len(text) <= most:
        return text
    content, left = _cut(result.content, most)
    stored |= {"content": content, "structured": None, "truncated": True}
    if result.structured is not None and len(_serialize(result.structured)) <= left:
        stored["structured"] = result.structured
    return _serialize(stored)


def _cut(blocks: list[dict[str, Any]], most: int) -> tuple[list[dict[str, Any]], int]:
    """Keep the leading blocks that fit, cutting a text; also return the bytes left."""
    kept: list[dict[str, Any]] = []
    left = most - 200  # for the JSON around the blocks
    for block in blocks:
        size = len(_serialize(block))
        if size <= left:
            kept.append(block)
            left -= size
            continue
        note = LEFT_OUT.format(most)
        text = block.get("text")
        # JSON in ASCII escapes a character in at most six bytes.
        start = text[: max(0, left // 6 - len(note))] if isinstance(text, str) else ""
        kept.append({"type": "text", "text": f"{start}\n{note}".strip()})
        return kept, 0
    return kept, left


def _serialize(value: Any) -> str:
    # ASCII only: Postgres accepts it whatever characters a server sends.
    return write_json(value)
