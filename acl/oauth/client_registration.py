"""Clients that register themselves: by RFC 7591, or by the document at their id's address."""

import re
import secrets
from collections.abc import Sequence
from datetime import timedelta
from ipaddress import ip_address
from typing import Any
from urllib.parse import SplitResult, urlsplit

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext_noop

from acl.models import ClientDocument, RegisteredClient
from acl.platform.database_work import database_now
from acl.platform.jobs import move
from acl.platform.task_names import READ_CLIENT_DOCUMENT, send_on_commit
from acl.visible_text.pieces import check_plain_name

# Dynamic registration of clients (RFC 7591): anyone may register, so it is bounded.
#
# A registered client can do nothing until a person connects it, and is forgotten after a day
# without one.

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


# Client-id metadata documents: a client's id is the address at which it describes itself.
#
# Here are the rows and what a document must say; the outgoing worker fetches it. Only what a
# signed-in person needs is fetched. Proven is no more than that the host of the address offers it.
# Standards: draft-ietf-oauth-client-id-metadata-document, and MCP's authorization of 2025-11-25.

State = ClientDocument.State
OPEN = (State.WAITING, State.READING)
LATE = timedelta(seconds=20)
_SECRETS = ("client_secret", "client_secret_expires_at")


class DocumentRefused(Exception):
    """A refused document: the message names what is wrong with it."""


def is_document_address(client_id: str) -> bool:
    """Return True if a client id is meant as an address. Others are made at registration."""
    return "://" in client_id


def check_document_address(address: str) -> None:
    """Raise DocumentRefused unless the draft allows the address as a client id."""
    try:
        parts = urlsplit(address)
        is_whole = bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_whole = False
    if (
        not is_whole
        or not address.startswith("https://")
        or len(address) > LONGEST_URI
        or not is_plain(address)
        or "#" in address
        or "@" in parts.netloc
        or parts.path in ("", "/")
        or {".", ".."} & set(parts.path.split("/"))
    ):
        raise DocumentRefused(
            gettext_noop("The client's id is not a valid https address of a document.")
        )


def find_document(address: str) -> ClientDocument | None:
    """Return a document that is fresh, is being read, or was refused just now."""
    usable = Q(state__in=OPEN) | Q(kept_until__gt=Now())
    return ClientDocument.objects.filter(usable, address=address).select_related("client").first()


@transaction.atomic
def ask_for_document(address: str) -> ClientDocument:
    """Have a document read by the worker, unless somebody else has just asked for it."""
    forget_unconnected_documents()
    row, is_new = ClientDocument.objects.get_or_create(address=address)
    now = database_now()
    unchanged = ("state", "asked_at")
    columns = {"asked_at": now, "sent_at": now, "attempts": 0, "problem": ""}
    if is_new or move(row, State.WAITING, unchanged=unchanged, **columns):
        send_on_commit(READ_CLIENT_DOCUMENT, row.pk)
    row.refresh_from_db()
    return row


def is_late(document: ClientDocument) -> bool:
    """Return True if the worker should have read the document by now."""
    return document.state in OPEN and database_now() - document.asked_at > LATE


def forget_unconnected_documents() -> None:
    """Delete documents that nobody needed for a day, and the oldest of too many."""
    unconnected = ClientDocument.objects.filter(client__connections=None)
    old = unconnected.filter(asked_at__lt=Now() - UNCONNECTED_LIFETIME)
    newest_first = unconnected.order_by("-asked_at", "-pk")
    outdated = [*_keys(old), *_keys(newest_first)[MOST_UNCONNECTED:]]
    RegisteredClient.objects.filter(document__in=outdated).delete()
    ClientDocument.objects.filter(pk__in=outdated, client=None).delete()


def _keys(rows: QuerySet[ClientDocument]) -> list[int]:
    return list(rows.values_list("pk", flat=True))


def read_metadata(address: str, metadata: Any) -> tuple[str, list[str]]:
    """Return name and redirect URIs of a document. Raises DocumentRefused.

    Unknown members are ignored; addresses of logos and pages are neither fetched nor shown.
    """
    if not isinstance(metadata, dict):
        raise DocumentRefused(gettext_noop("The document is not a JSON object."))
    if metadata.get("client_id") != address:
        raise DocumentRefused(gettext_noop("The document's client_id is not its own address."))
    if (
        any(name in metadata for name in _SECRETS)
        or metadata.get("token_endpoint_auth_method", "none") != "none"
    ):
        raise DocumentRefused(
            gettext_noop("The document describes a client with a secret or key of its own.")
        )
    _check_grants(metadata)
    return _name_of(metadata), _redirects_of(metadata.get("redirect_uris"))


def _check_grants(metadata: dict[str, Any]) -> None:
    for name, needed in (("grant_types", "authorization_code"), ("response_types", "code")):
        stated = metadata.get(name, [needed])
        if not isinstance(stated, list) or needed not in stated:
            raise DocumentRefused(
                gettext_noop("The document's client does not use authorization codes.")
            )


def _name_of(metadata: dict[str, Any]) -> str:
    name = metadata.get("client_name")
    if not isinstance(name, str) or not name.strip():
        raise DocumentRefused(gettext_noop("The document has no client_name."))
    try:
        return checked_name(name)
    except RegistrationRefused as refused:
        raise DocumentRefused(
            gettext_noop("The document's client_name has hidden or imitating characters.")
        ) from refused


def _redirects_of(uris: Any) -> list[str]:
    """Return the redirect URIs to which a code may go.

    A document is for all servers, and may name schemes of apps beside them: nobody is sent there.
    """
    if not isinstance(uris, list) or len(uris) > MOST_URIS:
        raise DocumentRefused(gettext_noop("The document has no list of at most 10 redirect_uris."))
    allowed = [uri for uri in uris if isinstance(uri, str) and _may_redirect(uri)]
    if not allowed:
        raise DocumentRefused(
            gettext_noop("The document has no redirect URI with https or on the own machine.")
        )
    return list(dict.fromkeys(allowed))


def _may_redirect(uri: str) -> bool:
    try:
        check_redirect_uri(uri)
    except RegistrationRefused:
        return False
    return True
