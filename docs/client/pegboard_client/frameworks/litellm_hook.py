"""Pegboard's tools in requests that pass LiteLLM's proxy.

# pegboard_hook.py beside the proxy's configuration, which has `callbacks: pegboard_hook.hook`
hook = PegboardHook(AsyncPegboard(address, key))
"""

import logging
from collections.abc import Callable
from typing import Any

from litellm.caching.caching import DualCache
from litellm.integrations.custom_logger import CustomLogger
from litellm.proxy._types import UserAPIKeyAuth

from pegboard_client.client_async import AsyncPegboard
from pegboard_client.problems import PegboardError

_CHATS = {"completion", "acompletion"}
_log = logging.getLogger(__name__)


class PegboardHook(CustomLogger):
    """Add the tools that fit the user's last message to a chat, beside those it has.

    The application runs them: by `execute`, or as a client of Pegboard's MCP server. A tool that
    would need another name for the model is left out, since the application could not call it.
    Without an answer of Pegboard the chat goes on as it was.
    """

    def __init__(
        self,
        pegboard: AsyncPegboard,
        *,
        user_of: Callable[[UserAPIKeyAuth], str | None] = lambda key: key.user_id,
        max_tools: int = 8,
    ) -> None:
        """Take the client, and `user_of`: the person at Pegboard for a key of LiteLLM. What a
        request says about its user proves nothing."""
        super().__init__()
        self._pegboard, self._user_of, self._max_tools = pegboard, user_of, max_tools

    async def async_pre_call_hook(
        self,
        user_api_key_dict: UserAPIKeyAuth,
        cache: DualCache,
        data: dict[str, Any],
        call_type: Any,
    ) -> dict[str, Any]:
        """Return the request with the tools of the person whose key it has."""
        user = self._user_of(user_api_key_dict)
        said = [_text_of(each) for each in data.get("messages") or () if each["role"] == "user"]
        if call_type not in _CHATS or not user or not said or not said[-1]:
            return data
        try:
            selection = await self._pegboard.select(
                said[-1],
                history=said[-4:-1],
                user=user,
                format="openai",
                max_tools=self._max_tools,
                client_executes=False,
            )
        except PegboardError as problem:
            _log.warning("Pegboard did not choose tools: %s", problem)
            return data
        own = list(data.get("tools") or ())
        taken = {_name_of(tool) for tool in own} | selection["renamed"].keys()
        tools = [tool for tool in selection["tools"] or () if _name_of(tool) not in taken]
        return {**data, "tools": [*own, *tools]} if tools else data


def _name_of(tool: dict[str, Any]) -> str:
    return str(tool.get("function", {}).get("name", ""))


def _text_of(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content if part.get("type") == "text")
