"""The client's side of a request: its version, what it can be asked, and what it has answered."""

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from mcp_types import CLIENT_CAPABILITIES_META_KEY, LOG_LEVEL_META_KEY
from mcp_types.version import LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS

from acl.models.application import LONGEST_CONVERSATION
from acl.rights.delegation.authority import KeyHolder, person_behind
from acl.web.open_streams import open_streams
from catalog.formats.descriptors import JSONObject
from discovery.calls.channel import (
    follow_messages,
    send_answer,
    send_cancellation,
    send_gone,
    waiting_questions,
)
from discovery.calls.execution import BegunCall
from discovery.calls.queries import TooLateError, cancel_call, find_call, has_made
from discovery.calls.state import STOPPED_BY_CLIENT
from discovery.mcp.server._mcp_sessions import McpSession, askable
from discovery.models import Call

TURN, CONVERSATION = "pegboard/turn_id", "pegboard/conversation"  # in a request's _meta
TASKS = "io.modelcontextprotocol/tasks"  # the extension of 2026-07-28
_ANSWERS = ("inputResponses", "requestState")
# Content types by the version that brought them; older clients get the others as text.
_SINCE = {"audio": "2025-03-26", "resource_link": "2025-06-18"}


@dataclass(frozen=True, slots=True)
class ClientSide:
    """The sender of a request by MCP. Its capabilities are those announced with this request, or
    with its session.

    `takes_stream` says that an answer may be a stream, `progress_token` and `log_level` what the
    client wants to hear in it. `turn_id` names the turn of the user's message, and `conversation`
    what it belongs to: both come from the application, for a model writes arguments and no `_meta`.
    `takes_tasks` is of newer clients: a call of theirs may become a task.
    """

    version: str = LATEST_HANDSHAKE_VERSION
    capabilities: frozenset[str] = frozenset()
    answers: Mapping[str, Any] = field(default_factory=dict, repr=False)
    session: McpSession | None = None
    request_id: Any = None
    takes_stream: bool = False
    progress_token: Any = None
    log_level: str = ""
    turn_id: UUID | None = None
    conversation: str = ""
    takes_tasks: bool = False

    @classmethod
    def of(
        cls,
        version: str,
        params: Mapping[str, Any],
        *,
        session: McpSession | None = None,
        request_id: Any = None,
        takes_stream: bool = False,
    ) -> "ClientSide":
        """Read the client's side from the parameters of a request and its session."""
        meta = params.get("_meta") or {}
        token = meta.get("progressToken")
        if version not in MODERN_PROTOCOL_VERSIONS:
            return cls(
                version,
                session.capabilities if session and takes_stream else frozenset(),
                session=session,
                request_id=request_id,
                takes_stream=takes_stream,
                progress_token=token,
                log_level=session.log_level if session and takes_stream else "",
                turn_id=_turn_of(meta),
                conversation=_conversation_of(meta),
            )
        announced = meta.get(CLIENT_CAPABILITIES_META_KEY) or {}
        answers = {name: params[name] for name in _ANSWERS if params.get(name) is not None}
        return cls(
            version,
            askable(announced),
            answers,
            takes_stream=takes_stream,
            progress_token=token,
            log_level=meta.get(LOG_LEVEL_META_KEY) or "",
            turn_id=_turn_of(meta),
            conversation=_conversation_of(meta),
            takes_tasks=TASKS in (announced.get("extensions") or {}),
        )

    def knows(self, content: str) -> bool:
        """Return True if the client's version has this type of content."""
        return self.version >= _SINCE.get(content, "")

    def structured(self, value: Any) -> Any:
        """Return a structured result; until 2026-07-28 it had to be an object, and others are read
        as text."""
        return value if self.is_modern or isinstance(value, dict) else None

    @property
    def is_modern(self) -> bool:
        """Return True if the client is asked between its requests."""
        return self.version in MODERN_PROTOCOL_VERSIONS

    @property
    def listens(self) -> bool:
        """Return True if a call of this client is answered by a stream."""
        can_hear = self.progress_token is not None or self.log_level != ""
        return self.takes_stream and (can_hear or self._can_answer)

    @property
    def _can_answer(self) -> bool:
        return not self.is_modern and bool(self.capabilities)

    def dialogue(
        self, *, is_open: bool = False, is_task: bool = False, names_server: bool = False
    ) -> dict[str, Any]:
        """Return what the worker has to know of the client, and of a stream that it holds open.

        A call that may become a task needs no stream for questions: they wait for the client.
        `names_server` says in them whose they are.
        """
        is_task = is_task and not is_open and bool(self.capabilities)
        offered = self.capabilities if self.is_modern or is_open or is_task else frozenset()
        silent: dict[str, Any] = {"capabilities": sorted(offered), "answers": dict(self.answers)}
        silent |= {"names_server": True} if names_server else {}
        if is_task:
            return silent | {"is_task": True, "can_answer": True, "can_go_on": self.is_modern}
        if not is_open:
            return silent
        live = {"is_open": True, "can_answer": self._can_answer, "log_level": self.log_level}
        return silent | live


