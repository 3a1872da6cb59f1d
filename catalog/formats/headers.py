"""HTTP headers that a source declares: templates with placeholders for secrets, never a secret."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from catalog.formats.entry import Entry
from catalog.formats.secret_redaction import (
    is_secret_name,
    normalize_placeholders,
    redact_text,
    strip_placeholders,
)
from catalog.formats.text_cleanup import clean_name

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,119}")
# The HTTP client and the MCP protocol set these; a source must not.
_RESERVED_HEADERS = frozenset(
    {
        *("host", "connection", "keep-alive", "upgrade", "te", "trailer", "expect"),
        *("content-length", "content-type", "content-encoding", "transfer-encoding"),
        *("accept", "accept-encoding", "mcp-protocol-version", "mcp-session-id"),
    }
)


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
        if not _NAME.fullmatch(header.name) or header.name.lower() in _RESERVED_HEADERS:
            entry.report("headers", "has one that cannot be set, which was left out")
            continue
        template, gaps = _template(entry, header)
        if template and len(template) <= entry.document.limits.argument:
            templates[header.name] = template
            names += gaps
    return HeaderTemplates(templates, tuple(dict.fromkeys(names)))


def _template(entry: Entry, header: Header) -> tuple[str, tuple[str, ...]]:
    text, gaps = normalize_placeholders(clean_name(header.value).text)
    own = f"${{{header.name}}}"
    if not text:
        return (own, (header.name,)) if header.needed else ("", ())
    plain = strip_placeholders(text)
    # Placeholders are allowed; a literal that looks like a secret is not.
    held = redact_text(plain) != plain
    if held or (not gaps and (header.secret or is_secret_name(header.name))):
        entry.report("headers", "held a secret, which was left out: give it as a secret")
        return own, (header.name,)
    return text, gaps
