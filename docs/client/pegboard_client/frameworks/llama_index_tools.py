"""Retriever of tools for agents of LlamaIndex.

agent = FunctionAgent(llm=llm, tool_retriever=PegboardToolRetriever(pegboard, user="alice"))
"""

from typing import Any, Unpack

from llama_index.core.objects import ObjectRetriever
from llama_index.core.schema import QueryBundle
from llama_index.core.tools import AsyncBaseTool, ToolMetadata, ToolOutput

from pegboard_client.answers import Plan
from pegboard_client.client_async import AsyncPegboard
from pegboard_client.frameworks.offered_tools import OfferedTool, offered_tools
from pegboard_client.options import Caller


class PegboardToolRetriever(ObjectRetriever[AsyncBaseTool]):
    """Retrieve the tools that fit a message, for one conversation of one caller.

    A call waits `approval_wait` seconds at most for a person's approval.
    """

    def __init__(
        self, pegboard: AsyncPegboard, *, approval_wait: float = 0.0, **caller: Unpack[Caller]
    ) -> None:
        self._pegboard, self._approval_wait, self._caller = pegboard, approval_wait, caller
        self._message: str | None = None
        self._offered: dict[str, AsyncBaseTool] = {}

    def retrieve(self, str_or_query_bundle: str | QueryBundle) -> list[AsyncBaseTool]:
        """Refuse: agents retrieve their tools asynchronously."""
        raise NotImplementedError("Await aretrieve: Pegboard is asked by an asynchronous client.")

    async def aretrieve(self, str_or_query_bundle: str | QueryBundle) -> list[AsyncBaseTool]:
        """Plan a turn for a message; return its tools.

        An agent asks again in each of a message's rounds, and by a tool's name before it calls it.
        """
        query = str_or_query_bundle
        words = query if isinstance(query, str) else query.query_str
        if words in self._offered:
            return [self._offered[words]]
        if words != self._message:
            plan = await self._pegboard.plan(words, format="openai", **self._caller)
            self._message = words
            self._offered = {tool.name: self._tool_of(plan, tool) for tool in offered_tools(plan)}
        return list(self._offered.values())

    def _tool_of(self, plan: Plan, tool: OfferedTool) -> AsyncBaseTool:
        return _PegboardTool(self._pegboard, plan, tool, self._approval_wait, self._caller)


class _Metadata(ToolMetadata):
    """A tool's own schema, where LlamaIndex would derive one from a class."""

    def __init__(self, tool: OfferedTool) -> None:
        super().__init__(description=tool.description, name=tool.name)
        self._parameters = tool.parameters

    def get_parameters_dict(self) -> dict[str, Any]:
        return self._parameters


class _PegboardTool(AsyncBaseTool):
    def __init__(
        self,
        pegboard: AsyncPegboard,
        plan: Plan,
        tool: OfferedTool,
        approval_wait: float,
        caller: Caller,
    ) -> None:
        self._pegboard, self._plan, self._tool = pegboard, plan, tool
        self._approval_wait, self._caller = approval_wait, caller

    @property
    def metadata(self) -> ToolMetadata:
        return _Metadata(self._tool)

    def call(self, *args: Any, **arguments: Any) -> ToolOutput:
        raise NotImplementedError("Await acall: Pegboard is asked by an asynchronous client.")

    async def acall(self, *args: Any, **arguments: Any) -> ToolOutput:
        ran = await self._pegboard.run_tool(
            self._plan,
            self._tool.name,
            arguments,
            approval_wait=self._approval_wait,
            **self._caller,
        )
        return ToolOutput(
            content=ran.text,
            tool_name=self._tool.name,
            raw_input=arguments,
            raw_output=ran.text,
            is_error=ran.is_error,
        )
