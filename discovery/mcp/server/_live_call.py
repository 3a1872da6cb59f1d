"""A call whose client hears of it while it runs: the answer is a stream of messages."""

from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User

from acl.rights.delegation.authority import KeyHolder, person_behind
from acl.web.open_streams import open_streams
from catalog.formats.descriptors import JSONObject
from discovery.calls.channel import send_answer, send_cancellation, send_gone, waiting_questions
from discovery.calls.execution import BegunCall
from discovery.calls.queries import TooLateError, cancel_call, find_call, has_made
from discovery.calls.state import STOPPED_BY_CLIENT
from discovery.calls.waiting import follow_messages
from discovery.mcp.server._client_side import ClientSide
from discovery.models import Call

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
