"""Questions and log messages of a server while a call runs, passed on to that call's client.

Neither says to which call it belongs, so a connection with a conversation has one call at a time.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, get_args

import anyio
import mcp_types as types
from django.conf import settings
from mcp.client import Client
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.subscriptions import event_to_notification
from pydantic import BaseModel, ValidationError

from catalog.formats.descriptors import JSONObject
from catalog.servers.client.server_problems import Reason, ServerProblemError

# Watchers of one connection: who hears of changes that its server reports by itself.
#
# A server of the older generation knows one subscriber a connection. So a resource is subscribed to
# for its first watcher, and given up after its last.

Hear = Callable[[str, JSONObject], None]
Request = Callable[[str, dict[str, Any]], Awaitable[Any]]
_LISTS = (types.ResourceListChangedNotification, types.PromptListChangedNotification)


class ResourceWatchers:
    """The watchers of a connection to a server of the older generation."""

    def __init__(self) -> None:
        self._watching: dict[object, tuple[frozenset[str], Hear]] = {}

    def tell(self, message: object) -> None:
        """Pass on a notification to those whom it concerns."""
        if isinstance(message, types.ResourceUpdatedNotification):
            uri = str(message.params.uri)
            for uris, hear in list(self._watching.values()):
                # True for the watched resource and for parts of it.
                if any(
                    uri == watched or uri.startswith(watched.rstrip("/") + "/") for watched in uris
                ):
                    hear(message.method, {"uri": uri})
        elif isinstance(message, _LISTS):
            for _, hear in list(self._watching.values()):
                hear(message.method, {})

    @asynccontextmanager
    async def added(
        self, uris: frozenset[str], hear: Hear, request: Request
    ) -> AsyncIterator[None]:
        """Add a watcher and subscribe to what nobody else watches."""
        token, news = object(), uris - self._watched()
        self._watching[token] = uris, hear
        try:
            for uri in sorted(news):
                await request("resources/subscribe", {"uri": uri})
            yield
        finally:
            del self._watching[token]
            for uri in sorted(uris - self._watched()):
                with suppress(ServerProblemError):
                    await request("resources/unsubscribe", {"uri": uri})

    def _watched(self) -> frozenset[str]:
        return frozenset().union(*(uris for uris, _ in self._watching.values()))


async def listen(
    client: Client, uris: frozenset[str], hear: Hear, ready: Callable[[], None]
) -> None:
    """Hear of changes at a server of the newer generation, until it ends the stream."""
    announced = client.server_capabilities
    prompts, resources = announced.prompts, announced.resources
    async with client.listen(
        prompts_list_changed=bool(prompts and prompts.list_changed),
        resources_list_changed=bool(resources and resources.list_changed),
        resource_subscriptions=sorted(uris),
    ) as events:
        ready()
        async for event in events:
            notification = event_to_notification(event, {})
            uri = getattr(event, "uri", None)
            hear(notification.method, {} if uri is None else {"uri": uri})


# The client behind a call: its capabilities, its answers, and what it hears meanwhile.


class CannotAskError(Exception):
    """The client cannot be asked this, or has not answered. The message is for the server."""


class Audience(Protocol):
    """The client of a running call. Both methods are called on the connections' loop."""

    def tell(self, method: str, params: JSONObject) -> None:
        """Pass on a notification. It may be dropped."""

    async def ask(self, method: str, params: JSONObject) -> JSONObject:
        """Return the client's result. Raises CannotAskError."""


@dataclass(frozen=True, slots=True)
class Dialogue:
    """The client's side of a call. `capabilities` are those that it announced, as in MCP.

    `answers` are its `inputResponses` and `requestState`, where it goes on with a call. Only a
    client with an `audience` can be reached while the call runs, and asked only if it `can_answer`
    then: newer ones are asked between requests. One that `can_go_on` makes the next request itself
    where a newer server asks for it. `log_level` is what it wants of the server's log,
    and empty for nothing.
    """

    capabilities: frozenset[str] = frozenset()
    answers: Mapping[str, Any] = field(default_factory=dict, repr=False)
    audience: Audience | None = field(default=None, repr=False)
    can_answer: bool = False
    can_go_on: bool = False
    log_level: str = ""

    @property
    def needs_lane(self) -> bool:
        """Return True if the server may send what does not say to which call it belongs."""
        return self.audience is not None and (self.can_answer or self.log_level != "")


# Nobody is there: a call by the API, or one that was approved later.
SILENT = Dialogue()


