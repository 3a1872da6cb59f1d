"""OpenAI's Chat Completions API (POST /chat/completions below an address such as …/v1)."""

from collections.abc import Mapping
from typing import Any

from acl.platform.strict_json import StrictJSONError, parse_json
from catalog.formats.descriptors import JSONObject
from discovery.chats.providers.base import (
    MOST_ANSWER_TOKENS,
    MalformedAnswerError,
    ModelAnswer,
    ModelQuestion,
    WantedCall,
    check_ids,
    read_count,
    read_name,
    read_object,
    read_objects,
    read_text,
)

ADDRESS = "https://api.openai.com/v1"
FORMAT = "openai"


def url(address: str, model_id: str) -> str:
    """Return the URL of a request."""
    return f"{address}/chat/completions"


def headers(key: str) -> Mapping[str, str]:
    """Return the header that shows the key; none without a key."""
    return {"authorization": f"Bearer {key}"} if key else {}


def body(asked: ModelQuestion) -> JSONObject:
    """Return the body of a request."""
    return {**chat(asked), "max_completion_tokens": MOST_ANSWER_TOKENS}


def chat(asked: ModelQuestion) -> JSONObject:
    """Return the body without the bound of the answer, whose name differs."""
    messages: list[JSONObject] = []
    if asked.prompt:
        messages.append({"role": "system", "content": asked.prompt})
    for text, answer in asked.earlier:
        messages.append({"role": "user", "content": text})
        messages.append({"role": "assistant", "content": answer})
    messages.append({"role": "user", "content": asked.text})
    for one in asked.rounds:
        messages.append(one.content)
        messages += [
            {"role": "tool", "tool_call_id": result.id, "content": result.text}
            for result in one.results
        ]
    tools = {"tools": asked.tools} if asked.tools else {}
    return {"model": asked.model_id, "messages": messages, **tools}


def read(answer: JSONObject) -> ModelAnswer:
    """Read an answer. Raises MalformedAnswerError."""
    choices = read_objects(answer.get("choices"), "choices")
    if not choices:
        raise MalformedAnswerError("choices")
    said = read_object(choices[0].get("message"), "choices.message")
    text = read_text(said.get("content"), "message.content")
    text = text or read_text(said.get("refusal"), "message.refusal")
    asked = read_objects(said.get("tool_calls") or [], "message.tool_calls")
    calls = check_ids(tuple(map(_call, asked)), "tool_calls.id")
    usage = read_object(answer.get("usage") or {}, "usage")
    content: JSONObject = {"role": "assistant", "content": said.get("content")}
    if asked:
        content["tool_calls"] = asked
    return ModelAnswer(
        content,
        text,
        calls,
        read_count(usage.get("prompt_tokens"), "usage.prompt_tokens"),
        read_count(usage.get("completion_tokens"), "usage.completion_tokens"),
    )


def _call(wanted: JSONObject) -> WantedCall:
    function = read_object(wanted.get("function"), "tool_calls.function")
    return WantedCall(
        read_name(wanted.get("id"), "tool_calls.id"),
        read_name(function.get("name"), "function.name"),
        _arguments(read_text(function.get("arguments"), "function.arguments")),
    )


def _arguments(text: str) -> JSONObject | None:
    """Return the arguments; None if the model wrote something else, which it is told."""
    try:
        value: Any = parse_json(text or "{}")
    except StrictJSONError:
        return None
    return value if isinstance(value, dict) else None
