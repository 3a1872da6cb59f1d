"""A writer of PNG files: header, pixels, end. Nothing that came with a picture gets into one."""

import struct
import zlib

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
