"""The worker's part of a call: check permission again, send it once, store the capped answer.

Uses this process's connection pool. A call that waits for its server holds no thread: `start_call`
returns, and a callback stores the answer.
"""

from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext_noop

from acl.platform.database_connections import columns_of, made, rows_of
from acl.platform.database_work import retry_on_lost_connection
from acl.platform.strict_json import write_json
from catalog.built_ins.registry import begin_built_in
from catalog.formats.descriptors import JSONObject
from catalog.servers.client.conversation import CannotAskError, Dialogue
from catalog.servers.client.mcp_session import ToolResult
from catalog.servers.client.server_problems import Reason, ServerProblemError, failure_class
from catalog.servers.connections.server_requests import begin_call, record_call
from catalog.servers.secrets.encryption_keys import SecretUnavailableError
from discovery.calls._audience import CallAudience, TaskAudience, admit_required, running_calls
from discovery.calls._permission import failure_by_obstacle, permitted
from discovery.calls._questions import (
    MOST_NOTED,
    answered_with_call,
    asked_by_result,
    record_accepted,
    withheld_by_result,
)
from discovery.calls.arguments import is_unaltered
from discovery.calls.state import (
    CHANGED,
    NOT_THERE,
    STOPPED_BY_CLIENT,
    TOOL_ERROR,
    UNKNOWN_OUTCOME,
    end_call,
)
from discovery.calls.view import is_built_in
from discovery.models import Call

State = Call.State
# A read may be repeated even if the first attempt succeeded; anything else is sent once.
REPEATS_OF_READS = 2
log = structlog.get_logger(__name__)


def start_call(pk: UUID) -> None:
    """Send a call; a thread of `_storing` stores the answer later."""
    call = _claim(pk)
    if call is None:
        return
    # The call's client if it holds a stream open, or can be asked by its task.
    dialogue = call.dialogue or {}
    kinds = {"is_open": CallAudience, "is_task": TaskAudience}
    kind = next((client for name, client in kinds.items() if dialogue.get(name)), None)
    audience = kind(call.pk, frozenset(dialogue["capabilities"])) if kind else None
    if (calling := _send(call, audience)) is None:
        return
    if call.dialogue is not None:
        running_calls.add(pk, calling, audience)
    calling.add_done_callback(lambda done: _store_later(call, done, audience))


def _claim(pk: UUID) -> Call | None:
    """Mark the queued call as running and return it; None if another worker has taken it."""
    statement = f"""
UPDATE discovery_call c
SET state = 'running', started_at = statement_timestamp(), attempts = attempts + 1
WHERE id = %(pk)s::uuid AND state = 'queued'
  AND (expires_at IS NULL OR expires_at > statement_timestamp())
RETURNING {columns_of(Call, "c")}
"""  # noqa: S608 - the names of our own columns
    return next((made(Call, row) for row in rows_of(statement, {"pk": pk})), None)


def _send(call: Call, audience: CallAudience | None) -> "Future[ToolResult] | None":
    """Send the call; None if it may not be sent, in which case the row says why."""
    capability = permitted(call)
    if capability is None:
        end_call(call, State.FAILED, reason=NOT_THERE, message="")
        return None
    if not is_unaltered(call) or capability.definition_hash != call.definition_hash:
        end_call(call, State.FAILED, reason=CHANGED, message=_CHANGED)
        return None
    call.capability, integration = capability, capability.integration
    if audience is not None:
        audience.asks_as = _asker_of(call)
    if failure := failure_by_obstacle(call, capability):
        end_call(call, State.FAILED, reason=failure[0], message=failure[1])
        return None
    if not call.needs_approval and capability.readiness.asks_first:  # type: ignore[attr-defined]
        end_call(call, State.FAILED, reason="needs_approval", message=_NEEDS_APPROVAL)
        return None
    if is_built_in(capability):
        return begin_built_in(call.full_name, call.arguments, user_id=_account_of(call))
    try:
        return begin_call(
            integration,
            capability.action,
            call.arguments,
            user_id=_account_of(call),
            seconds=settings.PEGBOARD_CALL_SECONDS,
            again=REPEATS_OF_READS if call.side_effect == "read" else 0,
            needs=getattr(capability, "needs", None),
            dialogue=_dialogue_of(call, audience),
        )
    except ServerProblemError as problem:
        _fail(call, record_call(integration, problem, user_id=_account_of(call)) or problem)
    except SecretUnavailableError as problem:
        end_call(call, State.FAILED, reason=problem.code, message=str(problem))
    return None


