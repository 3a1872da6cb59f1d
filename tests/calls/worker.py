"""The worker's part of a call, for tests that never commit."""

from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any
from unittest.mock import patch
from uuid import UUID

from catalog.servers.connections.server_requests import begin_call
from discovery.calls import worker

SECONDS = 30


class _Handed:
    """A pool of no threads: it keeps the work for this thread, whose rows no other one sees."""

    def __init__(self) -> None:
        self.work: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def submit(self, work: Callable[..., None], *arguments: Any) -> None:
        self.work.put(partial(work, *arguments))


def run_call(pk: UUID) -> None:
    """Send a call as the listener does, and store its answer in this thread."""
    sent: list[Any] = []
    handed = _Handed()

    def note(*arguments: Any, **more: Any) -> Any:
        sent.append(begin_call(*arguments, **more))
        return sent[-1]

    with patch.multiple(worker, begin_call=note, _storing=handed):
        worker.start_call(pk)
        if sent:
            handed.work.get(timeout=SECONDS)()
