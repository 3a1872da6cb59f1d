"""Stream of changes for the page of the log of calls.

It says only that something has changed: the page then reads its calls again, with the rights of
that moment.
"""

import time
from collections.abc import Callable, Generator
from typing import Any

from django.db.models import QuerySet

from acl.web.open_streams import OpenStreams
from discovery.calls.log import PAGE
from discovery.models import Call

# Places of this process, beside those of assistants.
log_streams = OpenStreams(most=8, most_of_one=2)
MOST_SECONDS = 900  # the browser opens the next one then
_LOOK_SECONDS = 1.0
_ANYWAY_SECONDS = 30  # a right that was taken away changes no call
CHANGED = {"changed": True}

Mark = tuple[Any, ...]


def mark_of(calls: QuerySet[Call]) -> Mark:
    """Return what differs as soon as the first page of the log does."""
    newest = calls.order_by("-created_at", "-pk").values_list("pk", "state")[:PAGE]
    return int(time.monotonic() // _ANYWAY_SECONDS), *newest


def follow_log(
    look: Callable[[], Mark | None], place: int
) -> Generator[dict[str, Any] | None, None, None]:
    """Yield CHANGED at first and after each change, and None in every second of silence.

    It ends after `look` returns None: the log may no longer be read, which the page hears as a
    change, too. `place` was taken of `log_streams`, and is given back.
    """
    try:
        yield None  # begun, so that what follows is done in any case
        yield CHANGED  # the page may be older than the stream
        before, ends_at = look(), time.monotonic() + MOST_SECONDS
        while before is not None and time.monotonic() < ends_at:
            time.sleep(_LOOK_SECONDS)
            now = look()
            yield None if now == before else CHANGED
            before = now
    finally:
        log_streams.give_back(place)
