"""Messages as server-sent events."""

from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from django.http import StreamingHttpResponse

from acl.platform.strict_json import write_json

EVENTS = "text/event-stream"
# The WSGI server's, which starts another thread while one holds a stream open.
LEND_THREAD = "pegboard.lend_thread"
_SILENCE = ": \n\n"  # a comment, by which a lost client is noticed


def write_event(message: Any) -> str:
    """Return a message as an event, and None as silence."""
    return _SILENCE if message is None else f"event: message\ndata: {write_json(message)}\n\n"


def answer_with_events(
    messages: Generator[Any, None, None], environ: dict[str, Any]
) -> StreamingHttpResponse:
    """Answer a request, whose `environ` it is, with messages as they come; None is silence."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    stream = EventStream(messages, environ)
    return StreamingHttpResponse(stream, content_type=EVENTS, headers=headers)


class EventStream:
    """The body of a streamed answer; `environ` is the request's."""

    def __init__(self, messages: Generator[Any, None, None], environ: dict[str, Any]) -> None:
        self._messages = messages
        self._lend: Callable[[], AbstractContextManager[object]]
        self._lend = environ.get(LEND_THREAD, nullcontext)

    def __iter__(self) -> Iterator[str]:
        with self._lend():
            for message in self._messages:
                yield write_event(message)

    def close(self) -> None:
        """End the stream, also if nobody has begun to read it."""
        self._messages.close()
