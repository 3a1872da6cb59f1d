"""The web's part of a message: begin the calls that the model asks for, and send their results.

It goes on while its owner looks: each look does whatever can be done, and whoever comes second
changes nothing. Calls take the same way as a program's, with the person's rights of this moment.
"""

from dataclasses import replace
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext_noop

from acl.platform.jobs import lock_unless_taken, move
from acl.platform.strict_json import write_json
from catalog.formats.descriptors import JSONObject
from discovery.calls.approval_queue import TooManyWaitingError
from discovery.calls.argument_check import ArgumentsRefusedError
from discovery.calls.execution import KeyUsedError, NotFoundError, begin
from discovery.calls.queries import find_own_call
from discovery.calls.view import describe_call
from discovery.chats._requests import TooLongError, add_request, end_message
from discovery.chats.chats import is_used_up
from discovery.chats.problems import ChatProblem
from discovery.chats.providers.base import MOST_CALLS, CallResult, Round
from discovery.models import Call, ChatMessage, ChatModel, ModelRequest

State, Purpose = ChatMessage.State, ModelRequest.Purpose
MOST_OF_RESULT = 10_000  # characters that the model is told of a result
_GONE = "You may no longer use this tool. Its answer is not shown."
# Parts of an answer that are for programs.
_NOT_TOLD = ("call_id", "expires_at", "arguments", "notice", "questions")


@transaction.atomic
def go_on(message: ChatMessage, *, by: User) -> bool:
    """Do what can be done now; return True if the message moved."""
    rows = ChatMessage.objects.filter(pk=message.pk, state__in=ChatMessage.ACTIVE)
    row = lock_unless_taken(rows.select_related("chat__model"))
    if row is None:
        return False
    requests = list(row.requests.filter(purpose=Purpose.ANSWER).order_by("step"))
    latest = requests[-1] if requests else None
    if latest is None or latest.state in ModelRequest.UNDER_WAY:
        return False
    if latest.state == ModelRequest.State.FAILED:
        return end_message(row, State.FAILED, latest.reason)
    if not latest.calls:
        return end_message(row, State.ANSWERED)
    return _work_on_calls(row, requests, by)


def _work_on_calls(row: ChatMessage, requests: list[ModelRequest], by: User) -> bool:
    latest = requests[-1]
    if row.state == State.ASKING:
        _begin_calls(row, latest)
        move(row, State.CALLING)
        return True
    call_ids = [call["call"] for call in latest.calls if call.get("call")]
    if Call.objects.filter(pk__in=call_ids).exclude(state__in=Call.ENDED).exists():
        return False
    return _ask_again(row, requests, by)


def _begin_calls(row: ChatMessage, request: ModelRequest) -> None:
    """Store the calls; what is refused is noted for the model."""
    noted = []
    for place, entry in enumerate(request.calls):
        call_id, problem = begin_or_refuse(row, f"chat-{request.pk}-{place}", entry, place)
        noted.append({**entry, "call": call_id, "problem": problem[:1_000]})
    request.calls = noted
    request.save(update_fields=["calls"])


def begin_or_refuse(row: ChatMessage, once: str, entry: JSONObject, place: int) -> tuple[str, str]:
    """Return the call's id, or the reason for the model and the page why there is none."""
    offered = row.names.get(entry["name"])
    if place >= MOST_CALLS:
        return "", f"Not called: at most {MOST_CALLS} calls are made at once."
    if offered is None:
        return "", gettext_noop("There is no tool of this name among those that you were given.")
    if entry["arguments"] is None:
        return "", gettext_noop("The arguments are not a JSON object.")
    arguments = {offered["arguments"].get(k, k): value for k, value in entry["arguments"].items()}
    try:
        begun_call = begin(
            caller=row.chat.caller,
            full_name=offered["full_name"],
            arguments=arguments,
            turn_id=row.turn_id,
            idempotency_key=once,
        )
    except (ArgumentsRefusedError, KeyUsedError, NotFoundError, TooManyWaitingError) as refused:
        return "", str(refused)
    return str(begun_call.call.pk), ""


def _ask_again(row: ChatMessage, requests: list[ModelRequest], by: User) -> bool:
    """Send the results, unless a bound is reached."""
    model = row.chat.model
    if problem := _bound_of(row, model, len(requests), by):
        return end_message(row, State.FAILED, problem)
    assert model is not None  # noqa: S101 - the bound says so
    rounds = [
        Round(request.content or {}, tuple(_result(row, call) for call in request.calls))
        for request in requests
    ]
    try:
        add_request(row, model, rounds)
    except TooLongError:
        return end_message(row, State.FAILED, ChatProblem.TOO_LONG)
    return move(row, State.ASKING)


def _bound_of(row: ChatMessage, model: ChatModel | None, steps: int, by: User) -> str:
    """Return the bound that the message has reached, or ""."""
    if model is None or not ChatModel.objects.usable_by(by).filter(pk=model.pk).exists():
        return ChatProblem.NO_MODEL
    if steps >= settings.PEGBOARD_CHAT_STEPS:
        return ChatProblem.TOO_MANY_STEPS
    return ChatProblem.TOKENS_USED_UP if is_used_up(model, row.chat.user_id) else ""


def _result(row: ChatMessage, entry: JSONObject) -> CallResult:
    """Return what the model is told of a call, by the rights of this moment."""
    refusal = CallResult(entry["id"], entry["name"], entry.get("problem") or _GONE, is_error=True)
    if not entry.get("call"):
        return refusal
    call = find_own_call(caller=row.chat.caller, pk=UUID(entry["call"]))
    if call is None or call.capability is None:
        return refusal
    try:
        done = describe_call(call)
    except (ArgumentsRefusedError, NotFoundError) as refused:
        return replace(refusal, text=str(refused))
    parts = {name: part for name, part in done.as_answer().items() if name not in _NOT_TOLD}
    text = write_json(parts, ensure_ascii=False)
    cut = f"{text[:MOST_OF_RESULT]}… (cut)" if len(text) > MOST_OF_RESULT else text
    return CallResult(entry["id"], entry["name"], cut, is_error=done.status != "completed")