def _dialogue_of(call: Call, audience: CallAudience | None) -> Dialogue:
    dialogue = call.dialogue or {}
    return Dialogue(
        frozenset(dialogue.get("capabilities", ())),
        dialogue.get("answers", {}),
        audience,
        can_answer=audience is not None and dialogue.get("can_answer", False),
        can_go_on=dialogue.get("can_go_on", False),
        log_level=dialogue.get("log_level", ""),
    )


def _asker_of(call: Call) -> str:
    """Return the server's title for its questions, where the client knows Pegboard only."""
    names_server = (call.dialogue or {}).get("names_server", False)
    return call.capability.integration.title if names_server and call.capability else ""


def _account_of(call: Call) -> int | None:
    """Return the user whose own accounts the call may use; None for shared ones only."""
    return None if call.acts_for_other else call.user_id


def _store_later(call: Call, calling: "Future[ToolResult]", audience: CallAudience | None) -> None:
    # RuntimeError: the pool is shut down because the process is ending. The sweeper handles the
    # call.
    with suppress(RuntimeError):
        _storing.submit(_store_in_thread, call, calling, audience)


def _store_in_thread(
    call: Call, calling: "Future[ToolResult]", audience: CallAudience | None
) -> None:
    if audience is not None:
        audience.flush()
    checked = _with_checked_questions(call, calling)
    # What the client was asked, in this call or by it, and what was withheld.
    noted = [*answered_with_call(call.dialogue), *(audience.noted if audience else ())]
    of_result = asked_by_result if _required_by(checked) else withheld_by_result
    call.questions = [*noted, *of_result(_required_by(calling))][:MOST_NOTED]
    try:
        retry_on_lost_connection(partial(_store_with_questions, call, checked))
    except Exception:
        log.exception("call answer could not be stored", call=str(call.pk))


def _with_checked_questions(call: Call, calling: "Future[ToolResult]") -> "Future[ToolResult]":
    """Return the outcome, in which questions have passed the gate, and say whose they are."""
    if (required := _required_by(calling)) is None:
        return calling
    checked: Future[ToolResult] = Future()
    capabilities = frozenset((call.dialogue or {}).get("capabilities", ()))
    try:
        admitted = admit_required(required, capabilities, _asker_of(call))
        checked.set_result(replace(calling.result(), required=admitted))
    except CannotAskError as refused:
        checked.set_exception(refused)
    return checked


def _required_by(calling: "Future[ToolResult]") -> JSONObject | None:
    if calling.cancelled() or calling.exception() is not None:
        return None
    return calling.result().required


def _store_with_questions(call: Call, calling: "Future[ToolResult]") -> None:
    if not call.questions:
        _store(call, calling)
        return
    with transaction.atomic():
        _store(call, calling)
        if call.state in Call.ENDED:
            record_accepted(call)


def _store(call: Call, calling: "Future[ToolResult]") -> None:
    """Store the answer or the failure, unless the call was given up meanwhile."""
    problem, result = None, None
    try:
        result = calling.result()
    except ServerProblemError as failure:
        problem = failure
    except CannotAskError as refused:
        problem = ServerProblemError(Reason.ASKS_BACK)
        end_call(call, State.FAILED, reason=problem.reason, message=f"{problem}\n{refused}")
        return
    except CancelledError:
        # Store that the client cancelled the running call: only a read certainly did nothing.
        if call.side_effect == "read":
            end_call(call, State.CANCELLED, reason=STOPPED_BY_CLIENT, message=_STOPPED)
        else:
            message = f"{_STOPPED}\n{UNKNOWN_OUTCOME}"
            end_call(call, State.UNKNOWN, reason=STOPPED_BY_CLIENT, message=message)
        return
    if call.capability is not None and not is_built_in(call.capability):
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
    failure = failure_class(problem.reason)
    own_words = problem.detail if failure.tells else ""
    message = f"{problem}\n{own_words}".strip()
    # An MCP client gets the server's own error.
    text = (
        _serialize_ascii({"error": problem.error})
        if call.dialogue is not None and problem.error is not None
        else ""
    )
    may_have_been = problem.sent and not failure.answered
    if may_have_been and call.side_effect != "read":
        end_call(
            call, State.UNKNOWN, reason=problem.reason, message=f"{UNKNOWN_OUTCOME}\n{message}"
        )
    else:
        end_call(call, State.FAILED, reason=problem.reason, message=message, result_json=text)


