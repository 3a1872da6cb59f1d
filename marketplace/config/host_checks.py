"""Parsing hosts with optional ports in settings."""

from collections.abc import Iterable
from urllib.parse import urlsplit


def hosts_with_ports(texts: Iterable[str]) -> tuple[tuple[str, int | None], ...]:
    """Split `mcp.internal`, `10.0.0.5:8080` or `[::1]:8080`; port None means any port."""
    return tuple(_split(text) for text in texts)


def no_hosts(text: str) -> str:
    """Return "" if `text` lists hosts or host:port, else an error message."""
    try:
        pairs = hosts_with_ports(part.strip() for part in text.split(",") if part.strip())
    except ValueError:
        pairs = (("", None),)
    if all(host and not set(host) & set("/@*?# ") for host, _ in pairs):
        return ""
    return "must be like mcp.internal, 10.0.0.5:8080, [::1]:8080"


def _split(text: str) -> tuple[str, int | None]:
    if any(sign in text for sign in "/@?#"):
        raise ValueError(text)
    parts = urlsplit(f"//{text}")
    return parts.hostname or "", parts.port
