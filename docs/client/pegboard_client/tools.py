"""Between a model and Pegboard: what a tool's call asks for, and what the model is told of it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pegboard_client.answers import Call, MetaAnswer, Offer
from pegboard_client.problems import InvalidInput, NotFound

# In these modes the model was given meta-tools, and not the tools themselves.
_META = {"compact_direct", "discovery"}
_FAILED = {"failed", "unknown", "rejected", "expired", "cancelled"}


@dataclass(frozen=True)
class Asked:
    """What the model wants: a capability, or a meta-tool of that name."""

    name: str
    arguments: dict[str, Any]
    is_meta: bool


@dataclass(frozen=True)
class Ran:
    """What came of a tool's call: `text` is for the model. `call` is there where a capability was
    called; with the status `client_executes` the application itself carries it out."""

    text: str
    is_error: bool = False
    call: Call | None = None

    @classmethod
    def of_call(cls, call: Call) -> "Ran":
        """A call as the model is told of it."""
        failed = call["status"] in _FAILED or bool(call.get("result", {}).get("is_error"))
        return cls(text_of(call), failed, call)

    @classmethod
    def of_meta(cls, answer: MetaAnswer) -> "Ran":
        """A meta-tool's answer, which is for the model as it is."""
        return cls(json.dumps(answer["result"], ensure_ascii=False))

    @classmethod
    def refused(cls, problem: InvalidInput | NotFound) -> "Ran":
        """What the model has asked wrongly, for it to ask again. Raises what is not its doing."""
        if isinstance(problem, InvalidInput) and not (problem.field or "").startswith("arguments"):
            raise problem
        return cls(problem.detail, is_error=True)


def asked_of(offer: Offer, name: str, arguments: Mapping[str, Any]) -> Asked:
    """What is meant by the name and arguments that a model has from `tools`."""
    renamed = offer["renamed"].get(name)
    if renamed:
        back = renamed["arguments"]
        arguments = {back.get(argument, argument): value for argument, value in arguments.items()}
        name = renamed["full_name"]
    if offer["mode"]["mode"] not in _META:
        return Asked(name, dict(arguments), is_meta=name == "discover_capabilities")
    if name == "execute_tool":  # the same call by its own way, which waits and is sent once
        return Asked(str(arguments.get("name", "")), arguments.get("params") or {}, is_meta=False)
    return Asked(name, dict(arguments), is_meta=True)


def text_of(call: Call) -> str:
    """What came of a call, in words: a skill's instructions, the texts of a result, or how it
    stands."""
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
