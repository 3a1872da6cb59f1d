"""Tools that their server answers as tasks only, of npm's SDK."""

import asyncio
from dataclasses import replace

import pytest

from catalog.servers.client.mcp_session import Session
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.client.targets import DEFAULT_LIMITS, StdioServer
from tests.connections.evil_server import text_of
from tests.mcp.node_client import FOLDER, NODE, SDK


def test_task_is_polled_read_and_cancelled_at_the_calls_limit() -> None:
    if not SDK.is_dir():
        pytest.skip("npm could not fetch its server: run `make install-tests` with a registry")

    async def run() -> None:
        server = StdioServer((str(NODE), str(FOLDER / "task_server.mjs")), {})
        session = Session(server, limits=replace(DEFAULT_LIMITS, connect_seconds=60))
        await session.open()
        try:
            computed = await session.call("compute", {})
            failed = await session.call("fail", {})
            with pytest.raises(ServerProblemError) as given_up:
                await session.call("never", {}, seconds=3)
            statuses = await session.call("statuses", {})  # which is no task
        finally:
            await session.close()

        assert (text_of(computed), computed.is_error) == ("computed", False)
        assert (text_of(failed), failed.is_error) == ("failed", True)
        assert (given_up.value.reason, given_up.value.sent) == (Reason.NO_ANSWER, True)
        assert text_of(statuses) == "completed failed cancelled"

    asyncio.run(run())
