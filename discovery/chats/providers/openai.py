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

LABEL = "OpenAI"
NEEDS_KEY = True
ADDRESS = "https://api.openai.com/v1"
FORMAT = "openai"


def url(address: str, model_id: str) -> str:
    """Return the URL of a request."""
    return f"{address}/chat/completions"


def headers(key: str) -> Mapping[str, str]:
    """Return the header that shows the key; none without a key."""
    return {"authorization": f"Bearer {key}"} if key else {}


def body(question: ModelQuestion) -> JSONObject:
    """Return the body of a request."""
    return {**chat(question), "max_completion_tokens": MOST_ANSWER_TOKENS}


def chat(question: ModelQuestion) -> JSONObject:
    """Return the body without the bound of the answer, whose name differs."""
    messages: list[JSONObject] = []
    if question.prompt:
        messages.append({"role": "system", "content": question.prompt})
    for text, answer in question.earlier:
        messages.append({"role": "user", "content": text})
        messages.append({"role": "assistant", "content": answer})
    messages.append({"role": "user", "content": question.text})
    for exchange in question.rounds:
        messages.append(exchange.content)
        messages += [
            {"role": "tool", "tool_call_id": result.id, "content": result.text}
            for result in exchange.results
        ]
    tools = {"tools": question.tools} if question.tools else {}
    return {"model": question.model_id, "messages": messages, **tools}


def read(answer: JSONObject) -> ModelAnswer:
    """Read an answer. Raises MalformedAnswerError."""
    choices = read_objects(answer.get("choices"), "choices")
    if not choices:
        raise MalformedAnswerError("choices")
    message = read_object(choices[0].get("message"), "choices.message")
    text = read_text(message.get("content"), "message.content")
    text = text or read_text(message.get("refusal"), "message.refusal")
    tool_calls = read_objects(message.get("tool_calls") or [], "message.tool_calls")
    calls = check_ids(tuple(map(_call, tool_calls)), "tool_calls.id")
    usage = read_object(answer.get("usage") or {}, "usage")
    content: JSONObject = {"role": "assistant", "content": message.get("content")}
    if tool_calls:
        content["tool_calls"] = tool_calls
    return ModelAnswer(
        content,
        text,
        calls,
        read_count(usage.get("prompt_tokens"), "usage.prompt_tokens"),
        read_count(usage.get("completion_tokens"), "usage.completion_tokens"),
    )


def _call(tool_call: JSONObject) -> WantedCall:
    function = read_object(tool_call.get("function"), "tool_calls.function")
    return WantedCall(
        read_name(tool_call.get("id"), "tool_calls.id"),
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
