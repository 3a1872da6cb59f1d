"""The worker's part of a request: check the right again, send it, store the capped answer.

Uses this process's connection pool. A request that waits for its server holds no thread.
"""

import re
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import structlog
from celery import shared_task
from celery.signals import worker_ready, worker_shutting_down
from django.conf import settings
from django.db.models import Q
from django.db.models.functions import Now

from acl.platform.database_work import retry_on_lost_connection
from acl.platform.jobs import move
from acl.platform.strict_json import write_json
from acl.platform.task_names import SWEEP_REQUESTS
from catalog.formats.descriptors import JSONObject
from catalog.servers.client.conversation import CannotAskError
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.connections.server_requests import begin_request, record_call
from catalog.servers.secrets.encryption_keys import SecretUnavailableError
from catalog.trust.gate import must_be_held_back
from discovery.calls._audience import admit_required
from discovery.calls.channel import notify_waiters
from discovery.calls.server_requests.forwarding import (
    BEGIN_WITHIN_SECONDS,
    INTERNAL_ERROR,
    QUEUE,
    WATCHING,
    is_permitted,
)
from discovery.calls.server_requests.watches import server_watches
from discovery.calls.tasks import Listener
from discovery.models import ServerRequest

# The gate for what servers say of their resources and prompts.
# Names and descriptions are read by models like those of tools, but nobody has reviewed them: an
# entry that a review would have to hold back is left out of its list, and so is a completion. A
# prompt's messages are instructions, so they are judged as a skill's text, and so are the files of
# a skill. Contents of other resources are data, like results of tools, and pass as they are.

_LISTS = {
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
    "skills/list": "skills",
}


_OF_SKILL = re.compile(r"skill://|.*/skill\.md\Z", re.IGNORECASE)


class HeldBackError(Exception):
    """A text in the answer would need a review, and requests have none."""


def admit(method: str, result: JSONObject, capabilities: frozenset[str]) -> JSONObject:
    """Return the result without entries that need a review.

    Raises HeldBackError, and CannotAskError if the client cannot be asked what the server asks. The
    address says which server that is.
    """
    if result.get("resultType") == "input_required":
        return admit_required(result, capabilities)
    if (name := _LISTS.get(method)) is not None:
        entries = result.get(name) or []
        return {**result, name: [entry for entry in entries if not must_be_held_back(entry)]}
    if method == "completion/complete":
        completion = result.get("completion")
        values = completion.get("values") if isinstance(completion, dict) else None
        if not isinstance(completion, dict) or not isinstance(values, list):
            return result
        admitted = [value for value in values if not must_be_held_back(value)]
        return {**result, "completion": {**completion, "values": admitted}}
    if method == "prompts/get" and must_be_held_back(result, is_prompt=True):
        raise HeldBackError("The prompt's text was held back: it looks like an attack on a model.")
    files = [content for content in result.get("contents") or () if isinstance(content, dict)]
    is_skill = method == "skills/get" or any(_OF_SKILL.match(str(f.get("uri"))) for f in files)
    if is_skill and must_be_held_back(result, is_prompt=True):
        raise HeldBackError("The skill's text was held back: it looks like an attack on a model.")
    return result


def admit_error(error: JSONObject | None) -> JSONObject | None:
    """Return a server's error; None for one that must be held back."""
    return None if must_be_held_back(error, is_prompt=True) else error


State = ServerRequest.State
_MOST_AT_ONCE = 1_000
log = structlog.get_logger(__name__)


def start_request(pk: UUID) -> None:
    """Send a request; a thread of `_storing` stores the answer later."""
    request = _claim(pk)
    if request is None or (sending := _begin(request)) is None:
        return
    sending.add_done_callback(lambda done: _store_later(request, done))


