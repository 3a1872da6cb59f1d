"""A stream of changes beside calls: of watched resources, of lists, and of tasks.

Older clients open it by `GET` and hear of what their session has subscribed to. Newer ones name in
`subscriptions/listen` what they want to hear.
"""

import time
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY
from mcp_types import ListToolsResult, SubscriptionFilter
from mcp_types.jsonrpc import INTERNAL_ERROR
from redis import RedisError

from acl.platform.redis_circuit import attempt
from acl.web.open_streams import OpenStreams
from catalog.formats.descriptors import JSONObject
from discovery.calls.channel import release_connection
from discovery.calls.server_requests.change_channel import (
    keep_listening,
    next_change,
    stop_listening,
    watcher_of,
)
from discovery.calls.server_requests.forwarding import LISTEN, SUBSCRIPTIONS, RequestFailedError
from discovery.mcp.server._client_side import ClientSide
from discovery.mcp.server._endpoints import Endpoint
from discovery.mcp.server._mcp_sessions import McpSession
from discovery.mcp.server._mcp_tools import UnknownToolError
from discovery.mcp.server.call_tasks import TaskRefusedError

# States of the tasks that a newer client listens to, each told when it changes.

TASK_CHANGED = "notifications/tasks"
MOST_TASKS = 10  # of one stream: each is read every second, as its client would
_LAST = frozenset({"completed", "failed", "cancelled"})
Describe = Callable[[str], JSONObject]


def _nothing(task_id: str) -> JSONObject:
    raise TaskRefusedError("There is no such task.")


@dataclass(slots=True)
class TaskStates:
    """Tasks by id with what was told of each; those that have ended are not read again.

    A task that its client may not read any more is forgotten without a word.
    """

    describe: Describe = _nothing
    _told: dict[str, JSONObject] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, task_ids: Iterable[Any], describe: Describe) -> "TaskStates":
        """Return those of the named tasks that the client may read, the first ones only."""
        states = cls(describe)
        ids = dict.fromkeys(task_id for task_id in task_ids if isinstance(task_id, str))
        states._told = {task_id: {} for task_id in list(ids)[:MOST_TASKS] if states._read(task_id)}
        states.names = list(states._told)
        return states

    def changed(self) -> list[JSONObject]:
        """Return the tasks that are not what was told of them, at first all."""
        if not self._told:
            return []
        tasks = [
            task
            for name, last_state in list(self._told.items())
            if (task := self._next(name, last_state))
        ]
        release_connection()
        return tasks

    def _next(self, name: str, last_state: JSONObject) -> JSONObject | None:
        task = self._read(name)
        if task is None or task["status"] in _LAST:
            del self._told[name]
        else:
            self._told[name] = task
        return task if task != last_state else None

    def _read(self, name: str) -> JSONObject | None:
        try:
            task = self.describe(name)
        except (TaskRefusedError, UnknownToolError):
            return None
        task.pop("resultType", None)
        return task


# The list of tools as an older client last read it, so that an answer tells of a change.
# A client of a version before 2026-07-28 has no stream that stays open at every address, so the
# notification comes with the answer to its next call. Redis keeps a digest for each session:
# without it nobody is told, and lists are still right.

LIST_CHANGED = "notifications/tools/list_changed"
# A list costs more than many a call, so it is looked at every few seconds at most.
LOOK_SECONDS = 5
_KEPT_SECONDS = 24 * 3600


def digest_list(listed: ListToolsResult) -> bytes:
    """Return a digest of a list."""
    return sha256(listed.model_dump_json(exclude={"ttl_ms"}).encode()).digest()


def keep_list(session: McpSession, listed: ListToolsResult) -> None:
    """Keep that the session's client has read this list."""
    key, digest = session.key("list"), digest_list(listed)
    attempt(lambda redis: redis.set(key, digest, ex=_KEPT_SECONDS), default=None)


def list_has_changed(session: McpSession, endpoint: Endpoint) -> bool:
    """Return True if the list is not what the client has read; once for each change."""
    key, looked = session.key("list"), session.key("looked")
    stored_digest: Any = attempt(lambda redis: redis.get(key), default=None)
    if stored_digest is None:
        return False
    if not attempt(lambda redis: redis.set(looked, b"1", ex=LOOK_SECONDS, nx=True), default=None):
        return False
    digest = digest_list(endpoint.list_tools())
    # In one step, so that of two answers at once only one tells of it.
    before: Any = attempt(
        lambda redis: redis.set(key, digest, ex=_KEPT_SECONDS, get=True), default=None
    )
    return before is not None and before != digest


# Places of this process, beside those of calls.
listening = OpenStreams(most=16, most_of_one=3)
# The client opens the next one then, with a key that is checked again.
MOST_SECONDS = 900
_SILENCE_SECONDS, _LOOK_SECONDS = 1.0, 5.0
_LISTS = {
    LIST_CHANGED: "tools_list_changed",
    "notifications/prompts/list_changed": "prompts_list_changed",
    "notifications/resources/list_changed": "resources_list_changed",
}
Message = dict[str, Any]