Answer = TypeVar("Answer", bound=BaseModel)
_ANSWERS: dict[str, type[BaseModel]] = {
    "elicitation/create": types.ElicitResult,
    "sampling/createMessage": types.CreateMessageResult,
    "roots/list": types.ListRootsResult,
}
_LOG_LEVELS = get_args(types.LoggingLevel)  # from the least to the worst


class Conversation:
    """The callbacks of a connection for its running call, if that has a client."""

    def __init__(self) -> None:
        self._dialogue = SILENT
        self._clock = anyio.CancelScope()

    @property
    def log_level(self) -> str:
        """Return the level of messages that the client wants; "" for none."""
        return self._dialogue.log_level

    @contextmanager
    def of(self, dialogue: Dialogue, clock: anyio.CancelScope) -> Iterator[None]:
        """Pass on to the client of this call; `clock` limits the call's time."""
        if not dialogue.needs_lane:
            yield
            return
        self._dialogue, self._clock = dialogue, clock
        try:
            yield
        finally:
            self._dialogue = SILENT

    async def elicit(
        self, context: object, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        """Ask the person behind the client."""
        return await self._ask("elicitation/create", params, types.ElicitResult)

    async def sample(
        self, context: object, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        """Ask the client's model."""
        return await self._ask("sampling/createMessage", params, types.CreateMessageResult)

    async def list_roots(self, context: object) -> types.ListRootsResult | types.ErrorData:
        """Ask for the client's folders."""
        return await self._ask("roots/list", None, types.ListRootsResult)

    async def answer(self, required: types.InputRequiredResult) -> JSONObject:
        """Return the client's answers to what a server of the newer generation requires.

        Raises ServerProblemError if the client gave none.
        """
        answers: JSONObject = {}
        for name, question in (required.input_requests or {}).items():
            answered = await self._ask(question.method, question.params, _ANSWERS[question.method])
            if isinstance(answered, types.ErrorData):
                raise ServerProblemError(Reason.ASKS_BACK)
            answers[name] = _dump(answered)
        state = {"requestState": required.request_state} if required.request_state else {}
        return {"inputResponses": answers, **state}

    async def log(self, params: types.LoggingMessageNotificationParams) -> None:
        """Pass a log message on if the client wants those of its level."""
        dialogue = self._dialogue
        if dialogue.audience is not None and (
            dialogue.log_level != ""
            and _LOG_LEVELS.index(params.level) >= _LOG_LEVELS.index(dialogue.log_level)
        ):
            dialogue.audience.tell("notifications/message", _dump(params))

    async def _ask(
        self, method: str, params: BaseModel | None, result: type[Answer]
    ) -> Answer | types.ErrorData:
        """Ask the client of the running call, whose time stands still meanwhile."""
        dialogue, clock = self._dialogue, self._clock
        if dialogue.audience is None:
            return types.ErrorData(code=types.INVALID_REQUEST, message="Nobody can be asked now.")
        began, deadline = anyio.current_time(), clock.deadline
        clock.deadline = float("inf")
        try:
            answer = await dialogue.audience.ask(method, _dump(params) if params else {})
            return result.model_validate(answer, by_name=False)
        except CannotAskError as refused:
            return types.ErrorData(code=types.INVALID_REQUEST, message=str(refused))
        except ValidationError:
            message = "The client's answer is not valid."
            return types.ErrorData(code=types.INVALID_REQUEST, message=message)
        finally:
            clock.deadline = deadline + anyio.current_time() - began


def progress_to(dialogue: Dialogue, clock: anyio.CancelScope, seconds: float) -> ProgressFnT:
    """Return what hears of a call's progress: it prolongs the call, and tells its client.

    After each note the call has its time once more, up to `PEGBOARD_PROGRESS_SECONDS` in all. A
    person who is asked meanwhile stops the clock anyway.
    """
    audience = dialogue.audience
    ends_at = anyio.current_time() + max(seconds, settings.PEGBOARD_PROGRESS_SECONDS)

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        prolonged = min(anyio.current_time() + seconds, ends_at)
        clock.deadline = max(clock.deadline, prolonged)
        if audience is None:
            return
        note = {"progress": progress, "total": total, "message": message}
        present = {name: value for name, value in note.items() if value is not None}
        audience.tell("notifications/progress", present)

    return tell


def _dump(params: BaseModel) -> dict[str, Any]:
    dumped = params.model_dump(by_alias=True, mode="json", exclude_none=True)
    dumped.pop("_meta", None)
    return dumped
