"""The misbehaving server of these tests as a process, and limits that end it soon."""

import sys
from pathlib import Path

import psutil

from catalog.servers.client.mcp_session import ToolResult
from catalog.servers.client.targets import ServerLimits, StdioServer

EVIL = Path(__file__).with_name("evil.py")
QUICK = ServerLimits(
    connect_seconds=10,
    list_seconds=5,
    call_seconds=5,
    goodbye_seconds=0.3,
    unsolicited_messages=200,
)


def server(mode: str = "", **variables: str) -> StdioServer:
    return StdioServer((sys.executable, "-I", "-S", str(EVIL), mode), variables)


def text_of(result: ToolResult) -> str:
    return str(result.content[0]["text"])


def our_children() -> list[str]:
    return [child.name() for child in psutil.Process().children(recursive=True) if _is_ours(child)]


def _is_ours(process: psutil.Process) -> bool:
    """Exclude Postgres and Redis of the test run, which this process may have started."""
    try:
        return any("evil.py" in part or part == "sleep" for part in process.cmdline())
    except psutil.Error:
        return False
