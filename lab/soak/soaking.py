"""Steady calls of a healthy server while another one misbehaves, and the results of both."""

import asyncio
import statistics
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field

import psutil

from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.client.targets import ServerLimits, StdioServer
from catalog.servers.connections._policy import Policy
from catalog.servers.connections._session_pool import ConnectionPool
from tests.connections.evil_server import server

# The expected error of each mode; None if it answers in between.
MODES: dict[str, Reason | None] = {
    "hang_at_connect": Reason.NO_ANSWER,
    "hang_at_call": Reason.NO_ANSWER,
    "crash": Reason.CRASHED,
    "flap": None,
    "drip": Reason.NO_ANSWER,
    "garbage": Reason.WRONG_ANSWER,
    "flood": Reason.FLOODING,
    "huge": Reason.TOO_LARGE,
}
# In addition to the eight: misbehaviour towards the machine.
GREEDY: dict[str, Reason | None] = {
    "grows": Reason.TOO_MUCH_MEMORY,
    "forks": Reason.TOO_MANY_PROCESSES,
}
MB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Pace:
    """Duration, rate, and timeout."""

    seconds: float = 60.0
    healthy_every: float = 0.2
    evil_every: float = 0.2
    evil_seconds: float = 2.0
    policy: Policy = field(default_factory=Policy)
    limits: ServerLimits = field(default_factory=lambda: ServerLimits(connect_seconds=5.0))


@dataclass(slots=True)
class Soaked:
    """The results. `left` counts processes that outlived their connections."""

    healthy_ms: list[float] = field(default_factory=list)
    healthy_failed: int = 0
    healthy_processes: set[str] = field(default_factory=set)
    evil: Counter[str] = field(default_factory=Counter)
    rests: bool = False
    grown: float = 0.0
    left: int = 0

    def p95(self) -> float:
        """Return the healthy server's p95 in milliseconds."""
        return statistics.quantiles(self.healthy_ms, n=20)[-1]


def soak(mode: str | None, pace: Pace) -> Soaked:
    """Run one mode; None runs the healthy server alone."""
    told, before, others = Soaked(), _resident(), set(_children())
    asyncio.run(_soak(mode, pace, told))
    told.grown = (_resident() - before) / MB
    _, alive = psutil.wait_procs(set(_children()) - others, timeout=5)
    told.left = len(alive)
    return told


async def _soak(mode: str | None, pace: Pace, told: Soaked) -> None:
    connections = ConnectionPool(policy=pace.policy, limits=pace.limits)
    try:
        await connections.call("healthy", server(), "pid", {})
        steady = [_steadily(lambda: _call_healthy(connections, told), pace.healthy_every, pace)]
        if mode is not None:
            evil = server(mode)
            steady.append(
                _steadily(lambda: _call_evil(connections, evil, pace, told), pace.evil_every, pace)
            )
        await asyncio.gather(*steady)
        told.rests = mode is not None and await _rests(connections, server(mode))
    finally:
        await connections.close_all()


async def _steadily(
    call: Callable[[], Coroutine[None, None, None]], every: float, pace: Pace
) -> None:
    """Start a call at each tick, even if the previous one is still running."""
    running, until = [], time.monotonic() + pace.seconds
    while time.monotonic() < until:
        running.append(asyncio.create_task(call()))
        await asyncio.sleep(every)
    await asyncio.gather(*running)


async def _call_healthy(connections: ConnectionPool, told: Soaked) -> None:
    started = time.perf_counter()
    try:
        answer = await connections.call("healthy", server(), "pid", {})
    except ServerProblemError:
        told.healthy_failed += 1
        return
    told.healthy_ms.append((time.perf_counter() - started) * 1000)
    told.healthy_processes.add(str(answer.content[0]["text"]))


async def _call_evil(
    connections: ConnectionPool, evil: StdioServer, pace: Pace, told: Soaked
) -> None:
    try:
        await connections.call("evil", evil, "echo", {}, seconds=pace.evil_seconds)
    except ServerProblemError as problem:
        told.evil[problem.reason] += 1
    else:
        told.evil["answered"] += 1


async def _rests(connections: ConnectionPool, evil: StdioServer) -> bool:
    """Return True if the misbehaving server is not asked now."""
    try:
        await connections.call("evil", evil, "echo", {}, seconds=0.1)
    except ServerProblemError as problem:
        return problem.reason == Reason.RESTING
    return False


def _resident() -> int:
    return int(psutil.Process().memory_info().rss)


def _children() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)
