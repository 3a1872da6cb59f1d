"""Pegboard's tools for an agent of Agno.

async with tools_for_turn(message, pegboard, user="alice") as turn:
    agent = Agent(model=model, instructions=turn.prompt, tools=turn.tools)
"""

from contextlib import AbstractAsyncContextManager
from typing import Any, Unpack

from agno.tools.function import Function

from pegboard_client.client_async import AsyncPegboard
from pegboard_client.frameworks.offered_tools import OfferedTool, Run, Turn, turn_for
from pegboard_client.options import Caller


def tools_for_turn(
    message: str,
    pegboard: AsyncPegboard,
    *,
    approval_wait: float = 0.0,
    **caller: Unpack[Caller],
) -> AbstractAsyncContextManager[Turn[Function]]:
    """Plan a turn; yield its tools and their prompt, and report its outcome afterwards.

    A call waits `approval_wait` seconds at most for a person's approval.
    """
    return turn_for(message, pegboard, _tool_of, approval_wait=approval_wait, **caller)


def _tool_of(tool: OfferedTool, run: Run) -> Function:
    async def call(**arguments: Any) -> str:
        return (await run(arguments)).text

    return Function(
        name=tool.name,
        description=tool.description,
        parameters=tool.parameters,
        entrypoint=call,
        skip_entrypoint_processing=True,  # its schema is the tool's, not the function's
    )
