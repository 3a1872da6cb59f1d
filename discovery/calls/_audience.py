"""The worker's side of a running call's client: messages to it, its answers, its cancellation."""

import asyncio
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from mcp_types import InputRequiredResult
from pydantic import ValidationError

from acl.platform.strict_json import write_json
from catalog.formats.descriptors import JSONObject
from catalog.formats.secret_redaction import is_secret_name
from catalog.servers.client.conversation import CannotAskError
from catalog.trust.gate import HELD_BACK, must_be_held_back
from discovery.calls._questions import MOST_NOTED, fields_of, question_of, state_of, words_of
from discovery.calls.channel import drop_question, keep_question, push_message, question_id

# The gate for what a server asks before it goes on: in the middle of a call, or by a result.
# Nobody has reviewed these texts. A question to a person must not look like an attack, ask for a
# password in a form, or lead to an address without TLS; a prompt for the client's model is judged
# as a skill's text. Both generations of the protocol pass here, whatever the request was.

MOST_CHARACTERS = 64 * 1024
MOST_QUESTIONS = 20  # of a call
TOO_MANY = "Nobody can be asked any more."
_NEEDED = {"sampling/createMessage": "sampling", "roots/list": "roots"}
_ELICITATION = "elicitation/create"
_OF_NOTES = frozenset({"progress", "total", "level"})  # numbers, and a word of the protocol


class Question(NamedTuple):
    """A question of a server to a client with these capabilities."""

    method: str
    params: JSONObject
    capabilities: frozenset[str]


class Check(NamedTuple):
    """A reason to refuse a question, and the words that say so."""

    words: str
    refuses: Callable[[Question], bool]


def _is_not_announced(question: Question) -> bool:
    by_address = question.method == _ELICITATION and "url" in question.params
    forms = {_ELICITATION: "elicitation.url" if by_address else "elicitation"}
    return (_NEEDED | forms).get(question.method) not in question.capabilities


def _is_too_long(question: Question) -> bool:
    return len(write_json(question.params)) > MOST_CHARACTERS


def _is_without_tls(question: Question) -> bool:
    if "url" not in question.params:
        return False
    try:
        return urlsplit(str(question.params["url"])).scheme != "https"
    except ValueError:
        return True


def _is_unreadable(question: Question) -> bool:
    return fields_of(question.params) is None


def _asks_for_secret(question: Question) -> bool:
    fields = fields_of(question.params) or {}
    return any(is_secret_name(name) or _is_secret(field) for name, field in fields.items())


def _is_secret(field: object) -> bool:
    """Return True for a field that its title or its format gives away."""
    if not isinstance(field, dict):
        return False
    title = "_".join(str(field.get("title") or "").split())
    return is_secret_name(title) or field.get("format") == "password"


def _looks_like_attack(question: Question) -> bool:
    if question.method != "sampling/createMessage":
        return must_be_held_back(question.params)
    tools, prompt = question.params.get("tools"), {**question.params, "tools": None}
    return must_be_held_back(tools) or must_be_held_back(prompt, is_prompt=True)


# In this order: later ones rely on what earlier ones have let through.
CHECKS: Mapping[str, Check] = {
    "not_announced": Check("The client cannot be asked this.", _is_not_announced),
    "too_long": Check("The question is too long.", _is_too_long),
    "without_tls": Check("Only addresses with https are passed on.", _is_without_tls),
    "unreadable": Check("The question's form cannot be read.", _is_unreadable),
    "secret": Check("Passwords and keys are not asked for in a form.", _asks_for_secret),
    "attack": Check("The question was held back: it looks like an attack.", _looks_like_attack),
}


def check_question(method: str, params: JSONObject, capabilities: frozenset[str]) -> None:
    """Raise CannotAskError unless this client can be asked this."""
    question = Question(method, params, capabilities)
    for check in CHECKS.values():
        if check.refuses(question):
            raise CannotAskError(check.words)


def admit_required(
    required: JSONObject, capabilities: frozenset[str], asker: str = ""
) -> JSONObject:
    """Return a result that requires input with its checked questions, and nothing else in it.

    Raises CannotAskError if one of them is refused: without its answer the server does not go on.
    `asker` names the server in its questions.
    """
    try:
        result = InputRequiredResult.model_validate(required, by_name=False)
    except ValidationError:
        raise CannotAskError("The server's questions cannot be read.") from None
    questions: JSONObject = {}
    for name, question in (result.input_requests or {}).items():
        dumped = question.model_dump(by_alias=True, mode="json", exclude_none=True)
        params = dumped.get("params") or {}
        params.pop("_meta", None)
        check_question(question.method, params, capabilities)
        questions[name] = dumped | ({"params": name_asker(params, asker)} if params else {})
    if len(questions) > MOST_QUESTIONS:
        raise CannotAskError(TOO_MANY)
    state = {} if result.request_state is None else {"requestState": result.request_state}
    asking = {"inputRequests": questions} if questions else {}
    return {"resultType": "input_required", **asking, **state}


def admit_note(message: JSONObject) -> JSONObject:
    """Return a notification of progress or of the log, without a text that must be held back."""
    params = message["params"]
    if len(write_json(params)) <= MOST_CHARACTERS and not must_be_held_back(params, is_prompt=True):
        return message
    numbers = {name: value for name, value in params.items() if name in _OF_NOTES}
    words = {"message" if "progress" in params else "data": HELD_BACK}
    return {**message, "params": numbers | words}


def name_asker(params: JSONObject, server: str) -> JSONObject:
    """Say in a question whose it is, where the client knows Pegboard only."""
    if not server or "message" not in params:
        return params
    return {**params, "message": f"{server}: {params['message']}"}


