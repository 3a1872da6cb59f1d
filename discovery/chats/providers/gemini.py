"""Google's Gemini API (POST /v1beta/models/…:generateContent).

Calls have ids only in newer models; without them results are told apart by their order.
"""

from collections.abc import Mapping
from urllib.parse import quote

from catalog.formats.descriptors import JSONObject
from discovery.chats.providers.base import (
    MOST_ANSWER_TOKENS,
    CallResult,
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

LABEL = "Gemini"
NEEDS_KEY = True
ADDRESS = "https://generativelanguage.googleapis.com"
FORMAT = "gemini"
_OURS = "call "  # begins the id of a call that has none


def url(address: str, model_id: str) -> str:
    """Return the URL of a request."""
    return f"{address}/v1beta/models/{quote(model_id, safe='')}:generateContent"


def headers(key: str) -> Mapping[str, str]:
    """Return the header that shows the key."""
    return {"x-goog-api-key": key}


def body(question: ModelQuestion) -> JSONObject:
    """Return the body of a request."""
    contents: list[JSONObject] = []
    for text, answer in question.earlier:
        contents += [_says("user", text), _says("model", answer)]
    contents.append(_says("user", question.text))
    for exchange in question.rounds:
        contents.append(exchange.content)
        contents.append({"role": "user", "parts": [_result(result) for result in exchange.results]})
    whole: JSONObject = {"contents": contents}
    if question.prompt:
        whole["systemInstruction"] = {"parts": [{"text": question.prompt}]}
    if question.tools:
        whole["tools"] = question.tools
    return {**whole, "generationConfig": {"maxOutputTokens": MOST_ANSWER_TOKENS}}


def _says(role: str, text: str) -> JSONObject:
    return {"role": role, "parts": [{"text": text}]}


def _result(result: CallResult) -> JSONObject:
    response = {"error" if result.is_error else "output": result.text}
    identity = {} if result.id.startswith(_OURS) else {"id": result.id}
    return {"functionResponse": {**identity, "name": result.name, "response": response}}


def read(answer: JSONObject) -> ModelAnswer:
    """Read an answer. Raises MalformedAnswerError."""
    candidates = read_objects(answer.get("candidates") or [], "candidates")
    if not candidates:
        raise MalformedAnswerError("candidates")
    content = read_object(candidates[0].get("content") or {}, "candidates.content")
    parts = read_objects(content.get("parts") or [], "content.parts")
    function_calls = [part["functionCall"] for part in parts if "functionCall" in part]
    calls = tuple(_call(place, call) for place, call in enumerate(function_calls))
    # Parts marked as thought are the model's notes, not its answer.
    texts = [read_text(part.get("text"), "parts.text") for part in parts if not part.get("thought")]
    usage = read_object(answer.get("usageMetadata") or {}, "usageMetadata")
    tokens_written = sum(read_count(usage.get(name), f"usageMetadata.{name}") for name in _WRITTEN)
    return ModelAnswer(
        {"role": "model", "parts": parts},
        "".join(texts),
        check_ids(calls, "functionCall.id"),
        read_count(usage.get("promptTokenCount"), "usageMetadata.promptTokenCount"),
        tokens_written,
    )


_WRITTEN = ("candidatesTokenCount", "thoughtsTokenCount")


def _call(place: int, value: object) -> WantedCall:
    call = read_object(value, "parts.functionCall")
    return WantedCall(
        read_text(call.get("id"), "functionCall.id")[:200] or f"{_OURS}{place}",
        read_name(call.get("name"), "functionCall.name"),
        read_object(call.get("args") or {}, "functionCall.args"),
    )
