"""Client-id metadata documents: a client's id is the address at which it describes itself.

Here are the rows and what a document must say; the outgoing worker fetches it. Only what a
signed-in person needs is fetched. Proven is no more than that the host of the address offers it.
Standards: draft-ietf-oauth-client-id-metadata-document, and MCP's authorization of 2025-11-25.
"""

from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext_noop

from acl.models import ClientDocument, RegisteredClient
from acl.oauth._registration import (
    LONGEST_URI,
    MOST_URIS,
    RegistrationRefused,
    check_redirect_uri,
    checked_name,
    is_plain,
)
from acl.platform.clock import database_now
from acl.platform.jobs.rows import move
from acl.platform.jobs.task_names import READ_CLIENT_DOCUMENT, send_on_commit

State = ClientDocument.State
OPEN = (State.WAITING, State.READING)
LATE = timedelta(seconds=20)
MOST_UNCONNECTED = 1_000
UNCONNECTED_LIFETIME = timedelta(days=1)
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