# Of one call. What exceeds it is dropped, and not asked.
MOST_MESSAGES = 1_000
_FLUSH_SECONDS = 5.0
_GONE: JSONObject = {"error": {"message": "The client is gone."}}


class CallAudience:
    """The client of a running call. It is used on the connections' loop, except where it says so.

    Messages are bounded in number and size together, so that no queue grows without limit.
    """

    def __init__(self, pk: UUID, capabilities: frozenset[str]) -> None:
        self._pk, self._capabilities = pk, capabilities
        self.asks_as = ""  # the server's title, where the client knows Pegboard only
        self._loop: asyncio.AbstractEventLoop | None = None
        self._questions: dict[int, asyncio.Future[JSONObject]] = {}
        self.noted: list[JSONObject] = []  # for the call's record
        self._messages = self._asked = 0
        self._bytes_left = settings.PEGBOARD_RESULT_BYTES
        self._seconds_left = float(settings.PEGBOARD_ASK_SECONDS)
        self._is_gone = False
        self._last_push: Future[None] | None = None

    def tell(self, method: str, params: JSONObject) -> None:
        """Pass on a notification, unless there were too many."""
        self._push({"method": method, "params": params})

    async def ask(self, method: str, params: JSONObject) -> JSONObject:
        """Return the client's result. Raises CannotAskError."""
        noted = question_of(method)
        if len(self.noted) < MOST_NOTED:
            self.noted.append(noted)
        await asyncio.to_thread(check_question, method, params, self._capabilities)
        self._asked += 1
        if self._is_gone or self._asked > MOST_QUESTIONS or self._seconds_left <= 0:
            raise CannotAskError(TOO_MANY)
        self._loop, number = asyncio.get_running_loop(), self._asked
        answer = self._questions[number] = self._loop.create_future()
        began = self._loop.time()
        named_params = name_asker(params, self.asks_as)
        question = {"id": question_id(self._pk, number), "method": method, "params": named_params}
        if not self._push(question):
            raise CannotAskError("Too much was sent already.")
        noted |= {"state": "unanswered", **words_of(params)}
        try:
            answered = await asyncio.wait_for(answer, self._seconds_left)
            if answered is not _GONE:
                noted["state"] = state_of(answered)
            result = answered.get("result")
            if isinstance(result, dict):
                return result
            error = answered.get("error")
            message = error.get("message") if isinstance(error, dict) else None
            raise CannotAskError(str(message or "The client refused.")[:500])
        except TimeoutError:
            raise CannotAskError("The client did not answer in time.") from None
        finally:
            del self._questions[number]
            self._withdraw(number)
            self._seconds_left -= self._loop.time() - began

    def hear(self, message: JSONObject) -> None:
        """Take what the client says. Called by another thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._hear, message)
        self._is_gone = self._is_gone or "gone" in message

    def flush(self) -> None:
        """Wait until all messages are sent: a call must not end before them. Called by another
        thread."""
        if self._last_push is not None:
            wait_for([self._last_push], timeout=_FLUSH_SECONDS)

    def _hear(self, message: JSONObject) -> None:
        if "gone" in message:
            answers = dict.fromkeys(self._questions, _GONE)
        else:
            answers = {message.get("question", 0): message.get("answer") or {}}
        for number, answer in answers.items():
            question = self._questions.get(number)
            if question is not None and not question.done():
                question.set_result(answer)

    def _push(self, message: JSONObject) -> bool:
        size = len(write_json(message))
        if self._is_gone or self._messages >= MOST_MESSAGES or size > self._bytes_left:
            return False
        self._messages += 1
        self._bytes_left -= size
        with suppress(RuntimeError):  # the process is ending
            self._last_push = _pushing.submit(self._send, message)
        return True

    def _send(self, message: JSONObject) -> None:
        push_message(self._pk, message if "id" in message else admit_note(message))

    def _withdraw(self, number: int) -> None:
        """Forget a question that is not open any more: one that was pushed is the client's."""


class TaskAudience(CallAudience):
    """Client of a call that may become a task.

    It has no stream: a question waits until the client asks about the task. Nothing else is told.
    """

    def tell(self, method: str, params: JSONObject) -> None:
        """Tell nothing: who wants to hear of progress has a stream."""

    def _send(self, message: JSONObject) -> None:
        keep_question(self._pk, message)

    def _withdraw(self, number: int) -> None:
        with suppress(RuntimeError):  # the process is ending
            _pushing.submit(drop_question, self._pk, number)


class RunningCalls:
    """Running calls of this process by id, with their clients."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: dict[UUID, tuple[Future[Any], CallAudience | None]] = {}

    def add(self, pk: UUID, calling: "Future[Any]", audience: CallAudience | None) -> None:
        """Note a call until it ends."""
        with self._lock:
            self._calls[pk] = calling, audience
        calling.add_done_callback(partial(self._forget, pk))

    def hear(self, pk: UUID, message: JSONObject) -> None:
        """Take what a client says of its call. Calls of other processes are unknown."""
        with self._lock:
            calling, audience = self._calls.get(pk, (None, None))
        if calling is not None and "cancel" in message:
            calling.cancel()
        elif audience is not None:
            audience.hear(message)

    def _forget(self, pk: UUID, calling: "Future[Any]") -> None:
        with self._lock:
            self._calls.pop(pk, None)


running_calls = RunningCalls()
# One thread keeps the order of messages; the loop must not wait for Redis.
_pushing = ThreadPoolExecutor(1, thread_name_prefix="messages of calls")
