"""Addresses that a source names: only http and https are kept, and no secret inside them."""

import re

from catalog.formats.descriptors import Transport
from catalog.formats.entry import Entry
from catalog.formats.secret_redaction import redact_url

_WEB_ADDRESS = re.compile(r"https?://[^\s/?#][^\s\\]*", re.IGNORECASE)


def web_address(entry: Entry, *keys: str) -> str:
    """The address under the first of the keys, or an empty text; what cannot be used is
    reported."""
    address = entry.name(*keys, limit=entry.document.limits.address)
    if not address:
        return ""
    try:
        if not _WEB_ADDRESS.fullmatch(address):
            raise ValueError(address)
        # What stands in for a short secret may be longer than it.
        redacted = redact_url(address)[: entry.document.limits.address]
    except ValueError:
        entry.report(keys[0], "must be an address that begins with https:// or http://")
        return ""
    if redacted.count("redacted") > address.count("redacted"):
        entry.report(keys[0], "held a secret, which was left out: give it as a secret")
    return redacted


def transport_of(name: str, *, endpoint: str) -> Transport:
    """`stdio`, `http` or `sse` from what the formats call them."""
    plain = name.lower().replace("_", "-")
    if plain == "sse":
        return "sse"
    if plain in ("http", "streamable-http", "streamablehttp") or endpoint:
        return "http"
    return "stdio"
