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

from pegboard_client.answers import Plan
from pegboard_client.client_async import AsyncPegboard
from pegboard_client.frameworks.offered_tools import OfferedTool, offered_tools
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
    plan = await pegboard.plan(message, format="openai", **caller)
    calls = _Calls(pegboard, plan, approval_wait, caller)
    try:
        yield agent.clone(
            tools=[*agent.tools, *(calls.tool_of(tool) for tool in offered_tools(plan))],
            instructions=_instructions_of(agent, plan),
        )
    except BaseException:
        await _report(pegboard, plan, failed=True)
        raise
    await _report(pegboard, plan, failed=False)


class _Calls:
    def __init__(
        self, pegboard: AsyncPegboard, plan: Plan, approval_wait: float, caller: Caller
    ) -> None:
        self._pegboard, self._plan = pegboard, plan
        self._approval_wait, self._caller = approval_wait, caller

    def tool_of(self, tool: OfferedTool) -> FunctionTool:
        async def call(_context: ToolContext[Any], arguments: str) -> str:
            ran = await self._pegboard.run_tool(
                self._plan,
                tool.name,
                json.loads(arguments or "{}"),
                approval_wait=self._approval_wait,
                **self._caller,
            )
            return ran.text

        return FunctionTool(
            name=tool.name,
            description=tool.description,
            params_json_schema=tool.parameters,
            on_invoke_tool=call,
            strict_json_schema=False,  # Pegboard tells the model what is wrong with arguments
        )


def _instructions_of(agent: Agent[Any], plan: Plan) -> Any:
    """Return the agent's instructions followed by Pegboard's prompt for its tools."""
    own = agent.instructions
    if own is None or isinstance(own, str):
        return "\n\n".join(text for text in (own, plan["prompt"]) if text)

    async def both(context: RunContextWrapper[Any], of_agent: Agent[Any]) -> str:
        text = await agent.get_system_prompt(context)
        return "\n\n".join(each for each in (text, plan["prompt"]) if each)

    return both


async def _report(pegboard: AsyncPegboard, plan: Plan, *, failed: bool) -> None:
    if not plan["turn_id"]:
        return
    if failed:
        await pegboard.outcome(plan["turn_id"], status="failed")
    else:
        await pegboard.outcome(plan["turn_id"])  # inferred from the calls
