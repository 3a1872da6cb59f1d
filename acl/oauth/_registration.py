"""Dynamic registration of clients (RFC 7591): anyone may register, so it is bounded.

A registered client can do nothing until a person connects it, and is forgotten after a day
without one.
"""

import re
import secrets
from collections.abc import Sequence
from datetime import timedelta
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models.functions import Now

from acl.models import RegisteredClient
from acl.visible_text.pieces import check_plain_name

MOST_URIS, LONGEST_URI, LONGEST_NAME = 10, 500, 80
MOST_UNCONNECTED = 1_000
UNCONNECTED_LIFETIME = timedelta(days=1)
_ID_BYTES = 24
_REWRITTEN = frozenset(" \\\"'<>^`{|}*")  # by browsers, or read as a wildcard
# Labels or an IPv6 address, and a port: an origin is written into the policy of the consent page.
_NETLOC = re.compile(
    r"(?:[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63})*\.?|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?"
)


class RegistrationRefused(Exception):
    """A refused registration: `code` is an error of RFC 7591."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


@transaction.atomic
def register_client(*, name: str, redirect_uris: Sequence[str]) -> RegisteredClient:
    """Register a public client. Raises RegistrationRefused."""
    if not 0 < len(redirect_uris) <= MOST_URIS:
        raise RegistrationRefused("invalid_redirect_uri", f"Name one to {MOST_URIS} redirect_uris.")
    for uri in redirect_uris:
        check_redirect_uri(uri)
    # Forget clients that nobody connected; refuse more where many still wait.
    unconnected = RegisteredClient.objects.filter(connections=None, document=None)
    unconnected.filter(created_at__lt=Now() - UNCONNECTED_LIFETIME).delete()
    if unconnected.count() >= MOST_UNCONNECTED:
        raise RegistrationRefused("temporarily_unavailable", "Too many clients wait. Try later.")
    return RegisteredClient.objects.create(
        client_id=secrets.token_urlsafe(_ID_BYTES),
        name=checked_name(name or host_of(redirect_uris[0])),
        redirect_uris=list(dict.fromkeys(redirect_uris)),
    )


def check_redirect_uri(uri: str) -> None:
    """Raise RegistrationRefused unless the code would go to an HTTPS page or to the own machine."""
    if len(uri) > LONGEST_URI or not is_plain(uri) or not _is_safe(uri):
        raise RegistrationRefused(
            "invalid_redirect_uri",
            "A redirect URI must be https, or http on localhost, without user and fragment.",
        )


def is_registered(client: RegisteredClient, uri: str) -> bool:
    """Return True for a registered URI; on the own machine the port may differ (RFC 8252)."""
    requested = _split(uri)
    if requested is None or not is_plain(uri):
        return False
    if uri in client.redirect_uris:
        return True
    if not _is_loopback(requested):
        return False
    return any(
        _without_port(requested) == _without_port(registered_parts)
        for registered in client.redirect_uris
        if (registered_parts := _split(registered)) is not None and _is_loopback(registered_parts)
    )


def host_of(uri: str) -> str:
    """Return the host of a redirect URI, for people to read."""
    return urlsplit(uri).hostname or ""


def origin_to_allow(uri: str) -> str:
    """Return the origin of a redirect URI for a page's policy. Raises ValueError for none."""
    parts = _split(uri)
    if parts is None or parts.scheme not in ("https", "http"):
        raise ValueError(uri)
    return f"{parts.scheme}://{parts.netloc}"


def is_own_machine(uri: str) -> bool:
    """Return True if the code stays on the person's machine."""
    parts = _split(uri)
    return parts is not None and _is_loopback(parts)


def is_plain(uri: str) -> bool:
    """Return True if the URI has printable ASCII only, and nothing that browsers rewrite."""
    return uri.isascii() and uri.isprintable() and not set(uri) & _REWRITTEN


def _is_safe(uri: str) -> bool:
    parts = _split(uri)
    if parts is None or "#" in uri or "@" in parts.netloc or not parts.hostname:
        return False
    return parts.scheme == "https" or _is_loopback(parts)


def _is_loopback(parts: SplitResult) -> bool:
    if parts.scheme != "http" or "@" in parts.netloc:
        return False
    if parts.hostname == "localhost":
        return True
    try:
        return ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False


def _split(uri: str) -> SplitResult | None:
    """Return the parts, or None where the host or the port is none."""
    try:
        parts = urlsplit(uri)
        has_port = parts.port != 0
    except ValueError:
        return None
    return parts if has_port and _NETLOC.fullmatch(parts.netloc) else None


def _without_port(parts: SplitResult) -> tuple[str | None, str, str]:
    return parts.hostname, parts.path, parts.query


def checked_name(name: str) -> str:
    """Return the name in one line. Raises RegistrationRefused for one that imitates another."""
    plain = " ".join(name.split())[:LONGEST_NAME]
    try:
        check_plain_name(plain)
    except ValidationError as problem:
        raise RegistrationRefused(
            "invalid_client_metadata", "client_name has hidden or imitating characters."
        ) from problem
    return plain
