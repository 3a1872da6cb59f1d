"""Toolset of Pydantic AI that offers what fits each run's message.

agent = Agent(model, toolsets=[PegboardToolset(pegboard, user="alice")])
"""

from typing import Any, Unpack

from pydantic_ai import RunContext, ToolFailed
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from pegboard_client.answers import Plan
from pegboard_client.client_async import AsyncPegboard
from pegboard_client.frameworks.offered_tools import offered_tools
from pegboard_client.options import Caller

# Pegboard checks arguments, and its answer tells the model what is wrong with them.
_ANY_ARGUMENTS = SchemaValidator(core_schema.dict_schema(core_schema.str_schema()))


class PegboardToolset(AbstractToolset[Any]):
    """Tools that fit a run's message: one turn a run, whose outcome is reported at its end.

    A call waits `approval_wait` seconds at most for a person's approval.
    """

    def __init__(
        self, pegboard: AsyncPegboard, *, approval_wait: float = 0.0, **caller: Unpack[Caller]
    ) -> None:
        self._pegboard, self._approval_wait, self._caller = pegboard, approval_wait, caller
        self._plan: Plan | None = None

    @property
    def id(self) -> str:
        """Name the toolset, for runs that are resumed."""
        return "pegboard"

    async def for_run(self, ctx: RunContext[Any]) -> "PegboardToolset":
        """Return a toolset with a turn of its own."""
        return PegboardToolset(self._pegboard, approval_wait=self._approval_wait, **self._caller)

    async def get_instructions(self, ctx: RunContext[Any]) -> str:
        """Return Pegboard's prompt for these tools."""
        return (await self._planned(ctx))["prompt"]

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """Return the tools that fit the run's message."""
        return {
            tool.name: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=tool.name,
                    description=tool.description,
                    parameters_json_schema=tool.parameters,
                ),
                max_retries=1,
                args_validator=_ANY_ARGUMENTS,
            )
            for tool in offered_tools(await self._planned(ctx))
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> str:
        """Call a tool; raise ToolFailed with text for the model."""
        ran = await self._pegboard.run_tool(
            await self._planned(ctx),
            name,
            tool_args,
            approval_wait=self._approval_wait,
            **self._caller,
        )
        if ran.is_error:
            raise ToolFailed(ran.text)
        return ran.text

    async def __aexit__(self, *error: Any) -> None:
        """Report the turn's outcome, which Pegboard infers from the calls of a run that ended."""
        plan, self._plan = self._plan, None
        if plan is None or not plan["turn_id"]:
            return
        if error and error[0] is not None:
            await self._pegboard.outcome(plan["turn_id"], status="failed")
        else:
            await self._pegboard.outcome(plan["turn_id"])

    async def _planned(self, ctx: RunContext[Any]) -> Plan:
        if self._plan is None:
            self._plan = await self._pegboard.plan(_text_of(ctx), format="openai", **self._caller)
        return self._plan


def _text_of(ctx: RunContext[Any]) -> str:
    """Return the words of a prompt, which may hold images, too."""
    prompt = ctx.prompt or ""
    if isinstance(prompt, str):
        return prompt
    return "\n".join(part for part in prompt if isinstance(part, str))
