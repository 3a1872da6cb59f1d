"""Tools of a plan, as every library wants them: a name, a description, a schema and a call."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar, Unpack

from pegboard_client.answers import Offer
from pegboard_client.client_async import AsyncPegboard
from pegboard_client.options import Caller
from pegboard_client.tools import Ran


@dataclass(frozen=True)
class OfferedTool:
    """Name, description and parameters (a JSON Schema) of a tool that a model may call."""

    name: str
    description: str
    parameters: dict[str, Any]


def offered_tools(offer: Offer) -> Iterator[OfferedTool]:
    """Return the tools of a plan or selection that was asked for in the format `openai`."""
    for tool in offer["tools"] or ():
        function: Mapping[str, Any] = tool["function"]
        yield OfferedTool(
            name=function["name"],
            description=function.get("description", ""),
            parameters=function.get("parameters") or {"type": "object", "properties": {}},
        )


Tool = TypeVar("Tool")
Arguments = dict[str, Any]
Run = Callable[[Arguments], Awaitable[Ran]]


@dataclass(frozen=True)
class Turn(Generic[Tool]):
    """A turn's tools, as a library has them, and Pegboard's prompt for them."""

    tools: list[Tool]
    prompt: str


@asynccontextmanager
async def turn_for(
    message: str,
    pegboard: AsyncPegboard,
    make: Callable[[OfferedTool, Run], Tool],
    *,
    approval_wait: float,
    **caller: Unpack[Caller],
) -> AsyncIterator[Turn[Tool]]:
    """Plan a turn and yield its tools; report its outcome, inferred from the calls, afterwards."""
    plan = await pegboard.plan(message, format="openai", **caller)

    async def run(name: str, arguments: Arguments) -> Ran:
        return await pegboard.run_tool(plan, name, arguments, approval_wait=approval_wait, **caller)

    tools = [make(tool, partial(run, tool.name)) for tool in offered_tools(plan)]
    try:
        yield Turn(tools, plan["prompt"])
    except BaseException:
        if plan["turn_id"]:
            await pegboard.outcome(plan["turn_id"], status="failed")
        raise
    if plan["turn_id"]:
        await pegboard.outcome(plan["turn_id"])
