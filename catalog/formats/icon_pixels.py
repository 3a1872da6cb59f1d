"""Pixels of a stranger's picture, drawn anew in one size. Runs in a cell only, as it needs Pillow.

What leaves is SIDE times SIDE pixels of four bytes and nothing else: no metadata, no colour
profile, no frame but the first, nothing of the file.
"""

import warnings
from io import BytesIO

from catalog.formats.files import RefusedError
from catalog.formats.icon_choice import SIDE

PIXEL_BYTES = SIDE * SIDE * 4
# Each has a decoder that is widely used. Vector graphics need a renderer, and are not among them.
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "ICO")
MOST_PIXELS = 4_000_000
_TOO_MANY = f"has more than {MOST_PIXELS:,} pixels"
_LEAST_SIDE = 8
_LONGEST_RATIO = 4


def draw_pixels(content: bytes) -> bytes:
    """Return the picture's pixels as RGBA, fitted into the square. RefusedError says why not."""
    # Only now: whoever reads another document needs no Pillow.
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = MOST_PIXELS
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of what Pillow only warns about: bombs, broken files
            with Image.open(BytesIO(content), formats=FORMATS) as picture:
                _check_size(*picture.size)
                drawn = picture.convert("RGBA")
            _check_size(*drawn.size)  # the frame of an ICO may be larger than it says
            square = Image.new("RGBA", (SIDE, SIDE), (0, 0, 0, 0))
            drawn = drawn.resize(_fitted(*drawn.size), Image.Resampling.LANCZOS)
            square.paste(drawn, ((SIDE - drawn.width) // 2, (SIDE - drawn.height) // 2))
    except RefusedError:
        raise
    except (Image.DecompressionBombWarning, Image.DecompressionBombError):
        raise RefusedError(_TOO_MANY) from None
    except (MemoryError, RecursionError):
        raise RefusedError("needs too much memory to draw") from None
    except Exception:
        # Decoders of strangers' files raise all kinds of errors, and what they say is a stranger's.
        raise RefusedError("is not a picture that can be drawn") from None
    if not square.getchannel("A").getbbox():
        raise RefusedError("shows nothing")
    return square.tobytes()


def _check_size(width: int, height: int) -> None:
    if width * height > MOST_PIXELS:
        raise RefusedError(_TOO_MANY)
    if min(width, height) < _LEAST_SIDE:
        raise RefusedError(f"is smaller than {_LEAST_SIDE} pixels")
    if max(width, height) > min(width, height) * _LONGEST_RATIO:
        raise RefusedError("is too long for an icon")


def _fitted(width: int, height: int) -> tuple[int, int]:
    """Return the largest size within the square that keeps the sides' ratio."""
    longer = max(width, height)
    return max(1, width * SIDE // longer), max(1, height * SIDE // longer)
