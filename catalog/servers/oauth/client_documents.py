"""Reading documents by which MCP clients describe themselves, in the outgoing worker."""

import re
from datetime import timedelta

import httpx2
from celery import shared_task
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils.translation import gettext_noop

from acl.models import ClientDocument, RegisteredClient
from acl.oauth.client_registration import (
    OPEN,
    DocumentRefused,
    check_document_address,
    forget_unconnected_documents,
    read_metadata,
)
from acl.platform.jobs import GAVE_UP_MESSAGE, move, overdue, send_again
from acl.platform.strict_json import StrictJSONError, parse_json
from acl.platform.task_names import READ_CLIENT_DOCUMENT, SWEEP_CLIENT_DOCUMENTS
from catalog.servers.net.address_check import AllowedHosts, AnswerTooLargeError, OutgoingError
from catalog.servers.net.guarded_requests import Bounds, FetchedDocument, fetch

State = ClientDocument.State
MOST_BYTES = 5 * 1024  # what the draft recommends
SHORTEST, USUAL, LONGEST = timedelta(minutes=5), timedelta(hours=1), timedelta(days=1)
REFUSAL_KEPT = timedelta(seconds=15)  # until the person has seen it; then they may try again
_MOST_ATTEMPTS = 3
_DEEPEST = 4
_BOUNDS = Bounds(most_bytes=MOST_BYTES, seconds=10, redirects=0)
_ACCEPT = {"accept": "application/json"}
_JSON = re.compile(r"application/(?:[a-z0-9.-]{1,60}\+)?json")
_MAX_AGE = re.compile(r"(?:^|[,\s])max-age=(\d{1,9})(?![\w\"])")


@shared_task(name=READ_CLIENT_DOCUMENT)  # type: ignore[untyped-decorator]
def read_client_document(pk: int) -> None:
    """Read a waiting document; store its client, or why it is refused. Safe to run twice."""
    row = ClientDocument.objects.filter(pk=pk, state=State.WAITING).first()
    counted = {"attempts": F("attempts") + 1, "sent_at": Now()}
    if row is None or not move(row, State.READING, unchanged=("state", "attempts"), **counted):
        return
    row.attempts += 1
    if row.attempts > _MOST_ATTEMPTS:
        _refuse(row, GAVE_UP_MESSAGE)
        return
    try:
        document = _fetch(row.address)
        name, uris = read_metadata(row.address, _json_of(document))
    except DocumentRefused as refused:
        _refuse(row, str(refused))
    else:
        _store(row, name, uris, _lifetime(document.headers))


def _fetch(address: str) -> FetchedDocument:
    check_document_address(address)
    try:
        document = fetch(address, headers=_ACCEPT, bounds=_BOUNDS, allowed=AllowedHosts())
    except AnswerTooLargeError:
        raise DocumentRefused(gettext_noop("The document is larger than 5 kB.")) from None
    except OutgoingError:
        raise DocumentRefused(
            gettext_noop(
                "The address could not be read. It must answer at once, and publicly. If Pegboard "
                "has no access to the internet, an admin can turn such documents off."
            )
        ) from None
    if document.status != 200:
        raise DocumentRefused(gettext_noop("There is no document at the address."))
    return document


def _json_of(document: FetchedDocument) -> object:
    kind = document.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not _JSON.fullmatch(kind):
        raise DocumentRefused(gettext_noop("The document is not sent as JSON."))
    try:
        return parse_json(document.body, max_depth=_DEEPEST)
    except StrictJSONError:
        raise DocumentRefused(gettext_noop("The document is not valid JSON.")) from None


def _lifetime(headers: httpx2.Headers) -> timedelta:
    """Return how long a document is used without being read again, within our own limits."""
    cache_control = headers.get("cache-control", "").lower()
    if "no-store" in cache_control or "no-cache" in cache_control:
        return SHORTEST
    match = _MAX_AGE.search(cache_control)
    lifetime = timedelta(seconds=int(match[1])) if match else USUAL
    return min(max(lifetime, SHORTEST), LONGEST)


@transaction.atomic
def _store(row: ClientDocument, name: str, uris: list[str], lifetime: timedelta) -> None:
    """Store the client. Its connections stay; a redirect URI that is gone works no more."""
    defaults = {"name": name, "redirect_uris": uris}
    client, _ = RegisteredClient.objects.update_or_create(client_id=row.address, defaults=defaults)
    columns = {"client": client, "kept_until": Now() + lifetime, "problem": ""}
    move(row, State.READY, unchanged=("state", "attempts"), **columns)


def _refuse(row: ClientDocument, message: str) -> None:
    columns = {"problem": message[:300], "kept_until": Now() + REFUSAL_KEPT}
    move(row, State.FAILED, unchanged=("state", "attempts"), **columns)


@shared_task(name=SWEEP_CLIENT_DOCUMENTS)  # type: ignore[untyped-decorator]
def sweep_client_documents() -> None:
    """Send lost tasks again, and delete documents that nobody needs."""
    overdue_rows = ClientDocument.objects.filter(overdue(at_least=30), state__in=OPEN)
    send_again(READ_CLIENT_DOCUMENT, overdue_rows, state=State.WAITING)
    forget_unconnected_documents()