_TOOL_ERROR = gettext_noop("The tool reported an error; see its answer.")
_STOPPED = gettext_noop("The client cancelled the call while it ran.")
_CHANGED = gettext_noop(
    "The tool or the arguments have changed since the request. Nothing has been run. Try again."
)
_NEEDS_APPROVAL = gettext_noop("This call needs approval now. Nothing has been run. Try again.")
_storing = ThreadPoolExecutor(4, thread_name_prefix="storing")


def serialize_result(result: ToolResult, *, most: int) -> str:
    """Serialize the answer, of at most `most` bytes in UTF-8.

    What is cut says where, and of how much; what is left out, how much it was.
    """
    whole: JSONObject = {"content": result.content, "structured": result.structured}
    if result.required is not None:
        whole["required"] = result.required
    if result.meta is not None and _size(result.meta) <= most // 2:
        whole["meta"] = result.meta
    stored: JSONObject = {**whole, "is_error": result.is_error, "truncated": False}
    if _size(stored) <= most:
        return _serialize_ascii(stored)
    of_meta = _size(whole["meta"]) if "meta" in whole else 0
    content, bytes_free = _cut_blocks(result.content, most - of_meta)
    stored |= {"content": content, "structured": None, "truncated": True}
    if result.structured is not None and (size := _size(result.structured)) <= bytes_free:
        stored["structured"] = result.structured
    elif result.structured is not None:
        content.append(_note(f"Left out: the structured answer, {size:,} bytes"))
    return _serialize_ascii(stored)


def _cut_blocks(blocks: list[dict[str, Any]], most: int) -> tuple[list[dict[str, Any]], int]:
    """Keep the leading blocks that fit, cutting a text; also return the bytes left."""
    parts_kept: list[dict[str, Any]] = []
    bytes_free = most - _FOR_NOTES
    for index, block in enumerate(blocks):
        size = _size(block)
        if size <= bytes_free:
            parts_kept.append(block)
            bytes_free -= size
            continue
        rest, text = blocks[index:], block.get("text")
        if isinstance(text, str) and (start := _longest_start(text, bytes_free)):
            parts_kept.append({**block, "text": start})
            parts_kept.append(_note(f"Cut: {len(start):,} of {len(text):,} characters"))
            rest = rest[1:]
        if rest:
            parts = "1 part" if len(rest) == 1 else f"{len(rest):,} parts"
            parts_kept.append(
                _note(f"Left out: {parts} of the answer, {sum(map(_size, rest)):,} bytes")
            )
        return parts_kept, 0
    return parts_kept, bytes_free


def _longest_start(text: str, most: int) -> str:
    """Return as much of the text as fits as JSON."""
    low, high = 0, min(len(text), max(0, most))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _size(text[:middle]) <= most else (low, middle - 1)
    return text[:low]


def _note(words: str) -> dict[str, Any]:
    limit = settings.PEGBOARD_RESULT_BYTES
    return {"type": "text", "text": f"[{words}; an answer has at most {limit:,} bytes.]"}


def _size(value: Any) -> int:
    """Return the bytes of a value as JSON in UTF-8, as its server would send it."""
    return len(write_json(value, ensure_ascii=False).encode(errors="surrogatepass"))


# The JSON around the blocks, and what says that some were cut.
_FOR_NOTES = 500


def _serialize_ascii(value: Any) -> str:
    # ASCII only: Postgres accepts it whatever characters a server sends.
    return write_json(value)
