"""The worker's look at what was pasted: a document is read, an address is asked what it is."""

import hashlib
from dataclasses import replace
from datetime import timedelta
from time import monotonic
from urllib.parse import urlsplit

from celery import shared_task
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext_noop

from acl.platform.jobs import GAVE_UP, GAVE_UP_MESSAGE, lock_unless_taken, overdue, send_again
from acl.platform.task_names import LOOK_AT_ADDITION, SWEEP_ADDITIONS
from acl.visible_text.pieces import check_plain_name
from catalog.formats.archive_members import MB, ArchiveFile
from catalog.formats.descriptors import IntegrationDescriptor
from catalog.formats.files import RefusedError, decode, parse_json
from catalog.formats.mcpb import (
    BUNDLE_BYTES,
    BUNDLE_LIMITS,
    MANIFEST,
    is_bundle_address,
    read_bundle,
)
from catalog.formats.names import RESERVED, display_name_for, slug_for
from catalog.formats.openapi.api_document import LIMITS, looks_like_document
from catalog.formats.readers.openapi import ReadApi
from catalog.formats.readers.tools_list import normalize_tools
from catalog.models import ApiDocument, Integration
from catalog.servers.client.document_readers import (
    fetch_parts,
    join_archive,
    read_api_text,
    read_archive,
)
from catalog.servers.client.mcp_session import Tools
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.connections.server_requests import probe_address
from catalog.servers.net.address_check import (
    AnswerTooLargeError,
    CompressedAnswerError,
    NotReachableError,
    OutgoingError,
)
from catalog.servers.net.guarded_requests import Bounds, fetch
from catalog.trust.findings import requires_review
from catalog.trust.gate import examine_listing
from marketplace.additions._listing import LIMITS as SKILL_LIMITS
from marketplace.additions._listing import (
    SOURCE,
    find_free_title,
    is_skill_address,
    store_server,
    store_skill,
)
from marketplace.additions.recognition import document_places, server_places
from marketplace.models import Addition, Installation, Listing

# The name of an added MCP server: an admin's choice, the server's own, or that of its host.
# A server's own name is a stranger's text. It is taken only where it is one plain line that a
# review would not hold back, and where nothing else is called so.

LONGEST_NAME = 60
# Pegboard's own, and what SDKs and templates call any server.
_NOT_ITS_OWN = RESERVED | {
    *("fastmcp", "mcp-server", "mcpserver", "my-mcp-server", "my-server", "server"),
}


def title_for(row: Addition, own_names: tuple[str, ...] = ()) -> str:
    """Return the title of an address; `own_names` are the server's, the best first.

    What was added before keeps its title, so that adding it again is an update. Where others are
    called so, a number says the difference.
    """
    if row.name:
        return row.name
    listing = (
        Listing.objects.filter(source__slug=SOURCE, endpoint=row.address).order_by("pk").first()
    )
    if listing is not None:
        return listing.title
    titles = [title for title in map(_plain_title, own_names) if title]
    return find_free_title(
        titles or [_host_title(row.address)], _describe_server(row.address, "server")
    )


def _plain_title(name: str) -> str:
    """Return the name as a title, or "" where it would not do as one."""
    line = " ".join(name.split())
    title = display_name_for(line) if line.islower() and " " not in line else line
    if not 1 < len(title) <= LONGEST_NAME or {slug_for(title), title.lower()} & _NOT_ITS_OWN:
        return ""
    try:
        check_plain_name(title)
    except ValidationError:
        return ""
    return "" if requires_review(examine_listing({"title": title})) else title


def _host_title(address: str) -> str:
    host = urlsplit(address).hostname or "server"
    return host.removeprefix("www.").removeprefix("mcp.").removeprefix("api.")


State, What = Addition.State, Addition.What
MOST_ATTEMPTS = 3
KEPT_DAYS = 30
STEP_SECONDS = 120
_BUNDLE = Bounds(most_bytes=BUNDLE_BYTES, seconds=60)
_DOCUMENT = Bounds(most_bytes=LIMITS.file, seconds=30)
_PLACE = Bounds(most_bytes=LIMITS.file, seconds=5)
_SECONDS_FOR_PLACES = 45
_MOST_TOLD = 12
_ARCHIVES = (b"PK\x03\x04", b"\x1f\x8b")  # zip, gzip
_ACCEPT = {"accept": "application/json, application/yaml, text/yaml, */*;q=0.5"}
_WITHOUT_TOOLS = (
    "An MCP server that needs a sign-in. Its tools are listed once its secrets are set or an "
    "account is connected."
)


