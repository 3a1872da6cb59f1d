"""Questions to the reader in a cell: what could keep a process busy runs in one that ends."""

from io import BytesIO
from typing import Any, Literal

from acl.platform import strict_json
from catalog.built_ins.base import ToolError
from catalog.formats.descriptors import JSONObject
from catalog.formats.files import RefusedError
from catalog.servers.client.reader_process import MB, ReaderBounds, read_apart

_BOUNDS = ReaderBounds(seconds=10, cpu_seconds=3, memory_bytes=512 * MB, answer_bytes=4 * MB)
_DEEPEST = 8


def ask_reader(what: Literal["pattern", "page"], document: bytes, **options: Any) -> JSONObject:
    """Return the reader's answer; ToolError beyond its limits or if it refuses."""
    answer = BytesIO()
    try:
        read_apart(document, options, what=what, bounds=_BOUNDS, into=answer)
        value = strict_json.parse_json(
            answer.getvalue().decode(), max_depth=_DEEPEST, any_text=True
        )
    except RefusedError as refused:
        raise ToolError(f"It {refused.reason}.") from None
    except ValueError:
        raise ToolError("It could not be read.") from None
    if not isinstance(value, dict) or "refused" in value:
        reason = value["refused"] if isinstance(value, dict) else "It could not be read."
        raise ToolError(str(reason)[:300])
    return value
