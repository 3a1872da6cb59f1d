"""Strangers' pictures, decoded apart: what comes back is so many pixels, or it is nothing.

Pillow runs in the reader's cell only (`catalog/servers/client/reader_process.py`). Here the pixels
are counted and written as a PNG of our own.
"""

import struct
import zlib
from io import BytesIO

from acl.platform import strict_json
from catalog.formats.files import RefusedError
from catalog.formats.icon_choice import SIDE
from catalog.formats.icon_pixels import PIXEL_BYTES
from catalog.formats.read_limits import DEFAULT_LIMITS
from catalog.servers.client.reader_process import MB, ReaderBounds, read_apart
from catalog.servers.client.server_problems import ServerProblemError

# A writer of PNG files: header, pixels, end. Nothing that came with a picture gets into one.

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_RGBA = 6


def write_png(pixels: bytes, *, side: int) -> bytes:
    """Return a square PNG of these RGBA pixels. ValueError if they are not that many."""
    row = side * 4
    if len(pixels) != row * side:
        raise ValueError("these are not the pixels of such a square")
    # Each line begins with its filter: "up", by which flat areas become zeros.
    lines = [pixels[at : at + row] for at in range(0, len(pixels), row)]
    filtered = b"".join(
        b"\x02" + bytes((now - above) & 0xFF for now, above in zip(line, before, strict=True))
        for line, before in zip(lines, [bytes(row), *lines[:-1]], strict=True)
    )
    header = struct.pack(">IIBBBBB", side, side, 8, _RGBA, 0, 0, 0)
    return b"".join(
        (
            _SIGNATURE,
            _chunk(b"IHDR", header),
            _chunk(b"IDAT", zlib.compress(filtered, 9)),
            _chunk(b"IEND", b""),
        )
    )


def _chunk(kind: bytes, content: bytes) -> bytes:
    checked = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checked)


_LONGEST_LINE = 1_000
_BOUNDS = ReaderBounds(
    seconds=30,
    cpu_seconds=10,
    memory_bytes=512 * MB,
    answer_bytes=PIXEL_BYTES + _LONGEST_LINE,
)
_ODD = "cannot be drawn: its reader gave an answer that is none"


def draw_picture(content: bytes, *, bounds: ReaderBounds = _BOUNDS) -> bytes:
    """Return the picture as a PNG of SIDE pixels. RefusedError says why it is not drawn."""
    answer = BytesIO()
    try:
        read_apart(content, {}, what="picture", bounds=bounds, into=answer)
    except ServerProblemError as problem:
        raise RefusedError(f"is not drawn: {problem.detail}") from None
    head, _, pixels = answer.getvalue().partition(b"\n")
    _check_head(head)
    try:
        return write_png(pixels, side=SIDE)
    except ValueError:
        raise RefusedError(_ODD) from None


def _check_head(head: bytes) -> None:
    try:
        line = strict_json.parse_json(head.decode(), max_depth=2, any_text=True)
        reason = str(line.get("refused") or "")
        drawn = line.get("drawn") is True
    except (AttributeError, ValueError):
        raise RefusedError(_ODD) from None
    if reason or not drawn:
        raise RefusedError(reason[: DEFAULT_LIMITS.reason] or _ODD)
