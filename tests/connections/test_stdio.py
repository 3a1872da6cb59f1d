"""Servers on standard streams, and all their misbehaviour."""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from catalog.servers.client.mcp_session import Session
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.client.targets import ServerLimits, StdioServer
from tests.connections.evil_server import QUICK, our_children, server, text_of


def with_session(
    mode: str, ask: Callable[[Session], Awaitable[Any]], limits: ServerLimits = QUICK, **more: Any
) -> Any:
    """Open a session, use it, close it, as a worker does."""

    async def run() -> Any:
        session = Session(server(mode), limits=limits, **more)
        try:
            await session.open()
            return await ask(session)
        finally:
            await session.close()

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("mode", "protocol"),
    [
        ("", "2025-11-25"),
        ("old", "2024-11-05"),
        ("modern", "2026-07-28"),
        ("dies_of_discover", "2025-11-25"),
    ],
)
def test_speaks_every_generation(mode: str, protocol: str) -> None:
    async def ask(session: Session) -> None:
        tools = await session.tools()
        first = await session.call("echo", {"text": "hello"})
        second = await session.call("echo", {"text": "again"})

        assert session.protocol == protocol
        assert [tool["name"] for tool in tools.tools] == ["echo"]
        assert tools.tools[0]["annotations"] == {"readOnlyHint": True}
        assert [text_of(first), text_of(second)] == ["1: hello", "2: again"]  # one process

    with_session(mode, ask)


def test_hears_that_tools_changed() -> None:
    heard: list[bool] = []

    async def ask(session: Session) -> None:
        await session.call("change", {})
        for _ in range(200):
            if heard:
                break
            await asyncio.sleep(0.01)

    with_session("", ask, on_tools_changed=lambda: heard.append(True))

    assert heard == [True]


@pytest.mark.parametrize(
    ("mode", "limits", "reason"),
    [
        ("hang_at_connect", replace(QUICK, connect_seconds=0.5), Reason.NO_ANSWER),
        ("hang_at_call", replace(QUICK, call_seconds=0.3), Reason.NO_ANSWER),
        ("crash", QUICK, Reason.CRASHED),
        ("crash_at_start", QUICK, Reason.CRASHED),
        ("drip", replace(QUICK, call_seconds=0.3), Reason.NO_ANSWER),
        ("garbage", QUICK, Reason.WRONG_ANSWER),
        ("infinite", QUICK, Reason.WRONG_ANSWER),
        ("twice", QUICK, Reason.WRONG_ANSWER),
        ("flood", QUICK, Reason.FLOODING),
        ("huge", QUICK, Reason.TOO_LARGE),
        ("grows", replace(QUICK, memory_bytes=100 * 1024 * 1024), Reason.TOO_MUCH_MEMORY),
        ("forks", replace(QUICK, processes=20), Reason.TOO_MANY_PROCESSES),
        ("bomb", replace(QUICK, processes=20), Reason.TOO_MANY_PROCESSES),
        ("writes", replace(QUICK, file_bytes=1024 * 1024), Reason.CRASHED),
        ("spins", replace(QUICK, cpu_seconds=1), Reason.CRASHED),
    ],
)
def test_evil_server_is_told_apart_and_leaves_nothing(
    mode: str, limits: ServerLimits, reason: Reason
) -> None:
    with pytest.raises(ServerProblemError) as problem:
        with_session(mode, lambda session: session.call("echo", {}), limits)

    assert problem.value.reason is reason
    # A sent call may have happened; an unreachable server did nothing.
    assert problem.value.sent is (
        mode
        not in ("hang_at_connect", "crash_at_start", "grows", "forks", "bomb", "writes", "spins")
    )
    assert our_children() == []


def test_last_words_are_kept_without_secrets() -> None:
    with pytest.raises(ServerProblemError) as problem:
        with_session("crash_at_start", lambda session: session.tools())

    assert "ImportError" in problem.value.detail
    assert "exit code 1" in problem.value.detail
    assert "canary" not in problem.value.detail


