"""The worker's part of a call: check permission again, send it once, store the answer.

Uses this process's connection pool. A call that waits for its server holds no thread: `start_call`
returns, and a callback stores the answer.
"""

from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from uuid import UUID

import structlog
from django.conf import settings

from acl.platform.database_retry import with_a_connection
from acl.platform.prepared_statements import columns_of, made, rows_of
from catalog.models import Integration
from catalog.servers.client.mcp_session import Result
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.connections.connection_params import missing_shared_values
from catalog.servers.connections.server_requests import begin_call, record_call
from catalog.servers.secrets.encryption_keys import SecretUnavailableError
from discovery.calls.approval_policy import waits_for_person
from discovery.calls.call_digests import is_unaltered
from discovery.calls.call_failures import (
    CHANGED,
    DISCONNECTED,
    NOT_CONNECTED,
    NOT_THERE,
    TOOL_ERROR,
    UNKNOWN_OUTCOME,
)
from discovery.calls.call_permission import permitted
from discovery.calls.call_results import serialize_result
from discovery.calls.call_state import end_call
from discovery.models import Call

State = Call.State
# A read may be repeated even if the first attempt succeeded; anything else is sent once.
REPEATS_OF_READS = 2
# The server itself answered about the call, so its outcome is known.
_SCOPES = frozenset({Reason.SCOPE_NEEDED, Reason.SCOPE_REFUSED})
ANSWERED = frozenset({Reason.REFUSED, Reason.ASKS_BACK}) | _SCOPES
_WITH_DETAIL = frozenset({Reason.REFUSED}) | _SCOPES
log = structlog.get_logger(__name__)


def start_call(pk: UUID) -> None:
    """Send a call; a thread of `_storing` stores the answer later."""
    call = _claim(pk)
    if call is None or (calling := _send(call)) is None:
        return
    calling.add_done_callback(lambda done: _store_later(call, done))


def run_call(pk: UUID) -> None:
    """Send a call and wait until its answer is stored."""
    call = _claim(pk)
    if call is not None and (calling := _send(call)) is not None:
        _store(call, calling)


def _claim(pk: UUID) -> Call | None:
    """Mark the queued call as running and return it; None if another worker has taken it."""
    statement = f"""
UPDATE discovery_call c SET state = 'running', started_at = now(), attempts = attempts + 1
WHERE id = %(pk)s::uuid AND state = 'queued' AND (expires_at IS NULL OR expires_at > now())
RETURNING {columns_of(Call, "c")}
"""  # noqa: S608 - the names of our own columns
    return next((made(Call, row) for row in rows_of(statement, {"pk": pk})), None)


def _send(call: Call) -> "Future[Result] | None":
    """Send the call; None if it may not be sent, in which case the row says why."""
    capability = permitted(call)
    if capability is None:
        end_call(call, State.FAILED, reason=NOT_THERE, message="")
        return None
    if not is_unaltered(call) or capability.definition_hash != call.definition_hash:
        end_call(call, State.FAILED, reason=CHANGED, message=_CHANGED)
        return None
    asks_first = bool(getattr(capability, "asks_first", True))
    if not call.needs_approval and waits_for_person(capability, asks_first=asks_first):
        end_call(call, State.FAILED, reason="needs_approval", message=_NEEDS_APPROVAL)
        return None
    call.capability, integration = capability, capability.integration
    if integration.connection == Integration.Connection.DISCONNECTED:
        end_call(call, State.FAILED, reason=DISCONNECTED, message=NOT_CONNECTED)
        return None
    if call.acts_for_other and (missing := missing_shared_values(integration)):
        message = _SHARED_ONLY.format(missing=missing)
        end_call(call, State.FAILED, reason=Reason.SIGN_IN_NEEDED, message=message)
        return None
    try:
        return begin_call(
            integration,
            capability.action,
            call.arguments,
            user_id=_account_of(call),
            seconds=settings.PEGBOARD_CALL_SECONDS,
            again=REPEATS_OF_READS if call.side_effect == "read" else 0,
            needs=getattr(capability, "needs", None),
        )
    except ServerProblemError as problem:
        _fail(call, record_call(integration, problem, user_id=_account_of(call)) or problem)
    except SecretUnavailableError as problem:
        end_call(call, State.FAILED, reason=problem.code, message=str(problem))
    return None


def _account_of(call: Call) -> int | None:
    """Return the user whose own accounts the call may use; None for shared ones only."""
    return None if call.acts_for_other else call.user_id


def _store_later(call: Call, calling: "Future[Result]") -> None:
    # RuntimeError: the pool is shut down because the process is ending. The sweeper handles the
    # call.
    with suppress(RuntimeError):
        _storing.submit(_store_in_thread, call, calling)


def _store_in_thread(call: Call, calling: "Future[Result]") -> None:
    try:
        with_a_connection(partial(_store, call, calling))
    except Exception:
        log.exception("call answer could not be stored", call=str(call.pk))


def _store(call: Call, calling: "Future[Result]") -> None:
    """Store the answer or the failure, unless the call was given up meanwhile."""
    problem, result = None, None
    try:
        result = calling.result()
    except ServerProblemError as failure:
        problem = failure
    if call.capability is not None:
        problem = record_call(call.capability.integration, problem, user_id=_account_of(call))
    if result is None:
        _fail(call, problem or ServerProblemError(Reason.STOPPED, sent=True))
        return
    text = serialize_result(result, most=settings.PEGBOARD_RESULT_BYTES)
    if result.is_error:
        end_call(call, State.FAILED, reason=TOOL_ERROR, message=_TOOL_ERROR, result_json=text)
    else:
        end_call(call, State.COMPLETED, result_json=text)


def _fail(call: Call, problem: ServerProblemError) -> None:
    """Store a failure: "failed" if nothing can have happened, otherwise "unknown"."""
    # A server that refuses says why; other details are for operators only.
    own_words = problem.detail if problem.reason in _WITH_DETAIL else ""
    message = f"{problem}\n{own_words}".strip()
    may_have_been = problem.sent and problem.reason not in ANSWERED
    if may_have_been and call.side_effect != "read":
        end_call(
            call, State.UNKNOWN, reason=problem.reason, message=f"{UNKNOWN_OUTCOME}\n{message}"
        )
    else:
        end_call(call, State.FAILED, reason=problem.reason, message=message)


_SHARED_ONLY = (
    "Who acts as another person uses no account and no secret of theirs. Shared ones are missing: "
    "{missing}. Nothing has been run: an admin can set them, or the person asks themselves."
)
_TOOL_ERROR = "The tool says that it failed; its answer says why."
_CHANGED = "The tool or the arguments have changed since. Nothing has been run: ask again."
_NEEDS_APPROVAL = "By now a person has to approve such a call. Nothing has been run: ask again."
_storing = ThreadPoolExecutor(4, thread_name_prefix="storing")
