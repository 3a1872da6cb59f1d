"""Chats as their owner has them: begun, continued, carried on, cancelled and deleted."""

from dataclasses import replace
from datetime import UTC
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import QuerySet, Sum
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from acl.platform.database_work import database_now
from acl.platform.jobs import lock_unless_taken, move
from acl.platform.strict_json import write_json
from acl.rights.caller_lookup import Caller
from catalog.formats.descriptors import JSONObject
from discovery.advice.advised import select_advised
from discovery.answer.injection import inject_selected
from discovery.calls.approval_queue import TooManyWaitingError
from discovery.calls.argument_check import ArgumentsRefusedError
from discovery.calls.execution import KeyUsedError, NotFoundError, begin
from discovery.calls.queries import TooLateError, cancel_call, find_own_call
from discovery.calls.view import describe_call
from discovery.chats._requests import (
    TooLongError,
    add_comparison,
    add_request,
    earlier_of,
    end_message,
    offered_names,
)
from discovery.chats.problems import ChatProblem
from discovery.chats.providers.base import MOST_CALLS, CallResult, Round
from discovery.chats.providers.registry import APIS
from discovery.models import Call, Chat, ChatMessage, ChatModel, ChatUse, ModelRequest
from discovery.select.selection import SelectRequest
from discovery.turns.records import store_turn

State, Purpose = ChatMessage.State, ModelRequest.Purpose
MOST_OF_MESSAGE = 10_000
MOST_CHATS, MOST_MESSAGES = 200, 50
MOST_AT_ONCE = 3  # messages of a person that are under way


class ChatRefusedError(Exception):
    """The message cannot be sent; the text says why. `status` is that of HTTP."""

    def __init__(self, message: str, status: int = 422) -> None:
        super().__init__(message)
        self.status = status


def chats_of(person: User) -> "QuerySet[Chat]":
    """Return the person's own chats, newest first."""
    return Chat.objects.filter(user=person).select_related("model", "group")


@transaction.atomic
def begin_chat(
    *, by: User, caller: Caller, model: ChatModel, text: str, compare: bool
) -> ChatMessage:
    """Begin a chat with its first message. Raises ChatRefusedError."""
    if chats_of(by).count() >= MOST_CHATS:
        raise ChatRefusedError(
            _("You have %(most)s chats, which is the limit. Delete one first.")
            % {"most": MOST_CHATS}
        )
    chat = Chat.objects.create(user=by, group_id=caller.group_id, model=model)
    return send_message(by=by, chat=chat, text=text, compare=compare)


@transaction.atomic
def send_message(*, by: User, chat: Chat, text: str, compare: bool) -> ChatMessage:
    """Select tools for a message, and ask the chat's model. Raises ChatRefusedError.

    The web selects, since it has the words by which the guard on flows judges the calls.
    """
    model = _check(by, chat, text)
    earlier = earlier_of(chat)
    request = SelectRequest(
        message=text,
        caller=chat.caller,
        history=tuple(earlier_text for pair in earlier for earlier_text in pair)[-10:],
        client_executes=False,  # nobody carries out what Pegboard only describes
    )
    selection = select_advised(request)
    # A trial teaches nothing, and nobody reports its outcome.
    turn = store_turn(request, selection, noted=None)
    injection = inject_selected(selection, provider=APIS[model.provider].FORMAT)
    message = ChatMessage(
        chat=chat,
        turn=turn,
        text=text,
        prompt=injection.prompt,
        tools=injection.written or [],
        names=offered_names(injection.tools, model),
    )
    try:
        with transaction.atomic():
            message.save(force_insert=True)
    except IntegrityError:
        raise ChatRefusedError(_("Wait for the answer, or cancel it."), 409) from None
    add_request(message, model)
    if compare:
        add_comparison(message, model, request)
    return message


def _check(by: User, chat: Chat, text: str) -> ChatModel:
    model = chat.model
    if model is None or not ChatModel.objects.usable_by(by).filter(pk=model.pk).exists():
        raise ChatRefusedError(_("You may not use the model of this chat. Begin a new one."))
    if model.provider not in APIS:
        raise ChatRefusedError(_("There is no such provider."))
    if not by.groups.filter(pk=chat.group_id).exists():
        raise ChatRefusedError(_("You have left the group of this chat. Begin a new one."))
    if not text.strip():
        raise ChatRefusedError(_("Enter a message."))
    if len(text) > MOST_OF_MESSAGE:
        raise ChatRefusedError(
            _("A message may have at most %(most)s characters.") % {"most": MOST_OF_MESSAGE}
        )
    if chat.messages.count() >= MOST_MESSAGES:
        raise ChatRefusedError(_("This chat is as long as it may be. Begin a new one."))
    active = ChatMessage.objects.filter(chat__user=by, state__in=ChatMessage.ACTIVE)
    if active.exclude(chat=chat).count() >= MOST_AT_ONCE:
        raise ChatRefusedError(_("Other messages of yours are still being answered."), 429)
    if is_used_up(model, by.pk):
        raise ChatRefusedError(
            _("You have reached today's token limit for this model. It resets at 00:00 UTC."), 429
        )
    return model


def is_used_up(model: ChatModel, user_id: int) -> bool:
    """Return True if the person has no tokens of the model left today."""
    return tokens_used(model, user_id) >= model.daily_tokens


def tokens_used(model: ChatModel, user_id: int) -> int:
    """Return the tokens that the person read and wrote with the model today, in UTC."""
    day = database_now().astimezone(UTC).date()
    uses = ChatUse.objects.filter(model=model, user=user_id, day=day)
    return int(uses.aggregate(used=Sum("tokens"))["used"] or 0)


@transaction.atomic
def cancel_message(*, by: User, message: ChatMessage) -> bool:
    """Cancel a message with its calls that have not begun; return False if it has ended."""
    if not end_message(message, State.CANCELLED, "cancelled"):
        return False
    call_ids = [
        entry["call"] for row in message.requests.all() for entry in row.calls if entry.get("call")
    ]
    waiting = Call.objects.filter(
        pk__in=call_ids, state__in=(Call.State.WAITING, Call.State.QUEUED)
    )
    for call in waiting.select_related("user", "group"):
        try:
            cancel_call(by=by, call=call)
        except TooLateError:
            continue
    return True


def delete_chat(*, by: User, chat: Chat) -> None:
    """Delete a chat. Its calls stay in the log, and the tokens of the day count."""
    for message in chat.messages.filter(state__in=ChatMessage.ACTIVE):
        cancel_message(by=by, message=message)
    chat.delete()


# The web's part of a message goes on while its owner looks: each look does whatever can be done,
# and whoever comes second changes nothing. Calls take the same way as a program's, with the
# person's rights of this moment.
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
