"""Choice of one icon among those that a server or a source declares.

An icon is declared as in MCP and the registry's server.json: `src`, `mimeType`, `sizes`, `theme`.
Vector graphics are left out (docs/adr/outgoing-requests-and-icons.md): Pegboard draws pixels only.
"""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from catalog.formats.files import DEFAULT_LIMITS
from catalog.formats.secret_redaction import redact_url

SIDE = 64  # pixels of a stored icon's side
LONGEST_DATA = 64 * 1024  # characters of a data: address
_MOST = 20
_SIZE = re.compile(r"(\d{1,5})x(\d{1,5})", re.IGNORECASE)
_DATA = re.compile(r"data:image/[\w.+-]{1,40};base64,[A-Za-z0-9+/=%\s]+", re.ASCII)
_WEB = ("https://", "http://")


def choose_icon(declared: Any, *, data_too: bool = False) -> str:
    """Return the address of the icon that fits best, or "" if none can be drawn.

    `data_too` allows data: addresses, which hold the picture itself.
    """
    icons = declared if isinstance(declared, list) else [declared]
    usable = [
        (_rank(icon), address)
        for icon in icons[:_MOST]
        if isinstance(icon, Mapping) and (address := _address(icon, data_too=data_too))
    ]
    return min(usable, key=lambda pair: pair[0])[1] if usable else ""


def icon_address(text: Any) -> str:
    """Return a declared web address without secrets, or "" if it is none or of a vector graphic."""
    if not isinstance(text, str) or len(text) > DEFAULT_LIMITS.address:
        return ""
    text = text.strip()
    try:
        if not text.lower().startswith(_WEB) or _is_vector("", urlsplit(text).path):
            return ""
        return redact_url(text)[: DEFAULT_LIMITS.address]
    except ValueError:
        return ""


def _address(icon: Mapping[str, Any], *, data_too: bool) -> str:
    source, kind = icon.get("src"), str(icon.get("mimeType") or "")
    if not isinstance(source, str) or _is_vector(kind, ""):
        return ""
    if not source.startswith("data:"):
        return icon_address(source)
    fits = data_too and len(source) <= LONGEST_DATA and _DATA.fullmatch(source)
    return source if fits and not source.startswith("data:image/svg") else ""


def _is_vector(kind: str, path: str) -> bool:
    return kind.lower().startswith("image/svg") or path.lower().endswith((".svg", ".svgz"))


def _rank(icon: Mapping[str, Any]) -> tuple[bool, bool, int]:
    """Prefer icons for light grounds, then the smallest that is large enough, then the largest."""
    # The declared side that fits best, or 0 where none is declared.
    sizes = icon.get("sizes")
    listed = sizes if isinstance(sizes, list) else [sizes]
    sides = [
        min(int(match[1]), int(match[2]))
        for size in listed[:_MOST]
        if isinstance(size, str) and (match := _SIZE.fullmatch(size.strip()))
    ]
    enough = [side for side in sides if side >= SIDE]
    side = min(enough) if enough else max(sides, default=0)
    too_small = 0 < side < SIDE
    return str(icon.get("theme") or "") == "dark", too_small, -side if too_small else side
