"""Pictures for tests, as servers and strangers might send them."""

import struct
import zlib
from io import BytesIO
from typing import Any

from PIL import Image
from PIL.PngImagePlugin import PngInfo

RED, BLUE = (200, 30, 30, 255), (30, 30, 200, 255)


def picture(
    kind: str = "PNG",
    size: tuple[int, int] = (64, 64),
    colour: tuple[int, int, int, int] = RED,
    **options: Any,
) -> bytes:
    """Return a picture of one colour."""
    image = Image.new("RGBA", size, colour)
    written = BytesIO()
    (image.convert("RGB") if kind == "JPEG" else image).save(written, kind, **options)
    return written.getvalue()


def animation() -> bytes:
    """Return a GIF whose first frame is red, and whose hundred others are blue."""
    frames = [Image.new("RGB", (64, 64), BLUE[:3]) for _ in range(100)]
    written = BytesIO()
    first = Image.new("RGB", (64, 64), RED[:3])
    first.save(written, "GIF", save_all=True, append_images=frames)
    return written.getvalue()


def talkative() -> bytes:
    """Return a PNG with texts, EXIF, a colour profile, and a page of HTML behind its end."""
    texts = PngInfo()
    texts.add_text("Comment", "SECRET-TEXT <script>alert(1)</script>", zip=True)
    exif = Image.Exif()
    exif[0x010E] = "SECRET-EXIF"
    whole = picture(pnginfo=texts, exif=exif, icc_profile=b"SECRET-PROFILE" * 20)
    return whole + b"<html><script>alert('SECRET-TAIL')</script>"


def bomb(side: int = 60_000) -> bytes:
    """Return a PNG of a few kilobytes that says it has 3,600 million pixels."""
    head = struct.pack(">IIBBBBB", side, side, 8, 6, 0, 0, 0)
    rows = zlib.compress(bytes(10_000_000), 9)
    chunks = ((b"IHDR", head), (b"IDAT", rows), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, content) for kind, content in chunks)


def text_bomb() -> bytes:
    """Return a PNG with compressed texts that would fill 300 MB."""
    one = b"x\0\0" + zlib.compress(bytes(30_000_000), 9)
    whole = picture()
    return whole[:33] + _chunk(b"zTXt", one) * 10 + whole[33:]


def opened(png: bytes) -> Image.Image:
    """Return a stored picture, as an independent decoder reads it."""
    return Image.open(BytesIO(png), formats=("PNG",))


def _chunk(kind: bytes, content: bytes) -> bytes:
    checked = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checked)
