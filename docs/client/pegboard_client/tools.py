"""Tool calls of a model: mapped to Pegboard's calls, and results to text for the model."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pegboard_client.answers import Call, MetaAnswer, Offer
from pegboard_client.problems import InvalidInput, NotFound

# In these modes the model has meta-tools in place of the tools themselves.
_META = {"compact_direct", "discovery"}
_FAILED = {"failed", "unknown", "rejected", "expired", "cancelled"}


@dataclass(frozen=True)
class ToolCall:
    """A capability or meta-tool to call, as the model meant it."""

    name: str
    arguments: dict[str, Any]
    is_meta: bool


@dataclass(frozen=True)
class Ran:
    """The result of a tool call, with `text` for the model.

    `call` is set for a capability. If its status is `client_executes`, the application must carry
    the call out.
    """

    text: str
    is_error: bool = False
    call: Call | None = None

    @classmethod
    def of_call(cls, call: Call) -> "Ran":
        """Convert a call for the model."""
        failed = call["status"] in _FAILED or bool(call.get("result", {}).get("is_error"))
        return cls(text_of(call), failed, call)

    @classmethod
    def of_meta(cls, answer: MetaAnswer) -> "Ran":
        """Convert a meta-tool's answer, which goes to the model unchanged."""
        return cls(json.dumps(answer["result"], ensure_ascii=False))

    @classmethod
    def refused(cls, problem: InvalidInput | NotFound) -> "Ran":
        """Convert the model's own mistake, so that it can try again; raise other problems."""
        if isinstance(problem, InvalidInput) and not (problem.field or "").startswith("arguments"):
            raise problem
        return cls(problem.detail, is_error=True)


def resolve_tool_call(offer: Offer, name: str, arguments: Mapping[str, Any]) -> ToolCall:
    """Resolve the name and arguments that a model has taken from `tools`."""
    renamed = offer["renamed"].get(name)
    if renamed:
        original_names = renamed["arguments"]
        arguments = {
            original_names.get(argument, argument): value for argument, value in arguments.items()
        }
        name = renamed["full_name"]
    if offer["mode"]["mode"] not in _META:
        return ToolCall(name, dict(arguments), is_meta=name == "discover_capabilities")
    if name == "execute_tool":  # replaced by the API call, which can wait and is idempotent
        # Older releases of Pegboard called them `params`.
        given = arguments.get("arguments", arguments.get("params"))
        return ToolCall(str(arguments.get("name", "")), given or {}, is_meta=False)
    return ToolCall(name, dict(arguments), is_meta=True)


def text_of(call: Call) -> str:
    """Return a call as text: a skill's instructions, the result's texts, or the state."""
    if "content" in call:
        return call["content"]
    result = call.get("result")
    if result is None:
        note = f" They said: {call['note']}" if call.get("note") else ""
        return call["message"] + note
    blocks = result.get("content")
    if isinstance(blocks, list):
        texts = [block["text"] for block in blocks if block.get("type") == "text"]
        if texts:
            return "\n".join(texts)
    return json.dumps(result, ensure_ascii=False)
