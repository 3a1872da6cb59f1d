"""An agent of a library, with Pegboard's tools and a scripted model; prints what came of it.

Run by a test with the library in PYTHONPATH: it wants other versions of what the tests have.

python agents_program.py LIBRARY ADDRESS KEY
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

from pegboard_client import AsyncPegboard, Pegboard

MESSAGE = "write a line to notes__echo"
PATIENCE = 120
NAME, ARGUMENTS = "notes__echo", {"text": "hello"}
offered: list[str] = []


async def google_adk(pegboard: AsyncPegboard) -> str:
    from google.adk.agents import Agent
    from google.adk.models import BaseLlm, LlmRequest, LlmResponse
    from google.adk.runners import InMemoryRunner
    from google.genai.types import Content, FunctionCall, Part
    from pegboard_client.frameworks.google_adk_tools import tools_for_turn

    class Scripted(BaseLlm):
        async def generate_content_async(
            self, llm_request: LlmRequest, stream: bool = False
        ) -> AsyncIterator[LlmResponse]:
            offered.extend(llm_request.tools_dict)
            result = llm_request.contents[-1].parts[0].function_response
            if result is None:
                part = Part(function_call=FunctionCall(name=NAME, args=ARGUMENTS))
            else:
                part = Part(text=f"Done: {result.response['result']}")
            yield LlmResponse(content=Content(role="model", parts=[part]))

    async with tools_for_turn(MESSAGE, pegboard, user="alice") as turn:
        agent = Agent(
            name="clerk", model=Scripted(model="none"), instruction=turn.prompt, tools=turn.tools
        )
        runner = InMemoryRunner(agent=agent, app_name="test")
        session = await runner.session_service.create_session(app_name="test", user_id="alice")
        message = Content(role="user", parts=[Part(text=MESSAGE)])
        said = [
            event.content.parts[0].text
            async for event in runner.run_async(
                user_id="alice", session_id=session.id, new_message=message
            )
        ]
    return str(said[-1])


async def strands(pegboard: AsyncPegboard) -> str:
    from pegboard_client.frameworks.strands_tools import tools_for_turn
    from strands import Agent
    from strands.models import Model

    class Scripted(Model):
        def update_config(self, **_: Any) -> None:
            """Have none."""

        get_config = structured_output = update_config

        async def stream(
            self, messages: Any, tool_specs: Any = None, *_: Any, **__: Any
        ) -> AsyncIterator[Any]:
            offered.extend(spec["name"] for spec in tool_specs)
            results = [part["toolResult"] for part in messages[-1]["content"] if "text" not in part]
            yield {"messageStart": {"role": "assistant"}}
            if results:
                text = f"Done: {results[0]['content'][0]['text']}"
                yield {"contentBlockStart": {"start": {}}}
                yield {"contentBlockDelta": {"delta": {"text": text}}}
            else:
                use = {"name": NAME, "toolUseId": "1"}
                yield {"contentBlockStart": {"start": {"toolUse": use}}}
                wish = {"toolUse": {"input": json.dumps(ARGUMENTS)}}
                yield {"contentBlockDelta": {"delta": wish}}
            yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "end_turn" if results else "tool_use"}}

    async with tools_for_turn(MESSAGE, pegboard, user="alice") as turn:
        agent = Agent(
            model=Scripted(), system_prompt=turn.prompt, tools=turn.tools, callback_handler=None
        )
        return str(await agent.invoke_async(MESSAGE)).strip()


async def agno(pegboard: AsyncPegboard) -> str:
    from agno.agent import Agent
    from agno.models.base import Model
    from agno.models.response import ModelResponse
    from pegboard_client.frameworks.agno_tools import tools_for_turn

    class Scripted(Model):
        async def ainvoke(self, messages: Any, tools: Any = None, **_: Any) -> ModelResponse:
            offered.extend(tool["function"]["name"] for tool in tools)
            if messages[-1].role == "tool":
                return ModelResponse(role="assistant", content=f"Done: {messages[-1].content}")
            wish = {"name": NAME, "arguments": json.dumps(ARGUMENTS)}
            call = {"id": "1", "type": "function", "function": wish}
            return ModelResponse(role="assistant", tool_calls=[call])

        def invoke(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

        invoke_stream = ainvoke_stream = invoke
        _parse_provider_response = _parse_provider_response_delta = invoke

    async with tools_for_turn(MESSAGE, pegboard, user="alice") as turn:
        agent = Agent(
            model=Scripted(id="none"), instructions=turn.prompt, tools=turn.tools, telemetry=False
        )
        return str((await agent.arun(MESSAGE)).content)


def crewai(pegboard: Pegboard) -> str:
    from crewai import Agent, BaseLLM, Crew, Task
    from pegboard_client.frameworks.crewai_tools import tools_for_turn

    class Scripted(BaseLLM):
        def supports_function_calling(self) -> bool:
            return True

        def call(self, messages: Any, tools: Any = None, *_: Any, **__: Any) -> Any:
            offered.extend(tool["function"]["name"] for tool in tools or ())
            results = [message for message in messages if message["role"] == "tool"]
            if results:
                return f"Done: {results[-1]['content']}"
            # CrewAI shows one underscore where a name has two.
            wish = {"name": NAME.replace("__", "_"), "arguments": json.dumps(ARGUMENTS)}
            return [{"id": "1", "type": "function", "function": wish}]

    with tools_for_turn(MESSAGE, pegboard, user="alice") as turn:
        agent = Agent(role="Clerk", goal="Write", backstory=turn.prompt, llm=Scripted(model="none"))
        task = Task(description=MESSAGE, expected_output="A line", agent=agent, tools=turn.tools)
        return str(Crew(agents=[agent], tasks=[task]).kickoff())


async def awaited(agent: Any, address: str, key: str) -> str:
    async with AsyncPegboard(address, key, timeout=PATIENCE) as pegboard:
        return str(await agent(pegboard))


def main(library: str, address: str, key: str) -> None:
    if library == "crewai":
        with Pegboard(address, key, timeout=PATIENCE) as pegboard:
            answer = crewai(pegboard)
    else:
        agent = {"google_adk": google_adk, "strands": strands, "agno": agno}[library]
        answer = asyncio.run(awaited(agent, address, key))
    print(json.dumps({"answer": answer, "offered": offered}))  # noqa: T201 - read by the test


if __name__ == "__main__":
    main(*sys.argv[1:])
