"""Pegboard's tools for agents of CrewAI, which run on threads: with the synchronous client.

with tools_for_turn(message, pegboard, user="alice") as turn:
    Task(description=message, expected_output="…", agent=agent, tools=turn.tools)
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Unpack

from crewai.tools import BaseTool
from pydantic import BaseModel, ConfigDict

from pegboard_client.client import Pegboard
from pegboard_client.frameworks.offered_tools import OfferedTool, Turn, offered_tools
from pegboard_client.options import Caller
from pegboard_client.tools import Ran


@contextmanager
def tools_for_turn(
    message: str, pegboard: Pegboard, *, approval_wait: float = 0.0, **caller: Unpack[Caller]
) -> Iterator[Turn[BaseTool]]:
    """Plan a turn; yield its tools and their prompt, and report its outcome afterwards.

    A call waits `approval_wait` seconds at most for a person's approval.
    """
    plan = pegboard.plan(message, format="openai", **caller)

    def run(name: str, arguments: dict[str, Any]) -> Ran:
        return pegboard.run_tool(plan, name, arguments, approval_wait=approval_wait, **caller)

    tools = [_tool_of(tool, partial(run, tool.name)) for tool in offered_tools(plan)]
    try:
        yield Turn(tools, plan["prompt"])
    except BaseException:
        if plan["turn_id"]:
            pegboard.outcome(plan["turn_id"], status="failed")
        raise
    if plan["turn_id"]:
        pegboard.outcome(plan["turn_id"])


def _tool_of(tool: OfferedTool, run: Callable[[dict[str, Any]], Ran]) -> BaseTool:
    class Arguments(BaseModel):
        """Any arguments, under the tool's own schema: Pegboard tells the model what is wrong."""

        model_config = ConfigDict(extra="allow")

        @classmethod
        def __get_pydantic_json_schema__(cls, *_derived: Any) -> dict[str, Any]:
            return tool.parameters

    class PegboardTool(BaseTool):
        def _run(self, **arguments: Any) -> str:
            return run(arguments).text

    # Its cache would answer a second call of equal arguments, which may be meant.
    return PegboardTool(
        name=tool.name,
        description=tool.description,
        args_schema=Arguments,
        cache_function=lambda _arguments, _result: False,
    )
