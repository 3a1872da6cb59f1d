"""The worker's part of a call, for tests that never commit."""

from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from typing import Any
from unittest.mock import patch
from uuid import UUID

from catalog.built_ins.registry import run_built_in
from catalog.servers.client.mcp_session import ToolResult
from catalog.servers.client.server_problems import ServerProblemError
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

    def run(full_name: str, arguments: Any, *, user_id: int | None) -> Future[ToolResult]:
        done: Future[ToolResult] = Future()
        sent.append(done)
        try:
            done.set_result(run_built_in(full_name, arguments, user_id=user_id))
        except ServerProblemError as problem:
            done.set_exception(problem)
        return done

    with patch.multiple(worker, begin_call=note, begin_built_in=run, _storing=handed):
        worker.start_call(pk)
        if sent:
            handed.work.get(timeout=SECONDS)()
