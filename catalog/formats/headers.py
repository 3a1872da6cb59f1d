"""Headers that a source lays out for its server: texts with gaps where secrets belong, and never a
secret itself."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from catalog.formats.entry import Entry
from catalog.formats.secret_redaction import is_secret_name, redact_text, with_gaps, without_gaps
from catalog.formats.text_cleanup import clean_name

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,119}")
# These say how a request is sent, and are nobody's to set.
_OURS = frozenset(
    {
        *("host", "connection", "keep-alive", "upgrade", "te", "trailer", "expect"),
        *("content-length", "content-type", "content-encoding", "transfer-encoding"),
        *("accept", "accept-encoding", "mcp-protocol-version", "mcp-session-id"),
    }
)


class Header(NamedTuple):
    """A header as a format declares it; `needed` asks for its value where the source has none."""

    name: str
    value: str
    secret: bool = False
    needed: bool = True


class LaidOut(NamedTuple):
    """Texts by header, and the names of the values that fill their gaps."""

    templates: dict[str, str]
    names: tuple[str, ...]


def lay_out(entry: Entry, headers: Iterable[Header]) -> LaidOut:
    """The headers that can be sent. A value that is a secret becomes a gap, which is reported."""
    templates: dict[str, str] = {}
    names: list[str] = []
    for header in headers:
        if not _NAME.fullmatch(header.name) or header.name.lower() in _OURS:
            entry.report("headers", "has one that cannot be set, which was left out")
            continue
        template, gaps = _template(entry, header)
        if template and len(template) <= entry.document.limits.argument:
            templates[header.name] = template
            names += gaps
    return LaidOut(templates, tuple(dict.fromkeys(names)))


def _template(entry: Entry, header: Header) -> tuple[str, tuple[str, ...]]:
    text, gaps = with_gaps(clean_name(header.value).text)
    own = f"${{{header.name}}}"
    if not text:
        return (own, (header.name,)) if header.needed else ("", ())
    plain = without_gaps(text)
    held = redact_text(plain) != plain
    if held or (not gaps and (header.secret or is_secret_name(header.name))):
        entry.report("headers", "held a secret, which was left out: give it as a secret")
        return own, (header.name,)
    return text, gaps
