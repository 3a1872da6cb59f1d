"""Sending a request to its model, in the outgoing worker, and storing what it answered.

Talks to the addresses of chat models, by the guarded door. The key is opened for one request, and
neither logged nor stored: a provider's words are kept without it.
"""

from datetime import UTC
from typing import Any

import structlog
from celery import shared_task
from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from acl.platform.database_work import database_now
from acl.platform.jobs import move, overdue, send_again
from acl.platform.strict_json import StrictJSONError, parse_json, write_json
from acl.platform.task_names import ANSWER_ADVICE, ASK_MODEL, SWEEP_CHATS
from catalog.servers.net.address_check import OutgoingError
from catalog.servers.net.guarded_requests import Bounds, FetchedDocument, post_bytes
from catalog.servers.secrets.encryption_keys import SecretUnavailableError
from catalog.servers.secrets.sealed_values import unseal
from discovery.advice.policies import count_tokens
from discovery.advice.questions import (
    AdviceQuestion,
    leave_alone,
    put_answer,
    read_answer,
    read_question,
)
from discovery.chats.problems import ChatProblem
from discovery.chats.providers.base import MalformedAnswerError, ModelAnswer, ModelQuestion
from discovery.chats.providers.registry import APIS
from discovery.models import (
    AdvicePolicy,
    ChatMessage,
    ChatModel,
    ChatUse,
    ModelRequest,
)
from discovery.models.chat import LONGEST

State = ModelRequest.State
MOST_BYTES = 1_048_576
_DEEPEST = 64
_LONGEST_DETAIL = 300
log = structlog.get_logger(__name__)


class ModelFailedError(Exception):
    """The model gave no answer. `detail` has the provider's own words, without the key."""

    def __init__(self, problem: ChatProblem, detail: str = "") -> None:
        super().__init__(problem)
        self.problem, self.detail = problem, detail


@shared_task(name=ASK_MODEL)  # type: ignore[untyped-decorator]
def send_request(pk: int) -> None:
    """Send a request once, and store its end. Whoever comes second changes nothing."""
    row = _claim(pk)
    if row is None:
        return
    try:
        answer = ask_model(
            row.message.chat.model, row.model_id, row.body, seconds=settings.PEGBOARD_CHAT_SECONDS
        )
    except ModelFailedError as failed:
        _end(row, State.FAILED, reason=failed.problem, detail=failed.detail)
        log.info("model gave no answer", request=pk, reason=failed.problem)
    else:
        _store(row, answer)


def _claim(pk: int) -> ModelRequest | None:
    """Take the request, counting the attempt before it is made; None if it is not to be sent."""
    rows = ModelRequest.objects.select_related("message__chat__model")
    row = rows.filter(pk=pk, state=State.QUEUED).first()
    if row is None:
        return None
    attempts = row.attempts + 1
    columns = {"attempts": attempts, "started_at": Now(), "sent_at": Now()}
    if not move(row, State.RUNNING, unchanged=("state", "attempts"), **columns):
        return None
    row.attempts = attempts
    if _is_unwanted(row):
        _end(row, State.FAILED, reason=ChatProblem.CANCELLED)
        return None
    return row


def _is_unwanted(row: ModelRequest) -> bool:
    """Return True if nobody waits for the answer. A comparison may come after the answer."""
    state = row.message.state
    if row.purpose == ModelRequest.Purpose.COMPARISON:
        return state == ChatMessage.State.CANCELLED
    return state not in ChatMessage.ACTIVE


@shared_task(name=ANSWER_ADVICE, ignore_result=True)  # type: ignore[untyped-decorator]
def answer_advice(digest: str) -> None:
    """Answer a question about choosing tools, if anybody still waits for the answer."""
    waiting = read_question(digest)
    if waiting is None or read_answer(digest) is not None:
        return
    policy_id, question = waiting
    policy = AdvicePolicy.objects.select_related("model").filter(pk=policy_id).first()
    if policy is None or policy.used_today >= policy.daily_tokens:
        return
    model = policy.model
    try:
        answer = ask_question(model, question, seconds=LONGEST / 1000)
    except ModelFailedError as failed:
        leave_alone(policy)
        log.info("model gave no advice", model=model.pk, reason=failed.problem)
        return
    put_answer(digest, answer.text)
    count_tokens(policy, answer.tokens_read + answer.tokens_written)


def ask_question(
    model: ChatModel | None, question: AdviceQuestion, *, seconds: float
) -> ModelAnswer:
    """Ask a model a question without tools. Raises ModelFailedError."""
    if model is None or model.provider not in APIS:
        raise ModelFailedError(ChatProblem.NO_MODEL)
    message = ModelQuestion(model.model_id, question.prompt, (), question.text, (), [])
    body = write_json(APIS[model.provider].body(message))
    return ask_model(model, model.model_id, body, seconds=seconds)


