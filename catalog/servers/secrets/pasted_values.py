"""Secrets as people paste them: without blanks, line ends, and what the request says already.

`Bearer abc`, `X-Key: abc` and a file read whole mean the key in them. What is sent in a header and
cannot be in one is refused when it is set, not blamed on the server later.
"""

import re
from collections.abc import Iterator

from django.utils.translation import gettext as _

from catalog.formats.header_names import DeclaredBy, can_be_sent
from catalog.models import Integration

_SENDABLE = re.compile(r"[\x20-\x7e\x80-\xff]*")
_SCHEME = re.compile(r"(?:Bearer|Basic|Token)\s+", re.IGNORECASE)
_AUTHORIZATION = "Authorization"


class UnsendableValueError(Exception):
    """The value cannot be part of a header. The message says why."""


def as_pasted(integration: Integration, name: str, value: str) -> str:
    """Return the secret that was pasted, as the request has it. Raises UnsendableValueError."""
    value = value.strip()
    value = _without(value, "=", name, f"export {name}")
    for header, before in header_places(integration, name):
        value = _without(value, ":", header)
        is_account = header.lower() == _AUTHORIZATION.lower()
        if is_account:
            value = _without(value, ":", _AUTHORIZATION)
        if before.strip() and (scheme := _SCHEME.match(value)):
            value = value[scheme.end() :]
        elif is_account and not before and value and integration.transport in ("http", "sse"):
            # MCP signs in with bearer tokens, so a word alone is one.
            value = value if re.search(r"\s", value) else f"Bearer {value}"
        if not _SENDABLE.fullmatch(value):
            raise UnsendableValueError(
                _("It is sent in a header, which cannot have line breaks or these characters.")
            )
    return value


def header_places(integration: Integration, name: str) -> Iterator[tuple[str, str]]:
    """Yield each header that has the secret, with the text before it."""
    if integration.transport == "stdio":
        return
    security = integration.source_ref.get("security")
    for scheme in security.values() if isinstance(security, dict) else ():
        if name in scheme.get("secrets", ()) and scheme["as"] in ("bearer", "header"):
            is_bearer = scheme["as"] == "bearer"
            yield (_AUTHORIZATION, "Bearer ") if is_bearer else (str(scheme["name"]), "")
    headers = integration.source_ref.get("headers")
    if isinstance(headers, dict):
        for header, template in headers.items():
            before, gap, _rest = str(template).partition(f"${{{name}}}")
            if gap:
                yield str(header), before
    elif integration.transport in ("http", "sse") and f"${{{name}}}" not in integration.endpoint:
        is_header = "-" in name or name.lower() == _AUTHORIZATION.lower()
        if is_header and can_be_sent(name, DeclaredBy.SERVER):
            yield name, ""
        elif integration.required_secrets in ([], [name]):
            yield _AUTHORIZATION, "Bearer "


def _without(value: str, sign: str, *names: str) -> str:
    """Return what follows one of the names and the sign, where the value begins with them."""
    before, found_sign, after = value.partition(sign)
    words = " ".join(before.split()).lower()
    is_named = found_sign and words in {name.lower() for name in names}
    return after.strip() if is_named and after.strip() else value
