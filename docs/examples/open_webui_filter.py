"""
title: Pegboard
author: Pegboard
version: 0.2.0
license: Apache-2.0
description: Names the tools of Pegboard that fit the message, and leaves them out where none does.
"""

import asyncio
import json
from typing import Any, Literal

import httpx
from pydantic import BaseModel, Field

_CALL = "Call them with the tool execute_tool of Pegboard, by their name and with these arguments."


class Filter:
    """Filter of Open WebUI beside Pegboard's MCP server, which carries out the calls."""

    class Valves(BaseModel):
        """Settings of an admin."""

        url: str = Field(default="http://localhost:8000", description="Address of Pegboard")
        key: str = Field(
            default="",
            description="Key with the scope select that acts for others; empty: personal keys only",
            json_schema_extra={"input": {"type": "password"}},
        )
        user: Literal["email", "name in email"] = Field(
            default="email",
            description="The user's name at Pegboard. Names in Open WebUI prove nothing.",
        )
        server: str = Field(
            default="pegboard", description="Id of Pegboard's MCP server in Open WebUI"
        )
        max_tools: int = Field(
            default=5, ge=1, le=50, description="Tools named for a message at most"
        )
        seconds: float = Field(default=5.0, gt=0, description="Longest wait for Pegboard")
        priority: int = Field(default=0, description="Order among filters")

    class UserValves(BaseModel):
        """Settings of a person."""

        key: str = Field(
            default="",
            description="Your own key of Pegboard, with the scope select",
            json_schema_extra={"input": {"type": "password"}},
        )

    def __init__(self) -> None:
        self.valves = self.Valves()

    async def inlet(
        self, body: dict[str, Any], __user__: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Name the tools that fit the last message, or leave Pegboard's server out of the chat.

        Without an answer of Pegboard the chat goes on as it was.
        """
        messages = body.get("messages") or []
        wrote = [_text_of(each) for each in messages if each.get("role") == "user"]
        key, user = self._caller(__user__ or {})
        if not key or not wrote or not wrote[-1]:
            return body
        try:
            selection = await asyncio.wait_for(
                self._select(key, user, wrote[-1], wrote[-4:-1]), self.valves.seconds
            )
        except (httpx.HTTPError, ValueError, TimeoutError) as problem:
            print(f"Pegboard did not choose tools: {type(problem).__name__}")
            return body
        return self._with_selection(body, messages, selection)

    def _caller(self, user: dict[str, Any]) -> tuple[str, str | None]:
        """Return the key, and the user's name where the key acts for others."""
        own = user.get("valves")
        personal = own.get("key") if isinstance(own, dict) else getattr(own, "key", "")
        if personal:
            return personal, None
        email = str(user.get("email") or "")
        if not email:
            return "", None
        return self.valves.key, email if self.valves.user == "email" else email.partition("@")[0]

    async def _select(
        self, key: str, user: str | None, message: str, history: list[str]
    ) -> dict[str, Any]:
        asked = {
            "message": message,
            "history": history,
            "user": user,
            "max_tools": self.valves.max_tools,
            "client_executes": False,  # MCP runs what Pegboard runs
            "detail": "compact_schema",
            "format": "none",
        }
        async with httpx.AsyncClient(base_url=self.valves.url, trust_env=False) as http:
            answer = await http.post(
                "/api/v1/select",
                json=asked,
                headers={"Authorization": f"Bearer {key}"},
                timeout=self.valves.seconds,
            )
        selection: dict[str, Any] = answer.raise_for_status().json()
        return selection

    def _with_selection(
        self, body: dict[str, Any], messages: list[Any], selection: dict[str, Any]
    ) -> dict[str, Any]:
        server = f"server:mcp:{self.valves.server}"
        others = [each for each in body.get("tool_ids") or [] if each != server]
        if not selection["selected"]:
            return {**body, "tool_ids": others}
        lines = [_line_of(tool) for tool in selection["selected"]]
        text = "\n".join(["These tools fit the user's last message:", *lines, _CALL])
        system = {"role": "system", "content": text}
        place = next(
            (at for at, each in enumerate(messages) if each.get("role") != "system"), len(messages)
        )
        if place:  # some models take only one message of the system
            first = messages[0]
            system["content"] = f"{_text_of(first)}\n\n{text}"
        rest = messages[1:] if place else messages
        return {**body, "tool_ids": [*others, server], "messages": [system, *rest]}


def _text_of(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content if part.get("type") == "text")


def _line_of(tool: dict[str, Any]) -> str:
    arguments = json.dumps(tool.get("input_schema") or {}, ensure_ascii=False)
    return f"- {tool['full_name']}: {tool.get('description', '')} Arguments: {arguments}"
