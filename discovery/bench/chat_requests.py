"""Requests of a message: the first, those with results, and the comparison with all tools."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.conf import settings
from django.db.models.functions import Now

from acl.platform.jobs.task_names import ASK_MODEL
from acl.platform.jobs.task_queue import send_on_commit
from acl.platform.strict_json import write_json
from catalog.token_counter import token_counter
from discovery.answer import all_tools
from discovery.answer.formats.format_base import Tool
from discovery.answer.formats.provider_formats import renamed
from discovery.answer.injection import inject_everything
from discovery.bench.chat_problems import Problem
from discovery.bench.providers.provider_apis import APIS
from discovery.bench.providers.provider_base import ModelQuestion, Round
from discovery.models import Chat, ChatMessage, ChatModel, ModelRequest
from discovery.select.selection import Asked

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
    found = rows.prefetch_related("requests").order_by("-pk")[:_MOST_EARLIER]
    pairs = [(message.text, answer_of(message)) for message in reversed(found)]
    return [(text, answer) for text, answer in pairs if answer.strip()]


def answer_of(message: ChatMessage) -> str:
    """Return the text of a message's last answer, or ""."""
    texts = [row.text for row in message.requests.all() if row.purpose == Purpose.ANSWER]
    return texts[-1] if texts else ""


def offered_names(tools: Iterable[Tool], model: ChatModel) -> dict[str, Any]:
    """Return what the provider's names stand for, by these names."""
    format_name = APIS[model.provider].FORMAT
    own = {tool.name: {"full_name": tool.name, "arguments": {}} for tool in tools}
    others = renamed(tools, format_name)
    replaced = {one["full_name"] for one in others.values()}
    return {**{name: one for name, one in own.items() if name not in replaced}, **others}


def add_request(
    message: ChatMessage, model: ChatModel, rounds: Sequence[Round] = ()
) -> ModelRequest:
    """Store the next request towards the answer, and have it sent. Raises TooLongError."""
    question = _question(message, model, message.prompt, message.tools, rounds)
    return _add(message, model, question, Purpose.ANSWER)


def add_comparison(message: ChatMessage, model: ChatModel, asked: Asked) -> ModelRequest:
    """Store one request with all tools, of which none is called.

    It fails at once if the model does not take that many.
    """
    known = all_tools.measure(asked.caller, only_here=asked.only_here)
    injection = inject_everything(
        caller=asked.caller,
        provider=APIS[model.provider].FORMAT,
        only_here=asked.only_here,
        forced="direct",
        known=known,
    )
    if injection.choice.mode != "direct" or injection.tokens > settings.PEGBOARD_CONTEXT_WINDOW:
        return _refuse_comparison(message, model, *known)
    question = _question(message, model, injection.prompt, injection.written or [])
    try:
        return _add(message, model, question, Purpose.COMPARISON)
    except TooLongError:
        return _refuse_comparison(message, model, *known)


def _refuse_comparison(
    message: ChatMessage, model: ChatModel, count: int, tokens: int
) -> ModelRequest:
    return ModelRequest.objects.create(
        message=message,
        purpose=Purpose.COMPARISON,
        model_id=model.model_id,
        state=State.FAILED,
        reason=Problem.TOO_MANY_TOOLS,
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
    row = ModelRequest.objects.create(
        message=message,
        purpose=purpose,
        step=len(question.rounds) + 1,
        model_id=model.model_id,
        body=body,
        tools=_count(question.tools),
        tools_tokens=_tokens_of(question),
    )
    send_on_commit(ASK_MODEL, row.pk)
    return row


def _count(tools: list[dict[str, Any]]) -> int:
    """Count the definitions; Gemini has a list of them inside."""
    return sum(len(tool.get("functionDeclarations", (tool,))) for tool in tools)


def _tokens_of(question: ModelQuestion) -> int:
    """Estimate the tokens of the definitions and of the prompt."""
    written = write_json(question.tools, ensure_ascii=False, compact=False)
    counter = token_counter()
    return counter.count(written if question.tools else "") + counter.count(question.prompt)
