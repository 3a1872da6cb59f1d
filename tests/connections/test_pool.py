"""The connection pool: reuse, limits, renewal, circuit breaker, and a shortened soak (REL-7)."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import anyio
import pytest
from pytest_django.fixtures import Settings

from acl.platform.redis_circuit import CircuitBreaker
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.client.targets import MB, ServerLimits
from catalog.servers.connections._policy import Policy
from catalog.servers.connections._session_pool import ConnectionPool, close_idle_forever
from lab.soak.soaking import GREEDY, MODES, Pace, soak
from tests.connections.evil_server import QUICK, server, text_of

IMPATIENT = Policy(
    failures=3, rest_seconds=60, turn_seconds=0.05, first_pause=0.001, longest_pause=0.002
)


def in_pool(
    ask: Callable[[ConnectionPool], Awaitable[Any]],
    policy: Policy = IMPATIENT,
    limits: ServerLimits = QUICK,
    **more: Any,
) -> Any:
    async def run() -> Any:
        connections = ConnectionPool(policy=policy, limits=limits, **more)
        try:
            return await ask(connections)
        finally:
            await connections.close_all()

    return asyncio.run(run())


async def reason_of(asked: Awaitable[Any]) -> Reason | None:
    try:
        await asked
    except ServerProblemError as problem:
        return problem.reason
    return None


def test_second_call_starts_nothing_and_a_changed_server_does() -> None:
    async def ask(connections: ConnectionPool) -> list[str]:
        asked = [("a", server()), ("a", server()), ("b", server()), ("a", server(TOKEN="new"))]
        answers = [await connections.call(key, which, "pid", {}) for key, which in asked]
        assert sorted(connections.open_keys()) == ["a", "b"]
        return [text_of(answer) for answer in answers]

    first, second, other, changed = in_pool(ask)

    assert first == second
    assert len({first, other, changed}) == 3


def test_many_at_once_open_one_connection() -> None:
    async def ask(connections: ConnectionPool) -> set[str]:
        calls = (connections.call("a", server(), "pid", {}) for _ in range(8))
        return {text_of(answer) for answer in await asyncio.gather(*calls)}

    assert len(in_pool(ask)) == 1


def test_idle_connection_ends_and_the_next_call_opens_another() -> None:
    async def ask(connections: ConnectionPool) -> tuple[str, str]:
        tidying = asyncio.create_task(close_idle_forever(connections))
        first = text_of(await connections.call("a", server(), "pid", {}))
        while connections.open_keys():
            await asyncio.sleep(0.01)
        second = text_of(await connections.call("a", server(), "pid", {}))
        tidying.cancel()
        return first, second

    first, second = in_pool(ask, Policy(idle_seconds=0.1))

    assert first != second


def test_server_that_ended_in_between_is_started_again() -> None:
    async def ask(connections: ConnectionPool) -> list[str]:
        answers = []
        for _ in range(3):
            answers.append(text_of(await connections.call("a", server("flap"), "echo", {})))
            while connections.open_keys():
                await asyncio.sleep(0.01)
        return answers

    assert in_pool(ask) == ["1: None"] * 3


def test_failing_server_rests_and_others_do_not() -> None:
    async def ask(connections: ConnectionPool) -> tuple[list[Reason | None], Reason | None]:
        reasons = [
            await reason_of(connections.call("bad", server("crash"), "echo", {})) for _ in range(4)
        ]
        return reasons, await reason_of(connections.call("good", server(), "echo", {}))

    reasons, good = in_pool(ask)

    assert reasons == [Reason.CRASHED] * 3 + [Reason.RESTING]
    assert good is None


def test_hanging_calls_fill_their_own_places_only() -> None:
    async def ask(connections: ConnectionPool) -> tuple[list[Reason | None], Reason | None]:
        hanging = [
            asyncio.create_task(
                reason_of(connections.call("bad", server("hang_at_call"), "echo", {}, seconds=1))
            )
            for _ in range(3)
        ]
        fine = await reason_of(connections.call("good", server(), "echo", {}))
        return await asyncio.gather(*hanging), fine

    reasons, fine = in_pool(ask, Policy(at_once=2, turn_seconds=0.05))

    assert sorted(filter(None, reasons)) == [Reason.BUSY, Reason.NO_ANSWER, Reason.NO_ANSWER]
    assert fine is None


def test_burst_of_calls_waits_for_its_turn() -> None:
    async def ask(connections: ConnectionPool) -> list[Reason | None]:
        calls = (reason_of(connections.call("a", server("slow"), "echo", {})) for _ in range(20))
        return await asyncio.gather(*calls)

    assert in_pool(ask, Policy(at_once=2)) == [None] * 20


def test_calls_that_wait_are_bounded() -> None:
    async def ask(connections: ConnectionPool) -> list[Reason | None]:
        calls = (reason_of(connections.call("a", server("slow"), "echo", {})) for _ in range(20))
        return await asyncio.gather(*calls)

    reasons = in_pool(ask, Policy(at_once=2, waiting=5))

    assert {None, Reason.BUSY} == set(reasons)
    assert reasons.count(None) >= 5


def test_call_that_reports_progress_lives_longer_up_to_a_bound(settings: Settings) -> None:
    settings.PEGBOARD_PROGRESS_SECONDS = 2

    async def ask(connections: ConnectionPool) -> list[Reason | None]:
        return [
            await reason_of(connections.call(mode, server(mode), "echo", {}, seconds=0.6))
            for mode in ("progress", "endless_progress", "hang_at_call")
        ]

    assert in_pool(ask, Policy()) == [None, Reason.NO_ANSWER, Reason.NO_ANSWER]


def test_notes_of_one_call_end_no_shared_connection() -> None:
    async def ask(connections: ConnectionPool) -> set[str]:
        tools = ("pid", *["echo"] * 4, "pid")  # five times what may be unsolicited in a minute
        answers = [await connections.call("a", server("many_notes"), tool, {}) for tool in tools]
        return {text_of(answers[0]), text_of(answers[-1])}

    assert len(in_pool(ask, Policy(), replace(QUICK, unsolicited_messages=900))) == 1


def test_stray_lines_count_per_minute_and_not_over_a_life(monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask(connections: ConnectionPool) -> set[str]:
        pids = set()
        for _ in range(7):  # 56 lines in a week; 20 in a minute end a program
            pids.add(text_of(await connections.call("a", server("strays"), "pid", {})))
            clock[0] += 24 * 3_600
        return pids

    clock = [0.0]
    now = anyio.current_time
    monkeypatch.setattr(anyio, "current_time", lambda: now() + clock[0])

    assert len(in_pool(ask, Policy(idle_seconds=1e9))) == 1


def test_eight_evil_servers_do_not_disturb_a_good_one() -> None:
    evil = {
        "hang_at_connect": Reason.NO_ANSWER,
        "hang_at_call": Reason.NO_ANSWER,
        "crash": Reason.CRASHED,
        "flap": None,
        "drip": Reason.NO_ANSWER,
        "garbage": Reason.WRONG_ANSWER,
        "flood": Reason.FLOODING,
        "huge": Reason.TOO_LARGE,
    }

    async def ask(connections: ConnectionPool) -> tuple[list[Reason | None], list[str]]:
        misbehaving = [
            asyncio.create_task(
                reason_of(connections.call(mode, server(mode), "echo", {}, seconds=2))
            )
            for mode in evil
        ]
        answers = []
        while not all(task.done() for task in misbehaving):
            answers.append(text_of(await connections.call("good", server(), "pid", {})))
            await asyncio.sleep(0.05)
        return await asyncio.gather(*misbehaving), answers

    reasons, answers = in_pool(ask, limits=replace(QUICK, connect_seconds=4))

    assert dict(zip(evil, reasons, strict=True)) == evil
    assert len(set(answers)) == 1  # one process answered all requests


def test_room_is_made_by_ending_the_one_idle_for_longest() -> None:
    async def ask(connections: ConnectionPool) -> list[str]:
        for key in ("first", "second", "third"):
            await connections.call(key, server(), "echo", {})
        return connections.open_keys()

    assert in_pool(ask, Policy(connections=2)) == ["second", "third"]


def test_changes_of_tools_are_told_by_key() -> None:
    told: list[str] = []

    async def ask(connections: ConnectionPool) -> None:
        await connections.call("a", server(), "change", {})
        for _ in range(200):
            if told:
                break
            await asyncio.sleep(0.01)

    in_pool(ask, changed=told.append)

    assert told == ["a"]


def test_connecting_is_not_tried_at_every_call() -> None:
    async def ask(connections: ConnectionPool) -> list[tuple[Reason, bool]]:
        told = []
        for _ in range(2):
            with pytest.raises(ServerProblemError) as problem:
                await connections.tools("bad", server("crash_at_start"))
            told.append((problem.value.reason, "ImportError" in problem.value.detail))
        return told

    assert in_pool(ask, Policy(first_pause=60)) == [(Reason.CRASHED, True)] * 2


def test_breaker_by_the_clock() -> None:
    breaker = CircuitBreaker(failures=3, within_seconds=30, rest_seconds=10)
    for moment in (0, 40, 50):
        breaker.failed(moment)
    assert breaker.allows(50)  # only two within half a minute

    breaker.failed(60)

    assert [breaker.allows(moment) for moment in (60, 69, 70, 70.1)] == [False, False, True, False]
    breaker.succeeded()
    assert breaker.allows(71)


def test_surroundings_of_two_servers_are_apart() -> None:
    async def ask(connections: ConnectionPool) -> list[Any]:
        calls = [connections.call(key, server(TOKEN=key), "surroundings", {}) for key in ("a", "b")]
        return [json.loads(text_of(answer)) for answer in await asyncio.gather(*calls)]

    first, second = in_pool(ask)

    assert (first["environment"]["TOKEN"], second["environment"]["TOKEN"]) == ("a", "b")
    assert first["folder"] != second["folder"]


SHORT = Pace(
    seconds=0.6,
    healthy_every=0.05,
    evil_every=0.05,
    evil_seconds=0.2,
    policy=Policy(failures=3, rest_seconds=60, first_pause=0.001, longest_pause=0.002),
    limits=replace(QUICK, connect_seconds=2, goodbye_seconds=0.1),
)
# A busy machine starts Python and reads a flood slowly: only who never answers gets little time.
PATIENT = replace(SHORT, limits=replace(SHORT.limits, connect_seconds=10))
LONG = replace(PATIENT, evil_seconds=30)
PACES = {"hang_at_connect": SHORT, "hang_at_call": PATIENT, "drip": PATIENT}
TIGHT = ServerLimits(connect_seconds=10, goodbye_seconds=0.1, memory_bytes=200 * MB, processes=30)
# A call may be told that the server is busy or backed off.
ALSO = {Reason.BUSY, Reason.RESTING, "answered"}


@pytest.mark.parametrize("mode", [*MODES, *GREEDY])
def test_evil_server_disturbs_no_other_and_leaves_nothing(mode: str) -> None:
    expected = {**MODES, **GREEDY}[mode]
    pace = PACES.get(mode, LONG)
    pace = replace(pace, limits=TIGHT) if mode in GREEDY else pace

    told = soak(mode, pace)

    assert told.healthy_failed == 0
    assert len(told.healthy_processes) == 1  # one process answered all calls
    assert len(told.healthy_ms) > 1
    assert told.left == 0
    if expected is None:
        assert told.evil["answered"]
    else:
        assert told.evil[expected]
        assert set(told.evil) <= {expected, *ALSO}
        assert not told.evil["answered"]
