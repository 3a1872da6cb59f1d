"""Web addresses in sources: only http and https, without secrets."""

import re

from catalog.formats.descriptors import Transport
from catalog.formats.entry import Entry
from catalog.formats.secret_redaction import redact_url

_WEB_ADDRESS = re.compile(r"https?://[^\s/?#][^\s\\]*", re.IGNORECASE)


def read_web_address(entry: Entry, *keys: str) -> str:
    """Return the address under the first key present, or ""; report unusable ones."""
    address = entry.name(*keys, limit=entry.document.limits.address)
    if not address:
        return ""
    try:
        if not _WEB_ADDRESS.fullmatch(address):
            raise ValueError(address)
        # The replacement may be longer than the secret it replaces.
        redacted = redact_url(address)[: entry.document.limits.address]
    except ValueError:
        entry.report(keys[0], "must be an address that begins with https:// or http://")
        return ""
    if redacted.count("redacted") > address.count("redacted"):
        entry.report(keys[0], "held a secret, which was left out: give it as a secret")
    return redacted


def parse_transport(name: str, *, endpoint: str) -> Transport:
    """Map the formats' transport names to `stdio`, `http` or `sse`."""
    plain = name.lower().replace("_", "-")
    if plain == "sse":
        return "sse"
    if plain in ("http", "streamable-http", "streamablehttp") or endpoint:
        return "http"
    return "stdio"