def _conversation_of(meta: Mapping[str, Any]) -> str:
    """Return the application's name of the conversation; "" for none, or for what is no name."""
    name = meta.get(CONVERSATION)
    return name if isinstance(name, str) and len(name) <= LONGEST_CONVERSATION else ""


def _turn_of(meta: Mapping[str, Any]) -> UUID | None:
    """Return the named turn. Any other text is like the id of a turn that nobody has."""
    try:
        return UUID(str(meta.get(TURN)))
    except ValueError:
        return None


# A call whose client hears of it while it runs: the answer is a stream of messages.

RELATED = "io.modelcontextprotocol/related-task"  # in _meta
_GRACE_SECONDS = 10
Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LiveCall:
    """A call under way.

    A client that waits for a task gets an answer for a stopped call, too: `is_task`. Here it is
    asked what has waited for it.
    """

    begun: BegunCall
    client: ClientSide
    is_task: bool = False

    def messages(
        self, finish: Callable[[BegunCall], list[Message]]
    ) -> Generator[Message | None, None, None]:
        """Yield the server's messages, None in silence, and in the end the response, which may
        have notifications before it.

        A client that closes the stream of the newer generation cancels the call. One of the older
        has only lost the stream.
        """
        call, user_id = self.begun.call, self.begun.caller.user_id
        longest = max(settings.PEGBOARD_CALL_SECONDS, settings.PEGBOARD_PROGRESS_SECONDS)
        seconds = longest + settings.PEGBOARD_ASK_SECONDS + _GRACE_SECONDS
        following = follow_messages(call, seconds)
        is_given_up, names_asked = True, set[str]()
        try:
            yield None  # begun, so that what follows is done in any case
            while True:
                try:
                    message = next(following)
                except StopIteration as end:
                    call = end.value
                    break
                yield self._readdressed(message) if message is not None else None
                yield from self._waiting_questions(names_asked)
            if self.is_task or call.reason != STOPPED_BY_CLIENT:
                yield from finish(replace(self.begun, call=call))
            is_given_up = False
        finally:
            open_streams.give_back(user_id)
            if call.state not in Call.ENDED and not self.is_task:
                send_gone(call.pk)
            if is_given_up and self.client.is_modern:
                send_cancellation(call.pk)

    def _waiting_questions(self, names_asked: set[str]) -> Iterator[Message]:
        """Yield a task's questions that were not asked in this stream yet."""
        waiting = waiting_questions(self.begun.call.pk) if self.is_task else {}
        for name in waiting.keys() - names_asked:
            names_asked.add(name)
            yield self._readdressed(waiting[name])

    def _readdressed(self, message: JSONObject) -> Message:
        """Return the message as this client expects it."""
        params = dict(message["params"])
        if message["method"] == "notifications/progress":
            params["progressToken"] = self.client.progress_token
        if self.is_task:
            params["_meta"] = {RELATED: {"taskId": str(self.begun.call.pk)}}
        return {"jsonrpc": "2.0", **message, "params": params}


def hear_answer(principal: KeyHolder | User, message: Message) -> None:
    """Pass a client's answer to a question of one of its own calls on; others are dropped."""
    pk, _, number = str(message.get("id")).partition(".")
    with suppress(ValueError):
        call = find_call(principal=principal, pk=UUID(pk))
        if call is None or not has_made(principal, call):
            return
        if call.state == Call.State.RUNNING:
            parts = ("result", "error")
            reply: Message = {name: message[name] for name in parts if name in message}
            send_answer(call.pk, int(number), reply)


def cancel(principal: KeyHolder | User, pk: UUID) -> None:
    """End a call that its client does not want any more, running or not."""
    call = find_call(principal=principal, pk=pk)
    if call is None:
        return
    try:
        cancel_call(by=person_behind(principal), call=call)
    except TooLateError:
        send_cancellation(call.pk)
