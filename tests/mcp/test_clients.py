"""Real clients over real HTTP: the official SDK in both generations, and the npm one."""

import asyncio
import json
import subprocess
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from django.test import override_settings
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from discovery.metatools import META_TOOLS
from tests.access.people import People, invite
from tests.factories import CapabilityFactory, IntegrationFactory, give
from tests.mcp.conftest import key_of
from tests.mcp.node_client import FOLDER, NODE, SDK

pytestmark = pytest.mark.processes


@pytest.fixture
def people(transactional_db: None, settings: Settings) -> People:
    """Alice and others; a server of her group has more tools than a list takes."""
    settings.PEGBOARD_MCP_TOOLS = 1
    settings.PEGBOARD_CALL_WAIT_SECONDS = 0  # no worker comes
    people = invite()
    hub = IntegrationFactory.create(slug="hub", transport="http", connection="connected")
    give(hub, people.support)
    for action in ("merge", "fetch"):
        CapabilityFactory.create(integration=hub, action=action, description=f"{action} code")
    return people


@pytest.fixture
def address(live_server: LiveServer) -> Iterator[str]:
    with override_settings(ALLOWED_HOSTS=["*"]):
        yield f"{live_server.url}/mcp"


async def _drive(address: str, key: str, mode: Any) -> dict[str, Any]:
    heard: list[str] = []

    async def hear(message: Any) -> None:
        heard.append(message.method)

    headers = {"Authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(headers=headers, timeout=180, trust_env=False) as http:
        transport = streamable_http_client(address, http_client=http)
        async with Client(transport, mode=mode, message_handler=hear) as client:
            return {
                "version": client.protocol_version,
                "tools": [tool.name for tool in (await client.list_tools()).tools],
                "found": await client.call_tool("get_tool", {"name": "gmail__send_email"}),
                "foreign": await client.call_tool("get_tool", {"name": "payroll__pay"}),
                "executed": await client.call_tool(
                    "execute_tool", {"name": "gmail__send_email", "arguments": {"to": "bob"}}
                ),
                "searched": await client.call_tool("search_tools", {"query": "merge code"}),
                "called": await client.call_tool(
                    "execute_tool", {"name": "hub__merge", "arguments": {}}
                ),
                "direct": await client.call_tool("hub__merge", {}),
                "again": [tool.name for tool in (await client.list_tools()).tools],
                "announced": client.server_capabilities.tools,
                "heard": heard,
            }


@pytest.mark.parametrize(
    ("mode", "version"),
    [("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")],
)
def test_official_client_finds_and_calls(
    people: People, address: str, mode: str, version: str
) -> None:
    told = asyncio.run(_drive(address, key_of(people), mode))

    assert told["version"] == version
    assert told["tools"] == list(META_TOOLS)
    assert told["found"].structured_content["name"] == "gmail__send_email"
    assert told["foreign"].is_error
    assert told["executed"].structured_content["status"] == "client_executes"
    assert mode == version or told["announced"].list_changed  # a pinned version is not asked about
    found = [row["name"] for row in told["searched"].structured_content["tools"]]
    assert "hub__merge" in found
    assert (told["again"], told["heard"]) == (told["tools"], [])  # a search changes no list
    assert told["called"].structured_content["status"] == "running"  # found, called by its name
    assert "get_call" in told["direct"].content[0].text


def test_client_from_npm_finds_and_calls(people: People, address: str) -> None:
    if not SDK.is_dir():
        pytest.skip("npm could not fetch its client: run `make install-tests` with a registry")

    done = subprocess.run(  # noqa: S603 - our own script
        [NODE, FOLDER / "client.mjs", address, key_of(people)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["server"], told["tools"]) == ("pegboard", list(META_TOOLS))
    assert told["found"]["structuredContent"]["name"] == "gmail__send_email"
    assert told["foreign"]["isError"]
    assert told["executed"]["structuredContent"]["arguments"] == {"to": "bob"}
    assert (told["again"], told["heard"]) == (told["tools"], [])
    assert told["called"]["structuredContent"]["status"] == "running"
    assert "get_call" in told["direct"]["content"][0]["text"]