def look_at(pk: int) -> None:
    """Look at an addition. Problems are recorded in its row."""
    row = _claim(pk)
    if row is None:
        return
    try:
        if row.document is not None:
            _read_document(row, row.document, row.document.text)
        else:
            _ask_address(row)
    except RefusedError as refused:
        _fail(row, "refused", f"The document {refused.reason}.")
    except ServerProblemError as problem:
        _fail(row, problem.reason, f"{problem}\n{problem.detail}".strip())
    except OutgoingError as problem:
        _fail(row, problem.code, str(problem))
    row.save()


def overdue_additions() -> QuerySet[Addition]:
    """Return additions whose task or worker was lost."""
    return Addition.objects.filter(Q(state=State.LOOKING) & overdue(at_least=STEP_SECONDS))


def forget_old_additions() -> None:
    """Delete additions after KEPT_DAYS, and documents that no listing or integration names."""
    before = Now() - timedelta(days=KEPT_DAYS)
    Addition.objects.filter(created_at__lt=before).delete()
    old = ApiDocument.objects.filter(created_at__lt=before)
    if not old.exists():
        return
    document_ids = {
        *Listing.objects.values_list("details__document", flat=True),
        *Integration.objects.values_list("source_ref__document", flat=True),
        # A rollback goes back to the document of an earlier installation.
        *Installation.objects.values_list("descriptor__source_ref__document", flat=True),
    }
    old.exclude(public_id__in=[document_id for document_id in document_ids if document_id]).delete()


def _claim(pk: int) -> Addition | None:
    with transaction.atomic():
        rows = Addition.objects.filter(pk=pk, state=State.LOOKING)
        row = lock_unless_taken(rows.select_related("document", "by"))
        if row is None:
            return None
        if row.attempts >= MOST_ATTEMPTS:
            _fail(row, GAVE_UP, GAVE_UP_MESSAGE)
            row.save()
            return None
        rows.update(attempts=F("attempts") + 1, sent_at=Now())
        row.attempts += 1
    return row


def _ask_address(row: Addition) -> None:
    """Fetch the address without secrets; what is no document may be a server, or lie beside one.

    A plain request says nothing of an MCP server, whatever it answers or how long: it is asked as
    a client asks.
    """
    is_bundle, is_skill = is_bundle_address(row.address), is_skill_address(row.address)
    status, body = _fetch(row.address, _BUNDLE if is_bundle or is_skill else _DOCUMENT)
    if is_bundle and status == 200:
        _read_bundle(row, body)
        return
    if is_skill and status == 200:
        # Read the skill of an archive, which is unpacked in a cell.
        try:
            members = list(read_archive(body, limits=SKILL_LIMITS))
            store_skill(row, members, hashlib.sha256(body).hexdigest())
        except RefusedError as refused:
            _fail(row, "refused", f"The archive {refused.reason}.")
        return
    if status == 200 and body.startswith(_ARCHIVES):
        # What an archive had cannot be fetched anew by the name of one file, so it has no address.
        row.document = ApiDocument.of(join_archive(body), by=row.by)
        row.document.save()
        row.what, row.api_address = What.API, row.api_address or ""
        _read_document(row, row.document, row.document.text)
        return
    text = _document_text(status, body)
    if looks_like_document(text):
        _take_document(row, row.address, text)
        return
    problem = _probe_server(row)
    if problem is None:
        return
    tried = document_places(row.address, text) if status else []
    deadline = monotonic() + _SECONDS_FOR_PLACES
    for place in tried:
        if monotonic() > deadline:
            break
        beside = _document_text(*_fetch(place, _PLACE))
        if looks_like_document(beside):
            _take_document(row, place, beside)
            return
    # Record that neither a server nor a document is there, and what was tried.
    if not tried:
        raise problem
    places = ", ".join(urlsplit(place).path for place in tried[:_MOST_TOLD])
    words = f"Neither an MCP server nor an OpenAPI document is there. Also tried: {places}."
    _fail(row, problem.reason, f"{words}\n{problem}\n{problem.detail}".strip())


def _fetch(address: str, bounds: Bounds) -> tuple[int, bytes]:
    """Return status and body, or 0 for what does not answer in time."""
    try:
        response = fetch(address, headers=_ACCEPT, bounds=bounds)
    except (NotReachableError, AnswerTooLargeError, CompressedAnswerError):
        return 0, b""
    return response.status, response.body


def _document_text(status: int, body: bytes) -> str:
    try:
        return decode(body) if status == 200 else ""
    except RefusedError:
        return ""


def _take_document(row: Addition, address: str, text: str) -> None:
    document = ApiDocument.of(fetch_parts(text, address), address=address, by=row.by)
    document.save()
    row.what, row.document = What.API, document
    _read_document(row, document, document.text)


