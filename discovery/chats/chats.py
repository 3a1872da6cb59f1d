"""Chats as their owner has them: begun, continued, cancelled and deleted."""

from datetime import UTC

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import QuerySet, Sum
from django.utils.translation import gettext as _

from acl.platform.database_work import database_now
from acl.rights.caller_lookup import Caller
from discovery.advice.advised import select_advised
from discovery.answer.injection import inject_selected
from discovery.calls.queries import TooLateError, cancel_call
from discovery.chats._requests import (
    add_comparison,
    add_request,
    earlier_of,
    end_message,
    offered_names,
)
from discovery.chats.providers.registry import APIS
from discovery.models import Call, Chat, ChatMessage, ChatModel, ChatUse
from discovery.select.selection import SelectRequest
from discovery.turns.records import store_turn

State = ChatMessage.State
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
