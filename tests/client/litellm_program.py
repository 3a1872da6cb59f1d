"""A chat through LiteLLM's own pre-call chain, with Pegboard's hook; prints what came of it.

Run by a test with LiteLLM in PYTHONPATH: it wants other versions of what the tests have.

python litellm_program.py ADDRESS KEY
"""

import asyncio
import json
import sys
from typing import Any

import litellm
from litellm.caching.caching import DualCache
from litellm.proxy._types import UserAPIKeyAuth
from litellm.proxy.utils import ProxyLogging
from pegboard_client import AsyncPegboard
from pegboard_client.frameworks.litellm_hook import PegboardHook

ASKED = "write a line to notes__echo"
OWN = {"type": "function", "function": {"name": "own", "parameters": {"type": "object"}}}


async def main(address: str, key: str) -> dict[str, Any]:
    pegboard = AsyncPegboard(address, key, timeout=120)
    litellm.callbacks = [PegboardHook(pegboard)]
    passed = ProxyLogging(user_api_key_cache=DualCache())

    async def tools_of(user: str | None, message: str = ASKED, kind: Any = "acompletion") -> Any:
        chat = {
            "model": "openai/none",
            "messages": [{"role": "user", "content": message}],
            "tools": [OWN],
            "user": "charlie",  # what a request says about its user must not matter
        }
        return await passed.pre_call_hook(
            user_api_key_dict=UserAPIKeyAuth(user_id=user), data=chat, call_type=kind
        )

    request = await tools_of("alice")
    wish = {"name": "notes__echo", "arguments": '{"text": "hello"}'}
    call = {"id": "1", "type": "function", "function": wish}
    answer = await litellm.acompletion(
        **request, mock_response="", mock_tool_calls=[call], api_key="none"
    )
    asked = answer.choices[0].message.tool_calls[0].function
    ran = await pegboard.execute(asked.name, json.loads(asked.arguments), user="alice", wait=300)
    litellm.callbacks = [PegboardHook(AsyncPegboard("http://127.0.0.1:9", key))]
    told = {
        "offered": _names(request),
        "ran": ran["result"]["content"][0]["text"],
        "stranger": _names(await tools_of(None)),
        "unreachable": _names(await tools_of("alice")),
    }
    await pegboard.aclose()
    return told


def _names(request: dict[str, Any]) -> list[str]:
    return [tool["function"]["name"] for tool in request["tools"]]


print(json.dumps(asyncio.run(main(*sys.argv[1:]))))  # noqa: T201
