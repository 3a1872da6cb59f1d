"""Pegboard's tools for an agent of Strands.

async with tools_for_turn(message, pegboard, user="alice") as turn:
    agent = Agent(model=model, system_prompt=turn.prompt, tools=turn.tools)
"""

from contextlib import AbstractAsyncContextManager
from typing import Any, Unpack

from strands.tools.tools import PythonAgentTool
from strands.types.tools import ToolResult, ToolUse

from pegboard_client.client_async import AsyncPegboard
from pegboard_client.frameworks.offered_tools import OfferedTool, Run, Turn, turn_for
from pegboard_client.options import Caller


def tools_for_turn(
    message: str,
    pegboard: AsyncPegboard,
    *,
    approval_wait: float = 0.0,
    **caller: Unpack[Caller],
) -> AbstractAsyncContextManager[Turn[PythonAgentTool]]:
    """Plan a turn; yield its tools and their prompt, and report its outcome afterwards.

    A call waits `approval_wait` seconds at most for a person's approval.
    """
    return turn_for(message, pegboard, _tool_of, approval_wait=approval_wait, **caller)


def _tool_of(tool: OfferedTool, run: Run) -> PythonAgentTool:
    async def call(tool_use: ToolUse, **_state: Any) -> ToolResult:
        ran = await run(tool_use["input"])
        return {
            "toolUseId": tool_use["toolUseId"],
            "status": "error" if ran.is_error else "success",
            "content": [{"text": ran.text}],
        }

    spec = {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": {"json": tool.parameters},
    }
    return PythonAgentTool(tool.name, spec, call)
