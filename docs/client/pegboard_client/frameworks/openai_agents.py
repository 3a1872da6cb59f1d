"""Pegboard's tools for an agent of the OpenAI Agents SDK.

async with tools_for_turn(agent, message, pegboard, user="alice") as equipped:
    result = await Runner.run(equipped, message)
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Unpack

from agents import Agent, FunctionTool, RunContextWrapper
from agents.tool_context import ToolContext

from pegboard_client.client_async import AsyncPegboard
from pegboard_client.frameworks.offered_tools import OfferedTool, Run, turn_for
from pegboard_client.options import Caller


@asynccontextmanager
async def tools_for_turn(
    agent: Agent[Any],
    message: str,
    pegboard: AsyncPegboard,
    *,
    approval_wait: float = 0.0,
    **caller: Unpack[Caller],
) -> AsyncIterator[Agent[Any]]:
    """Yield the agent with the tools that fit the message; report the turn's outcome afterwards.

    A call waits `approval_wait` seconds at most for a person's approval.
    """
    async with turn_for(message, pegboard, _tool_of, approval_wait=approval_wait, **caller) as turn:
        yield agent.clone(
            tools=[*agent.tools, *turn.tools], instructions=_instructions_of(agent, turn.prompt)
        )


def _tool_of(tool: OfferedTool, run: Run) -> FunctionTool:
    async def call(_context: ToolContext[Any], arguments: str) -> str:
        return (await run(json.loads(arguments or "{}"))).text

    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=tool.parameters,
        on_invoke_tool=call,
        strict_json_schema=False,  # Pegboard tells the model what is wrong with arguments
    )


def _instructions_of(agent: Agent[Any], prompt: str) -> Any:
    """Return the agent's instructions followed by Pegboard's prompt for its tools."""
    own = agent.instructions
    if own is None or isinstance(own, str):
        return "\n\n".join(text for text in (own, prompt) if text)

    async def both(context: RunContextWrapper[Any], of_agent: Agent[Any]) -> str:
        text = await agent.get_system_prompt(context)
        return "\n\n".join(each for each in (text, prompt) if each)

    return both