def sweep() -> None:
    """Fail requests that nobody answers any more, and clear answers."""
    seconds = BEGIN_WITHIN_SECONDS + settings.PEGBOARD_CALL_SECONDS
    lost = ServerRequest.objects.filter(
        state__in=(State.QUEUED, State.RUNNING), created_at__lt=Now() - timedelta(seconds=seconds)
    )
    for request in lost[:_MOST_AT_ONCE]:
        _fail(request, Reason.NO_ANSWER, "It could not be answered in time.")
    rows = ServerRequest.objects
    rows.filter(ended_at__lt=Now() - timedelta(seconds=seconds)).exclude(result_json="").update(
        result_json=""
    )


def _claim(pk: UUID) -> ServerRequest | None:
    """Mark the request as running and return it; None if it is taken, or too old."""
    young = Q(created_at__gt=Now() - timedelta(seconds=BEGIN_WITHIN_SECONDS))
    request = ServerRequest.objects.select_related("integration").filter(pk=pk).first()
    if request is None or not move(request, State.RUNNING, young, started_at=Now(), attempts=1):
        return None
    return request


def _begin(request: ServerRequest) -> "Future[JSONObject] | None":
    if not is_permitted(request):
        _fail(request, "not_there", "The server is not available to you.")
        return None
    try:
        if request.method in WATCHING:
            return server_watches.change(request)
        return begin_request(
            request.integration,
            request.method,
            request.params,
            user_id=request.user_id,
            seconds=settings.PEGBOARD_CALL_SECONDS,
            capabilities=frozenset(request.capabilities),
        )
    except ServerProblemError as problem:
        _fail(request, problem.reason, str(problem), problem.error)
    except SecretUnavailableError as problem:
        _fail(request, problem.code, str(problem))
    return None


def _store_later(request: ServerRequest, sending: "Future[JSONObject]") -> None:
    with suppress(RuntimeError):  # the process is ending; the sweep fails the request
        _storing.submit(_store_in_thread, request, sending)


def _store_in_thread(request: ServerRequest, sending: "Future[JSONObject]") -> None:
    try:
        retry_on_lost_connection(partial(_store, request, sending))
    except Exception:
        log.exception("request answer could not be stored", request=str(request.pk))


def _store(request: ServerRequest, sending: "Future[JSONObject]") -> None:
    try:
        result = sending.result()
    except ServerProblemError as failure:
        problem = record_call(request.integration, failure, user_id=request.user_id) or failure
        _fail(request, problem.reason, str(problem), problem.error)
        return
    record_call(request.integration, None)
    try:
        text = write_json(admit(request.method, result, frozenset(request.capabilities)))
    except (HeldBackError, CannotAskError) as held:
        _fail(request, "held_back", str(held))
        return
    if len(text) > settings.PEGBOARD_RESULT_BYTES:
        _fail(request, Reason.TOO_LARGE, "The answer is too large to pass on.")
        return
    _end(request, State.COMPLETED, result_json=text)


def _fail(
    request: ServerRequest, reason: str, message: str, error: JSONObject | None = None
) -> None:
    general_error = {"code": INTERNAL_ERROR, "message": message}
    _end(request, State.FAILED, reason=reason, error=admit_error(error) or general_error)


def _end(request: ServerRequest, to: ServerRequest.State, **columns: Any) -> None:
    if move(request, to, ended_at=Now(), **columns):
        notify_waiters(request.pk)


_storing = ThreadPoolExecutor(4, thread_name_prefix="storing requests")


_listener = Listener(start_request, QUEUE)


@shared_task(name=SWEEP_REQUESTS)  # type: ignore[untyped-decorator]
def sweep_requests() -> None:
    """Sweep requests to servers that nobody waits for any more."""
    sweep()


@worker_ready.connect(dispatch_uid="pegboard-requests")  # type: ignore[untyped-decorator]
def start_listener(**_: object) -> None:
    """Start the listener with the worker."""
    server_watches.start()
    _listener.start()


@worker_shutting_down.connect(dispatch_uid="pegboard-requests")  # type: ignore[untyped-decorator]
def stop_listener(**_: object) -> None:
    """Stop taking requests; running ones finish before the connections close."""
    _listener.stop()
    server_watches.stop()
