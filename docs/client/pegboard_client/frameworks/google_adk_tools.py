"""Pegboard's tools for an agent of Google's Agent Development Kit.

async with tools_for_turn(message, pegboard, user="alice") as turn:
    agent = Agent(name="clerk", model=model, instruction=turn.prompt, tools=turn.tools)
"""

from contextlib import AbstractAsyncContextManager
from typing import Any, Unpack

from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai.types import FunctionDeclaration

from pegboard_client.client_async import AsyncPegboard
from pegboard_client.frameworks.offered_tools import OfferedTool, Run, Turn, turn_for
from pegboard_client.options import Caller


def tools_for_turn(
    message: str,
    pegboard: AsyncPegboard,
    *,
    approval_wait: float = 0.0,
    **caller: Unpack[Caller],
) -> AbstractAsyncContextManager[Turn[BaseTool]]:
    """Plan a turn; yield its tools and their prompt, and report its outcome afterwards.

    A call waits `approval_wait` seconds at most for a person's approval.
    """
    return turn_for(message, pegboard, _PegboardTool, approval_wait=approval_wait, **caller)


class _PegboardTool(BaseTool):
    def __init__(self, tool: OfferedTool, run: Run) -> None:
        super().__init__(name=tool.name, description=tool.description)
        self._tool, self._run = tool, run

    def _get_declaration(self) -> FunctionDeclaration:
        return FunctionDeclaration(
            name=self.name,
            description=self.description,
            parameters_json_schema=self._tool.parameters,
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        ran = await self._run(args)
        return {"error" if ran.is_error else "result": ran.text}