def test_flapping_server_answers_each_time_before_it_ends() -> None:
    async def ask(session: Session) -> ServerProblemError:
        assert text_of(await session.call("echo", {"text": "x"})) == "1: x"
        while session.is_open:
            await asyncio.sleep(0.01)
        with pytest.raises(ServerProblemError) as problem:
            await session.call("echo", {})
        return problem.value

    assert with_session("flap", ask).reason is Reason.CRASHED


def test_call_that_hangs_costs_only_itself() -> None:
    async def ask(session: Session) -> None:
        with pytest.raises(ServerProblemError):
            await session.call("echo", {}, seconds=0.2)
        assert [tool["name"] for tool in (await session.tools()).tools] == ["echo"]

    with_session("hang_at_call", ask)


def test_lists_have_limits() -> None:
    many = with_session("too_many_tools", lambda session: session.tools())
    endless = with_session("endless_list", lambda session: session.tools())
    deep = with_session("deep", lambda session: session.tools(), replace(QUICK, garbage_lines=0))

    assert (len(many.tools), bool(many.left_out)) == (1_000, True)
    assert (len(endless.tools), bool(endless.left_out)) == (QUICK.pages, True)
    assert (deep.tools, [defect.tool for defect in deep.defects]) == ([], ["tools[0]"])


def test_server_gets_nothing_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_OF_WORKER", "1")

    async def run() -> dict[str, Any]:
        session = Session(server("", TOKEN="its own"), limits=QUICK)
        await session.open()
        told = json.loads(text_of(await session.call("surroundings", {})))
        await session.close()
        return dict(told)

    told = asyncio.run(run())

    assert told["environment"].keys() - {"LC_CTYPE"} == {
        "LANG",
        "LC_ALL",
        "PATH",
        "HOME",
        "TMPDIR",
        "TOKEN",
    }
    assert told["folder"] == told["environment"]["HOME"]
    assert len(told["descriptors"]) == 4  # the streams, and the directory of descriptors itself
    assert not Path(told["folder"]).exists()


def test_nothing_survives_the_end_of_a_session() -> None:
    async def ask(session: Session) -> list[int]:
        return list(json.loads(text_of(await session.call("escape", {}))))

    server_pid, runaway, orphan = with_session("", ask)

    assert [pid for pid in (server_pid, runaway, orphan) if psutil.pid_exists(pid)] == []


def test_nothing_survives_a_worker_that_is_killed() -> None:
    """The keeper is signalled when its parent dies, and the server when its keeper ends."""
    script = (
        "import asyncio, os, sys; sys.path.insert(0, os.getcwd())\n"
        "from django.conf import settings\n"
        "settings.configure(PEGBOARD_VERSION='1', PEGBOARD_PROGRESS_SECONDS=1)\n"
        "from catalog.servers.client.targets import StdioServer\n"
        "from catalog.servers.client.mcp_session import Session\n"
        "async def run():\n"
        f"    session = Session(StdioServer({server().command!r}))\n"
        "    await session.open()\n"
        "    result = await session.call('escape', {})\n"
        "    print(result.content[0]['text'], flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
        "asyncio.run(run())\n"
    )

    async def run() -> list[int]:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE, env=dict(os.environ)
        )
        told, _ = await process.communicate()
        return list(json.loads(told))

    pids = asyncio.run(run())

    _, still_there = psutil.wait_procs(
        [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)], timeout=60
    )
    assert len(pids) == 3
    assert still_there == []


def test_command_that_is_not_there_is_told() -> None:
    async def run() -> None:
        await Session(StdioServer(("/nowhere/server",)), limits=QUICK).open()

    with pytest.raises(ServerProblemError) as problem:
        asyncio.run(run())

    assert problem.value.reason is Reason.CANNOT_START
