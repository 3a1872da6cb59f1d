"""Texts of other machines, in the charset that their content type names."""

import codecs
import re

_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE)


def charset_of(content_type: str) -> str:
    """Return the charset that a content type names, if Python has it; else UTF-8."""
    match = _CHARSET.search(content_type)
    try:
        return codecs.lookup(match.group(1)).name if match else "utf-8"
    except LookupError:
        return "utf-8"


def decode_text(body: bytes, content_type: str) -> str:
    """Return a body as text, in the charset that its type names."""
    charset = charset_of(content_type)
    try:
        return body.decode("utf-8-sig" if charset == "utf-8" else charset, errors="replace")
    except (UnicodeError, LookupError):  # a codec that is no charset, such as `zlib`
        return body.decode(errors="replace")
