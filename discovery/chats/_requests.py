"""Requests of a message: the first, those with results, and the comparison with all tools."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.conf import settings
from django.db.models.functions import Now

from acl.platform.jobs import move
from acl.platform.strict_json import write_json
from acl.platform.task_names import ASK_MODEL, send_on_commit
from catalog.token_counter import token_counter
from discovery.answer import modes
from discovery.answer.formats.base import Tool
from discovery.answer.formats.registry import renamed
from discovery.answer.injection import inject_everything
from discovery.chats.problems import ChatProblem
from discovery.chats.providers.base import ModelQuestion, Round
from discovery.chats.providers.registry import APIS
from discovery.flow_guard.turn_memory import forget_turn
from discovery.models import Chat, ChatMessage, ChatModel, ModelRequest
from discovery.select.selection import SelectRequest

Purpose, State = ModelRequest.Purpose, ModelRequest.State
MOST_BODY = 4_000_000  # characters of one request
_MOST_EARLIER = 10


class TooLongError(Exception):
    """The request would be larger than any model takes."""


def earlier_of(chat: Chat, *, before: int | None = None) -> list[tuple[str, str]]:
    """Return the last answered messages with their answers, oldest first."""
    rows = chat.messages.filter(state=ChatMessage.State.ANSWERED)
    if before is not None:
        rows = rows.filter(pk__lt=before)
    rows_before = rows.prefetch_related("requests").order_by("-pk")[:_MOST_EARLIER]
    pairs = [(message.text, answer_of(message)) for message in reversed(rows_before)]
    return [(text, answer) for text, answer in pairs if answer.strip()]


def answer_of(message: ChatMessage) -> str:
    """Return the text of a message's last answer, or ""."""
    texts = [row.text for row in message.requests.all() if row.purpose == Purpose.ANSWER]
    return texts[-1] if texts else ""


def offered_names(tools: Iterable[Tool], model: ChatModel) -> dict[str, Any]:
    """Return what the provider's names stand for, by these names."""
    format_name = APIS[model.provider].FORMAT
    plain = {tool.name: {"full_name": tool.name, "arguments": {}} for tool in tools}
    others = renamed(tools, format_name)
    replaced = {offer["full_name"] for offer in others.values()}
    return {**{name: offer for name, offer in plain.items() if name not in replaced}, **others}


def add_request(
    message: ChatMessage, model: ChatModel, rounds: Sequence[Round] = ()
) -> ModelRequest:
    """Store the next request towards the answer, and have it sent. Raises TooLongError."""
    question = _question(message, model, message.prompt, message.tools, rounds)
    return _add(message, model, question, Purpose.ANSWER)


def add_comparison(message: ChatMessage, model: ChatModel, request: SelectRequest) -> ModelRequest:
    """Store one request with all tools, of which none is called.

    It fails at once if the model does not take that many.
    """
    measured = modes.measure(request.caller, only_here=request.only_here)
    injection = inject_everything(
        caller=request.caller,
        provider=APIS[model.provider].FORMAT,
        only_here=request.only_here,
        forced="direct",
        measured=measured,
    )
    if injection.choice.mode != "direct" or injection.tokens > settings.PEGBOARD_CONTEXT_WINDOW:
        return _refuse_comparison(message, model, *measured)
    question = _question(message, model, injection.prompt, injection.written or [])
    try:
        return _add(message, model, question, Purpose.COMPARISON)
    except TooLongError:
        return _refuse_comparison(message, model, *measured)


def _refuse_comparison(
    message: ChatMessage, model: ChatModel, count: int, tokens: int
) -> ModelRequest:
    return ModelRequest.objects.create(
        message=message,
        purpose=Purpose.COMPARISON,
        model_id=model.model_id,
        state=State.FAILED,
        reason=ChatProblem.TOO_MANY_TOOLS,
        tools=count,
        tools_tokens=tokens,
        ended_at=Now(),
    )


def _question(
    message: ChatMessage,
    model: ChatModel,
    prompt: str,
    tools: list[dict[str, Any]],
    rounds: Sequence[Round] = (),
) -> ModelQuestion:
    return ModelQuestion(
        model_id=model.model_id,
        prompt=prompt,
        earlier=tuple(earlier_of(message.chat, before=message.pk)),
        text=message.text,
        rounds=tuple(rounds),
        tools=tools,
    )


def _add(
    message: ChatMessage, model: ChatModel, question: ModelQuestion, purpose: ModelRequest.Purpose
) -> ModelRequest:
    body = write_json(APIS[model.provider].body(question), ensure_ascii=False)
    if len(body) > MOST_BODY:
        raise TooLongError
    # Estimate the tokens of the definitions and of the prompt.
    tools_text = write_json(question.tools, ensure_ascii=False, compact=False)
    counter = token_counter()
    # Count the definitions; Gemini has a list of them inside.
    row = ModelRequest.objects.create(
        message=message,
        purpose=purpose,
        step=len(question.rounds) + 1,
        model_id=model.model_id,
        body=body,
        tools=sum(len(tool.get("functionDeclarations", (tool,))) for tool in question.tools),
        tools_tokens=counter.count(tools_text if question.tools else "")
        + counter.count(question.prompt),
    )
    send_on_commit(ASK_MODEL, row.pk)
    return row


# States of messages, changed by compare-and-set: of two that end one, one does.


def end_message(message: ChatMessage, state: ChatMessage.State, reason: str = "") -> bool:
    """End a message, and forget its turn's words; return False if it has ended already."""
    if message.state not in ChatMessage.ACTIVE:
        return False
    if not move(message, state, reason=reason, ended_at=Now()):
        return False
    message.reason = reason
    if message.turn_id is not None:
        forget_turn(message.turn_id)
    return True
