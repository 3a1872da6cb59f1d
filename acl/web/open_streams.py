"""The number of this process's open streams, in all and for each person."""

import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from django.http import StreamingHttpResponse

from acl.platform.strict_json import write_json

# A stream lends a thread to the web server (marketplace/operate/embedded/_reception.py).
MOST, MOST_OF_ONE = 16, 3


class OpenStreams:
    """Places for streams. Beyond them, calls are answered without a stream."""

    def __init__(self, most: int = MOST, most_of_one: int = MOST_OF_ONE) -> None:
        self._most, self._most_of_one = most, most_of_one
        self._lock = threading.Lock()
        self._held: Counter[int] = Counter()

    def take(self, user_id: int) -> bool:
        """Take a place; return False if there is none."""
        with self._lock:
            if self._held.total() >= self._most or self._held[user_id] >= self._most_of_one:
                return False
            self._held[user_id] += 1
            return True

    def give_back(self, user_id: int) -> None:
        """Give a place back."""
        with self._lock:
            self._held[user_id] -= 1
            self._held += Counter()  # drops those without any


open_streams = OpenStreams()


# Messages as server-sent events.

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