def _read_bundle(row: Addition, body: bytes) -> None:
    """Read the manifest of a bundle, which is unpacked in a cell."""
    try:
        # The manifest of a whole and safe archive.
        manifest = b""
        for member in read_archive(body, limits=BUNDLE_LIMITS):
            if isinstance(member, ArchiveFile) and member.path == MANIFEST:
                manifest = member.content
        if not manifest or len(manifest) > MB:
            raise RefusedError(f"has no usable {MANIFEST}")
        loaded = read_bundle(
            parse_json(decode(manifest), max_depth=20),
            address=row.address,
            digest=hashlib.sha256(body).hexdigest(),
            integration=slug_for(row.name) if row.name else None,
        )
    except RefusedError as refused:
        _fail(row, "refused", f"The bundle {refused.reason}.")
        return
    [descriptor] = loaded.integrations
    row.what, row.name = What.PACKAGE, row.name or descriptor.title[:100]
    count = len(loaded.capabilities)
    row.message = f"An MCP bundle; tools in its manifest: {count:,}. Nothing of it was run."
    store_server(row, descriptor, loaded.capabilities)


def _read_document(row: Addition, document: ApiDocument, text: str) -> None:
    api = read_api_text(
        text,
        file=document.address or "pasted",
        slug=slug_for(row.name) if row.name else "",
        came_from=document.address,
        address=row.api_address,
    )
    document.outline = [
        [operation.name, operation.method, operation.path, operation.summary, list(operation.tags)]
        for operation in api.operations
    ]
    document.save(update_fields=["outline"])
    row.message = describe_api(api)
    row.name = row.name or api.integration.title[:100]
    more = {"document": str(document.public_id), "files": document.digest}
    store_server(row, replace(api.integration, source_ref={**api.integration.source_ref, **more}))
    if row.state == State.READY and row.document is None:
        row.document = document


def describe_api(api: ReadApi) -> str:
    """Return what an API is, and on a line of its own what of it was left out."""
    count, dialect = len(api.operations), api.integration.source_ref["dialect"]
    words = f"An API with {count:,} operations (OpenAPI {dialect})."
    if count == 1:
        words = f"An API with one operation (OpenAPI {dialect})."
    return f"{words}\n{describe_left_out(api)}" if api.defects else words


def describe_left_out(api: ReadApi) -> str:
    """Return what of an API was left out."""
    count = len(api.defects)
    reasons = "; ".join(f"{defect.field} {defect.reason}" for defect in api.defects[:3])
    return f"Left out: {count:,} ({reasons}{' …' if count > 3 else ''})."


def _probe_server(row: Addition) -> ServerProblemError | None:
    """Ask as a client does, there and where its server usually is; return why there is none."""
    problem: ServerProblemError | None = None
    for place in server_places(row.address):
        try:
            tools = probe_address(place)
        except ServerProblemError as refused:
            if refused.reason == Reason.SIGN_IN_NEEDED and place == row.address:
                row.what = What.SERVER
                row.message = _WITHOUT_TOOLS
                _store_probed(row, title_for(row))
                return None
            problem = problem or refused
            if refused.reason in (Reason.NOT_REACHABLE, Reason.NO_ANSWER, Reason.NOT_ALLOWED):
                return problem
            continue
        row.what, row.address = What.SERVER, place
        count = len(tools.tools)
        row.message = f"An MCP server with {count:,} tools."
        if count == 1:
            row.message = gettext_noop("An MCP server with one tool.")
        _store_probed(row, title_for(row, tools.names), tools)
        return None
    return problem


def _store_probed(row: Addition, title: str, tools: Tools | None = None) -> None:
    descriptor = _describe_server(row.address, title)
    if tools is None:
        store_server(row, descriptor)
        return
    row.name = row.name or title
    loaded = normalize_tools(tools.tools, integration=descriptor)
    store_server(row, descriptor, loaded.capabilities)


def _describe_server(address: str, title: str) -> IntegrationDescriptor:
    return IntegrationDescriptor(
        slug=slug_for(title),
        kind="mcp",
        title=title[:200],
        transport="http",
        endpoint=address,
        source_ref={"format": "added"},
    )


def _fail(row: Addition, reason: str, message: str) -> None:
    row.state, row.reason, row.message = State.FAILED, reason[:32], message


__all__ = ["forget_old_additions", "look_at", "overdue_additions"]


@shared_task(name=LOOK_AT_ADDITION)  # type: ignore[untyped-decorator]
def look_at_addition(pk: int) -> None:
    """Look at what was pasted."""
    look_at(pk)


@shared_task(name=SWEEP_ADDITIONS)  # type: ignore[untyped-decorator]
def sweep_additions() -> None:
    """Send tasks for additions whose task was lost, and delete what nobody needs any more."""
    send_again(LOOK_AT_ADDITION, overdue_additions())
    forget_old_additions()
