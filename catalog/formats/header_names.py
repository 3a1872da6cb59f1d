"""Names of HTTP headers that something declared may set: one rule for all that declares them.

A request is framed, addressed and signed in by Pegboard. A header that says how long a request is,
where it goes, which method is meant or how the connection goes on would make another request of it:
`X-HTTP-Method-Override` turns a read into a delete. Names count as many servers read them: in any
case, and with `_` for `-`.
"""

import re
from enum import Enum

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
# How long the request is, how it is coded, and what the connection does next.
_FRAMING = frozenset(
    {
        *("content-length", "transfer-encoding", "content-encoding", "content-type"),
        *("connection", "keep-alive", "te", "trailer", "upgrade", "expect", "http2-settings"),
        *("accept", "accept-encoding"),
    }
)
# Where it goes: gateways believe these instead of the address.
_ADDRESS = frozenset(
    {
        *("host", "forwarded", "x-host", "x-original-url", "x-rewrite-url", "x-original-uri"),
        *("x-original-host", "x-original-method", "x-real-ip", "x-real-host"),
    }
)
_PREFIXES = ("proxy-", "x-forwarded-", "mcp-")
# `X-HTTP-Method-Override`, `X-Method-Override`, `X-HTTP-Method`, `_method` and what is like them.
_OTHER_METHOD = re.compile(
    r"(?:x-)?(?:http-)?(?:request-)?method(?:-override)?|.*method-?override.*"
)


class DeclaredBy(Enum):
    """Places that declare a header, with the names that each leaves to Pegboard."""

    ARGUMENT = frozenset({"authorization", "cookie", "user-agent", "last-event-id"})
    SIGN_IN = frozenset({"cookie", "last-event-id"})
    SERVER = frozenset({"last-event-id"})


def header_key(name: str) -> str:
    """Return the form in which servers compare the names of headers."""
    return name.lower().replace("_", "-")


def can_be_sent(name: str, place: DeclaredBy) -> bool:
    """Return True for a header that such a place may set."""
    if not _NAME.fullmatch(name):
        return False
    key = header_key(name)
    reserved = key in _FRAMING or key in _ADDRESS or key in place.value
    return not (reserved or key.startswith(_PREFIXES) or _OTHER_METHOD.fullmatch(key))


def reserved_names(place: DeclaredBy) -> tuple[str, ...]:
    """Return the names that such a place must not set, in order; patterns by their examples."""
    examples = ("X-HTTP-Method-Override", "X-Method-Override", "X-HTTP-Method")
    prefixed = (f"{prefix}name" for prefix in _PREFIXES)
    return tuple(sorted({*_FRAMING, *_ADDRESS, *place.value, *examples, *prefixed}))