def ask_model(model: ChatModel | None, model_id: str, body: str, *, seconds: float) -> ModelAnswer:
    """Send a body to a model and read its answer. Raises ModelFailedError."""
    # A row may name a provider that only a later version knows.
    if model is None or model.provider not in APIS:
        raise ModelFailedError(ChatProblem.NO_MODEL)
    try:
        key = unseal(bytes(model.sealed_key), purpose=model.key_purpose) if model.sealed_key else ""
    except SecretUnavailableError:
        raise ModelFailedError(ChatProblem.KEY_UNAVAILABLE) from None
    response = _post(model, model_id, body, key, seconds)
    if response.status != 200:
        raise ModelFailedError(
            ChatProblem.UNAVAILABLE
            if response.status >= 500
            else _BY_STATUS.get(response.status, ChatProblem.REFUSED),
            _words_of(response.body, key),
        )
    try:
        answer = parse_json(response.body, max_depth=_DEEPEST)
        return APIS[model.provider].read(answer if isinstance(answer, dict) else {})
    except StrictJSONError as wrong:
        raise ModelFailedError(ChatProblem.MALFORMED, str(wrong)[:_LONGEST_DETAIL]) from None
    except MalformedAnswerError as wrong:
        raise ModelFailedError(ChatProblem.MALFORMED, str(wrong)) from None


def _post(model: ChatModel, model_id: str, body: str, key: str, seconds: float) -> FetchedDocument:
    api = APIS[model.provider]
    headers = {"content-type": "application/json", **api.headers(key)}
    bounds = Bounds(MOST_BYTES, seconds)
    try:
        url = api.url(model.address.rstrip("/"), model_id)
        return post_bytes(url, body.encode(), headers=headers, bounds=bounds)
    except OutgoingError as problem:
        is_known = problem.code in set(ChatProblem)
        raise ModelFailedError(
            ChatProblem(problem.code) if is_known else ChatProblem.NOT_REACHED
        ) from None
    except UnicodeError:  # a key that fits no header
        raise ModelFailedError(ChatProblem.KEY_REFUSED) from None


_BY_STATUS = {
    401: ChatProblem.KEY_REFUSED,
    403: ChatProblem.KEY_REFUSED,
    404: ChatProblem.UNKNOWN_MODEL,
    413: ChatProblem.REFUSED,
    429: ChatProblem.RATE_LIMITED,
}


def _words_of(body: bytes, key: str) -> str:
    """Return the provider's message, if there is one, without the key."""
    try:
        answer = parse_json(body, max_depth=_DEEPEST)
    except StrictJSONError:
        return ""
    error = answer.get("error") if isinstance(answer, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    if not isinstance(message, str):
        return ""
    return (message.replace(key, "[hidden]") if key else message)[:_LONGEST_DETAIL]


def _store(row: ModelRequest, answer: ModelAnswer) -> None:
    calls = [
        {"id": call.id, "name": call.name, "arguments": call.arguments} for call in answer.calls
    ]
    with transaction.atomic():
        ended = _end(
            row,
            State.ANSWERED,
            content=answer.content,
            text=answer.text,
            calls=calls,
            tokens_read=answer.tokens_read,
            tokens_written=answer.tokens_written,
        )
        if ended:
            # Count the tokens of the person and the day.
            chat = row.message.chat
            day = database_now().astimezone(UTC).date()
            use, _ = ChatUse.objects.get_or_create(
                model_id=chat.model_id, user_id=chat.user_id, day=day
            )
            ChatUse.objects.filter(pk=use.pk).update(
                tokens=F("tokens") + (answer.tokens_read + answer.tokens_written)
            )


def _end(row: ModelRequest, state: ModelRequest.State, **columns: Any) -> bool:
    attempt = Q(attempts=row.attempts)
    return move(row, state, attempt, ended_at=Now(), body="", **columns)


# A request costs money, so one whose worker died is sent once more and no further.
MOST_ATTEMPTS = 2
_GRACE_SECONDS = 60  # beyond the time that a model is given to answer
_MOST_AT_ONCE = 1_000


@shared_task(name=SWEEP_CHATS)  # type: ignore[untyped-decorator]
def sweep_chats() -> None:
    """Send lost requests again, and give up on those that ended the worker every time."""
    _resolve_lost()
    send_again(ASK_MODEL, ModelRequest.objects.filter(overdue(), state=State.QUEUED))


def _resolve_lost() -> None:
    longest = settings.PEGBOARD_CHAT_SECONDS + _GRACE_SECONDS
    lost = ModelRequest.objects.filter(overdue(at_least=longest), state=State.RUNNING)
    for row in lost.order_by("pk")[:_MOST_AT_ONCE]:
        if row.attempts < MOST_ATTEMPTS:
            move(row, State.QUEUED, unchanged=("state", "attempts"))
        else:
            ended = {"ended_at": Now(), "reason": ChatProblem.LOST, "body": ""}
            move(row, State.FAILED, unchanged=("state", "attempts"), **ended)
