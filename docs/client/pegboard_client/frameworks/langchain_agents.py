"""Pegboard for LangChain and LangGraph: a middleware, a toolkit and a retriever of tools.

agent = create_agent(model, middleware=[PegboardMiddleware(pegboard, user="alice")])
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NotRequired, Unpack

from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ModelRequest,
    ModelResponse,
    ToolCallRequest,
)
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool, BaseToolkit, StructuredTool
from langgraph.types import Command
from pydantic import ConfigDict

from pegboard_client.answers import Plan
from pegboard_client.client import Pegboard
from pegboard_client.frameworks.offered_tools import OfferedTool, offered_tools
from pegboard_client.options import Caller

_TOLD = ("full_name", "kind", "integration", "score", "reasons", "readiness")


class PegboardState(AgentState[Any]):
    """The state of an agent, with Pegboard's plan for the latest message."""

    pegboard_plan: NotRequired[Plan]  # type: ignore[valid-type]  # its base is skipped by mypy


class PegboardMiddleware(AgentMiddleware[PegboardState]):
    """Offer the model the tools that fit the latest message, beside the agent's own; call them
    through Pegboard, and report the turn's outcome.

    A call waits `approval_wait` seconds at most for a person's approval.
    """

    state_schema = PegboardState

    def __init__(
        self, pegboard: Pegboard, *, approval_wait: float = 0.0, **caller: Unpack[Caller]
    ) -> None:
        super().__init__()
        self._pegboard, self._approval_wait, self._caller = pegboard, approval_wait, caller

    def before_agent(self, state: PegboardState, runtime: Any) -> dict[str, Any]:
        """Plan the turn."""
        message = next(
            (each for each in reversed(state["messages"]) if isinstance(each, HumanMessage)), None
        )
        words = message.text if message is not None else ""
        return {"pegboard_plan": self._pegboard.plan(words, format="openai", **self._caller)}

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Add the tools and their prompt to a request."""
        return handler(_with_tools(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Do the same for an agent that is awaited."""
        return await handler(_with_tools(request))

    def wrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]],
    ) -> ToolMessage | Command[Any]:
        """Call Pegboard's tools; leave others to the agent."""
        plan = request.state["pegboard_plan"]
        if request.tool is not None or not _offers(plan, request.tool_call["name"]):
            return handler(request)
        return self._call(plan, request)

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """Do the same for an agent that is awaited."""
        plan = request.state["pegboard_plan"]
        if request.tool is not None or not _offers(plan, request.tool_call["name"]):
            return await handler(request)
        return await asyncio.to_thread(self._call, plan, request)

    def after_agent(self, state: PegboardState, runtime: Any) -> None:
        """Report the turn's outcome, which Pegboard infers from the calls."""
        turn_id = state["pegboard_plan"]["turn_id"]
        if turn_id:
            self._pegboard.outcome(turn_id)

    def _call(self, plan: Plan, request: ToolCallRequest) -> ToolMessage:
        asked = request.tool_call
        ran = self._pegboard.run_tool(
            plan, asked["name"], asked["args"], approval_wait=self._approval_wait, **self._caller
        )
        return ToolMessage(
            ran.text,
            tool_call_id=asked["id"],
            name=asked["name"],
            status="error" if ran.is_error else "success",
        )


class PegboardToolkit(BaseToolkit):
    """Tools for agents that know their tasks beforehand, as with LangGraph's prebuilt nodes."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    pegboard: Pegboard
    message: str
    approval_wait: float = 0.0
    caller: dict[str, Any] = {}  # user, group, space

    def get_tools(self) -> list[BaseTool]:
        """Return the tools that fit the message, each of which calls Pegboard."""
        plan = self.pegboard.plan(self.message, format="openai", **self.caller)
        return [self._tool_of(plan, tool) for tool in offered_tools(plan)]

    def _tool_of(self, plan: Plan, tool: OfferedTool) -> BaseTool:
        def call(**arguments: Any) -> str:
            return self.pegboard.run_tool(
                plan, tool.name, arguments, approval_wait=self.approval_wait, **self.caller
            ).text

        return StructuredTool(
            name=tool.name, description=tool.description, args_schema=tool.parameters, func=call
        )


class PegboardRetriever(BaseRetriever):
    """Capabilities that fit a query, as documents with name, score and reasons."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    pegboard: Pegboard
    caller: dict[str, Any] = {}  # user, group, space

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        found = self.pegboard.select(query, **self.caller)
        return [
            Document(
                page_content=each.get("description", ""),
                metadata={key: value for key, value in each.items() if key in _TOLD},
            )
            for each in found["selected"]
        ]


def _with_tools(request: ModelRequest[Any]) -> ModelRequest[Any]:
    plan: Plan = request.state["pegboard_plan"]
    texts = [text for text in (request.system_prompt, plan["prompt"]) if text]
    return request.override(
        tools=[*request.tools, *(plan["tools"] or ())],
        system_message=SystemMessage("\n\n".join(texts)) if texts else None,
    )


def _offers(plan: Plan, name: str) -> bool:
    return any(tool.name == name for tool in offered_tools(plan))