class CannotListenError(Exception):
    """The client cannot listen; the message says why."""

    def __init__(self, message: str, code: int = INTERNAL_ERROR) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class ChangeStream:
    """A stream in a place of `listener`.

    `watches` is False where only the list of tools is looked at. `subscription` is the id of a
    newer client's request; None for an older client.
    """

    endpoint: Endpoint
    listener: int
    session: str
    wanted: SubscriptionFilter
    watches: bool
    subscription: Any = None
    tasks: TaskStates = field(default_factory=TaskStates)

    def messages(self) -> Generator[Message | None, None, None]:
        """Yield changes, and None in every second of silence."""
        try:
            yield None  # begun, so that what follows is done in any case
            if self.subscription is not None:
                yield self._acknowledgement()
            yield from self._changes()
            if self.subscription is not None:
                yield {"jsonrpc": "2.0", "id": self.subscription, "result": self._end()}
        finally:
            listening.give_back(self.listener)
            if self.subscription is not None:
                stop_listening(self.session)

    def _changes(self) -> Generator[Message | None, None, None]:
        ends_at = time.monotonic() + MOST_SECONDS
        tools, looked_at = self._digest_tools(), time.monotonic()
        while time.monotonic() < ends_at:
            message = self._next()
            yield self._addressed(message) if message and self._wants(message) else None
            for task in self.tasks.changed():
                yield self._addressed({"method": TASK_CHANGED, "params": task})
            if time.monotonic() - looked_at < _LOOK_SECONDS:
                continue
            if not self.endpoint.is_signed_in():
                return
            if self.watches:
                keep_listening(self.session)
                if not watcher_of(self.session):  # its worker has ended, or it may not any more
                    return
            before, tools, looked_at = tools, self._digest_tools(), time.monotonic()
            if tools != before:
                yield self._addressed({"method": LIST_CHANGED})

    def _next(self) -> Message | None:
        if not self.watches:
            time.sleep(_SILENCE_SECONDS)
            return None
        try:
            return next_change(self.session, _SILENCE_SECONDS)
        except (RedisError, OSError):
            time.sleep(_SILENCE_SECONDS)
            return None

    def _wants(self, message: Message) -> bool:
        field = _LISTS.get(message["method"])
        return bool(getattr(self.wanted, field)) if field else True

    def _digest_tools(self) -> bytes:
        """Return what the list of tools comes to for this caller, rights included."""
        if not self.wanted.tools_list_changed:
            return b""
        digest = digest_list(self.endpoint.list_tools())
        release_connection()
        return digest

    def _acknowledgement(self) -> Message:
        agreed = self.wanted.model_dump(by_alias=True, mode="json", exclude_none=True)
        agreed |= {"taskIds": self.tasks.names} if self.tasks.names else {}
        method = "notifications/subscriptions/acknowledged"
        return self._addressed({"method": method, "params": {"notifications": agreed}})

    def _addressed(self, message: Message) -> Message:
        params = dict(message.get("params") or {})
        if self.subscription is not None:
            params["_meta"] = {SUBSCRIPTION_ID_META_KEY: self.subscription}
        return {"jsonrpc": "2.0", "method": message["method"], "params": params}

    def _end(self) -> Message:
        return {
            "resultType": "complete",
            "_meta": {SUBSCRIPTION_ID_META_KEY: self.subscription},
        }


def listen(
    endpoint: Endpoint,
    session: str,
    filters: SubscriptionFilter,
    client: ClientSide,
    subscription: Any = None,
    tasks: TaskStates | None = None,
) -> ChangeStream:
    """Take a place and have the server watched. Raises CannotListenError, RequestFailedError."""
    listener, watches = endpoint.listener, SUBSCRIPTIONS in endpoint.features
    if listener is None or not listening.take(listener):
        raise CannotListenError("Too many streams are open. Close one, or try again later.")
    agreed = SubscriptionFilter(
        tools_list_changed=filters.tools_list_changed,
        prompts_list_changed=filters.prompts_list_changed if watches else None,
        resources_list_changed=filters.resources_list_changed if watches else None,
        resource_subscriptions=filters.resource_subscriptions if watches else None,
    )
    uris = list(agreed.resource_subscriptions or ())
    watches = watches and bool(uris or agreed.prompts_list_changed or agreed.resources_list_changed)
    try:
        if watches:
            endpoint.forward(LISTEN, {"session": session, "uris": uris}, client)
    except RequestFailedError:
        listening.give_back(listener)
        raise
    heard = tasks or TaskStates()
    return ChangeStream(endpoint, listener, session, agreed, watches, subscription, heard)


def begin(stream: ChangeStream) -> Generator[Message | None, None, None]:
    """Return the stream's messages, begun: what has to be done at its end is done then."""
    messages = stream.messages()
    next(messages)
    return messages
