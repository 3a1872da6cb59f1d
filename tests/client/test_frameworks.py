"""Agents of other libraries with Pegboard's tools; the libraries are real, their models scripts.

Libraries are imported in the tests: loading them takes seconds, which other test processes are
spared.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pegboard_client import AsyncPegboard, Pegboard
from pytest_django.live_server_helper import LiveServer

from catalog.models import Capability
from discovery.models import Call, Turn
from tests.access.people import People

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("_worker", "notes")]
MESSAGE = "write a line to notes__echo"
PATIENCE = 120  # a request that was sent again would plan a second turn
WISH = ("notes__echo", {"text": "hello"})


@pytest.fixture
def pegboard(key: str, live_server: LiveServer) -> Iterator[Pegboard]:
    with Pegboard(live_server.url, key, timeout=PATIENCE) as client:
        yield client


def turn_is_whole(people: People) -> bool:
    """Say whether one turn of alice has one call and has ended well."""
    turn, call = Turn.objects.select_related("outcome").get(), Call.objects.get()
    return (turn.user, turn.state, turn.outcome.status, call.full_name, call.turn_id) == (
        people.alice,
        "completed",
        "success",
        "notes__echo",
        turn.pk,
    )


def test_langchain(people: People, notes: Capability, pegboard: Pegboard) -> None:
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    from pegboard_client.frameworks.langchain_agents import (
        PegboardMiddleware,
        PegboardRetriever,
        PegboardToolkit,
    )

    class Scripted(GenericFakeChatModel):
        bound: list[Any] = []

        def bind_tools(self, tools: Any, **options: Any) -> Any:
            self.bound.append([tool["function"]["name"] for tool in tools])
            return self

    asks = AIMessage("", tool_calls=[{"name": WISH[0], "args": WISH[1], "id": "1"}])
    model = Scripted(messages=iter([asks, AIMessage("Done.")]))
    agent = create_agent(model, middleware=[PegboardMiddleware(pegboard, user="alice")])

    answer = agent.invoke({"messages": [("user", MESSAGE)]})

    assert [message.text for message in answer["messages"][-2:]] == ["1: hello", "Done."]
    assert "notes__echo" in model.bound[0]
    assert turn_is_whole(people)

    tools = PegboardToolkit(pegboard=pegboard, message=MESSAGE, caller={"user": "alice"})
    echo = next(tool for tool in tools.get_tools() if tool.name == "notes__echo")
    assert echo.invoke({"text": "again"}) == "2: again"
    retriever = PegboardRetriever(pegboard=pegboard, caller={"user": "alice"})
    assert retriever.invoke(MESSAGE)[0].metadata["full_name"] == "notes__echo"


def test_langchain_that_is_awaited(people: People, notes: Capability, pegboard: Pegboard) -> None:
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    from pegboard_client.frameworks.langchain_agents import PegboardMiddleware

    class Scripted(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **options: Any) -> Any:
            return self

    asks = AIMessage("", tool_calls=[{"name": WISH[0], "args": WISH[1], "id": "1"}])
    model = Scripted(messages=iter([asks, AIMessage("Done.")]))
    agent = create_agent(model, middleware=[PegboardMiddleware(pegboard, user="alice")])

    answer = asyncio.run(agent.ainvoke({"messages": [("user", MESSAGE)]}))

    assert [message.text for message in answer["messages"][-2:]] == ["1: hello", "Done."]
    assert turn_is_whole(people)


def test_pydantic_ai(people: People, notes: Capability, key: str, live_server: LiveServer) -> None:
    from pegboard_client.frameworks.pydantic_ai_toolset import PegboardToolset
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    offered: list[str] = []

    def script(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        offered.extend(tool.name for tool in info.function_tools)
        if len(messages) == 1:
            return ModelResponse([ToolCallPart(WISH[0], WISH[1])])
        return ModelResponse([TextPart(f"Done: {messages[-1].parts[0].content}")])

    async def run() -> str:
        async with AsyncPegboard(live_server.url, key, timeout=PATIENCE) as pegboard:
            toolset = PegboardToolset(pegboard, user="alice")
            agent = Agent(FunctionModel(script), toolsets=[toolset])
            return str((await agent.run(MESSAGE)).output)

    assert asyncio.run(run()) == "Done: 1: hello"
    assert "notes__echo" in offered
    assert turn_is_whole(people)


def test_openai_agents(
    people: People, notes: Capability, key: str, live_server: LiveServer
) -> None:
    from agents import Agent, ModelResponse, RunConfig, Runner, Usage
    from agents.models.interface import Model
    from openai.types.responses import (
        ResponseFunctionToolCall,
        ResponseOutputMessage,
        ResponseOutputText,
    )
    from pegboard_client.frameworks.openai_agents import tools_for_turn

    class Scripted(Model):
        def __init__(self) -> None:
            self.offered: list[list[str]] = []

        async def get_response(self, *args: Any, **named: Any) -> ModelResponse:
            given = dict(zip(("system", "input", "settings", "tools"), args, strict=False)) | named
            self.offered.append([tool.name for tool in given["tools"]])
            wish: Any = ResponseFunctionToolCall(
                type="function_call", call_id="1", name=WISH[0], arguments=json.dumps(WISH[1])
            )
            if len(self.offered) > 1:
                text = ResponseOutputText(
                    type="output_text", annotations=[], text=f"Done: {given['input'][-1]['output']}"
                )
                wish = ResponseOutputMessage(
                    id="2", type="message", role="assistant", status="completed", content=[text]
                )
            return ModelResponse(output=[wish], usage=Usage(), response_id=None)

        def stream_response(self, *args: Any, **named: Any) -> Any:
            raise NotImplementedError

    async def run(model: Scripted) -> str:
        async with AsyncPegboard(live_server.url, key, timeout=PATIENCE) as pegboard:
            agent = Agent(name="Clerk", model=model, instructions="Be brief.")
            async with tools_for_turn(agent, MESSAGE, pegboard, user="alice") as equipped:
                quiet = RunConfig(tracing_disabled=True)
                result = await Runner.run(equipped, MESSAGE, run_config=quiet)
            return str(result.final_output)

    model = Scripted()
    assert asyncio.run(run(model)) == "Done: 1: hello"
    assert "notes__echo" in model.offered[0]
    assert turn_is_whole(people)


@pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")
def test_llama_index(people: People, notes: Capability, key: str, live_server: LiveServer) -> None:
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.core.base.llms.types import ChatMessage, ChatResponse
    from llama_index.core.llms.function_calling import FunctionCallingLLM
    from llama_index.core.llms.mock import MockFunctionCallingLLM
    from llama_index.core.tools import ToolSelection
    from pegboard_client.frameworks.llama_index_tools import PegboardToolRetriever

    class Scripted(MockFunctionCallingLLM):
        offered: list[str] = []

        async def achat_with_tools(self, tools: Any, *args: Any, **named: Any) -> ChatResponse:
            self.offered.extend(tool.metadata.name for tool in tools)
            messages = named["chat_history"]
            last = messages[-1].content
            text = f"Done: {last}" if len(messages) > 1 else ""
            return ChatResponse(message=ChatMessage(role="assistant", content=text))

        def get_tool_calls_from_response(self, response: Any, **named: Any) -> list[ToolSelection]:
            if response.message.content:
                return []
            return [ToolSelection(tool_id="1", tool_name=WISH[0], tool_kwargs=WISH[1])]

    async def run(llm: FunctionCallingLLM) -> str:
        async with AsyncPegboard(live_server.url, key, timeout=PATIENCE) as pegboard:
            retriever = PegboardToolRetriever(pegboard, user="alice")
            agent = FunctionAgent(llm=llm, tool_retriever=retriever, streaming=False)
            return str(await agent.run(MESSAGE))

    llm = Scripted()
    assert asyncio.run(run(llm)) == "Done: 1: hello"
    assert "notes__echo" in llm.offered
    assert Call.objects.get().turn_id == Turn.objects.get().pk


PROJECT = Path(__file__).parents[2]
PROGRAM = Path(__file__).parent / "agents_program.py"
# Libraries beside the tests' own packages, by their folders in .venv.
BESIDE = {"google_adk": "agents", "strands": "agents", "agno": "agents", "crewai": "crewai"}


@pytest.mark.processes
@pytest.mark.timeout(300)
@pytest.mark.parametrize("library", BESIDE)
def test_library_with_packages_of_its_own(
    library: str, people: People, key: str, live_server: LiveServer, tmp_path: Path
) -> None:
    packages = PROJECT / ".venv" / BESIDE[library]
    if not packages.is_dir():
        pytest.skip("it could not be fetched: run `make install-tests` with a package index")

    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, str(PROGRAM), library, live_server.url, key],
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "PYTHONPATH": os.pathsep.join([str(packages), str(PROJECT / "docs" / "client")]),
            "CREWAI_DISABLE_TELEMETRY": "true",
            "CREWAI_DISABLE_TRACKING": "true",
            "OTEL_SDK_DISABLED": "true",
            "AGNO_TELEMETRY": "false",
            "ORT_DISABLE_TELEMETRY": "1",
        },
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    output = json.loads(done.stdout.splitlines()[-1])
    assert output["answer"] == "Done: 1: hello"
    assert ("notes_echo" if library == "crewai" else "notes__echo") in output["offered"]
    assert turn_is_whole(people)
