"""Remote servers as sources declare them: addresses and header templates, never with secrets."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from catalog.formats.descriptors import Transport
from catalog.formats.entry import Entry
from catalog.formats.header_names import DeclaredBy, can_be_sent
from catalog.formats.secret_redaction import (
    is_secret_name,
    normalize_placeholders,
    redact_text,
    redact_url,
    strip_placeholders,
)
from catalog.formats.text_cleanup import clean_name

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
        entry.report(keys[0], "contained a secret, which was left out: enter it as a secret")
    return redacted


def parse_transport(name: str, *, endpoint: str) -> Transport:
    """Map the formats' transport names to `stdio`, `http` or `sse`."""
    plain = name.lower().replace("_", "-")
    if plain == "sse":
        return "sse"
    if plain in ("http", "streamable-http", "streamablehttp") or endpoint:
        return "http"
    return "stdio"


class Header(NamedTuple):
    """A header as declared; with `needed`, a missing value becomes a placeholder."""

    name: str
    value: str
    secret: bool = False
    needed: bool = True


class HeaderTemplates(NamedTuple):
    """Header templates, and the names of their placeholders."""

    templates: dict[str, str]
    names: tuple[str, ...]


def build_header_templates(entry: Entry, headers: Iterable[Header]) -> HeaderTemplates:
    """Build templates of the headers that can be sent; report secrets and replace them."""
    templates: dict[str, str] = {}
    names: list[str] = []
    for header in headers:
        if not can_be_sent(header.name, DeclaredBy.SERVER):
            entry.report("headers", "has a header that cannot be set, which was left out")
            continue
        template, gaps = _build_template(entry, header)
        if template and len(template) <= entry.document.limits.argument:
            templates[header.name] = template
            names += gaps
    return HeaderTemplates(templates, tuple(dict.fromkeys(names)))


def _build_template(entry: Entry, header: Header) -> tuple[str, tuple[str, ...]]:
    text, gaps = normalize_placeholders(clean_name(header.value).text)
    placeholder = f"${{{header.name}}}"
    if not text:
        return (placeholder, (header.name,)) if header.needed else ("", ())
    plain = strip_placeholders(text)
    # Placeholders are allowed; a literal that looks like a secret is not.
    held = redact_text(plain) != plain
    if held or (not gaps and (header.secret or is_secret_name(header.name))):
        entry.report("headers", "contained a secret, which was left out: enter it as a secret")
        return placeholder, (header.name,)
    return text, gaps
