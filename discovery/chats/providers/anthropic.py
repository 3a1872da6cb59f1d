"""Anthropic's Messages API (POST /v1/messages, version 2023-06-01)."""

from collections.abc import Mapping

from catalog.formats.descriptors import JSONObject
from discovery.chats.providers.base import (
    MOST_ANSWER_TOKENS,
    MalformedAnswerError,
    ModelAnswer,
    ModelQuestion,
    Round,
    WantedCall,
    check_ids,
    read_count,
    read_name,
    read_object,
    read_objects,
    read_text,
)

LABEL = "Anthropic"
NEEDS_KEY = True
ADDRESS = "https://api.anthropic.com"
FORMAT = "anthropic"
VERSION = "2023-06-01"


def url(address: str, model_id: str) -> str:
    """Return the URL of a request."""
    return f"{address}/v1/messages"


def headers(key: str) -> Mapping[str, str]:
    """Return the headers that show the key and the version."""
    return {"x-api-key": key, "anthropic-version": VERSION}


def body(question: ModelQuestion) -> JSONObject:
    """Return the body of a request."""
    messages: list[JSONObject] = []
    for text, answer in question.earlier:
        messages += [_says("user", text), _says("assistant", answer)]
    messages.append(_says("user", question.text))
    for exchange in question.rounds:
        messages += [
            {"role": "assistant", "content": exchange.content["content"]},
            _results(exchange),
        ]
    whole: JSONObject = {"model": question.model_id, "max_tokens": MOST_ANSWER_TOKENS}
    if question.prompt:
        whole["system"] = question.prompt
    if question.tools:
        whole["tools"] = question.tools
    return {**whole, "messages": messages}


def _says(role: str, text: str) -> JSONObject:
    return {"role": role, "content": text}


def _results(exchange: Round) -> JSONObject:
    blocks = [
        {
            "type": "tool_result",
            "tool_use_id": result.id,
            "content": result.text,
            "is_error": result.is_error,
        }
        for result in exchange.results
    ]
    return {"role": "user", "content": blocks}


def read(answer: JSONObject) -> ModelAnswer:
    """Read an answer. Raises MalformedAnswerError."""
    if answer.get("role") != "assistant":
        raise MalformedAnswerError("role")
    blocks = read_objects(answer.get("content"), "content")
    uses = [block for block in blocks if block.get("type") == "tool_use"]
    calls = tuple(
        WantedCall(
            read_name(block.get("id"), "content.id"),
            read_name(block.get("name"), "content.name"),
            read_object(block.get("input"), "content.input"),
        )
        for block in uses
    )
    texts = [read_text(b.get("text"), "content.text") for b in blocks if b.get("type") == "text"]
    usage = read_object(answer.get("usage"), "usage")
    read_tokens = sum(read_count(usage.get(name), f"usage.{name}") for name in _READ)
    tokens_written = read_count(usage.get("output_tokens"), "usage.output_tokens")
    content = {"content": blocks}
    return ModelAnswer(
        content, "".join(texts), check_ids(calls, "content.id"), read_tokens, tokens_written
    )


# What a provider's cache holds is read, too.
_READ = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
