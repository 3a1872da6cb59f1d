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

ADDRESS = "https://generativelanguage.googleapis.com"
FORMAT = "gemini"
_OURS = "call "  # begins the id of a call that has none


def url(address: str, model_id: str) -> str:
    """Return the URL of a request."""
    return f"{address}/v1beta/models/{quote(model_id, safe='')}:generateContent"


def headers(key: str) -> Mapping[str, str]:
    """Return the header that shows the key."""
    return {"x-goog-api-key": key}


def body(asked: ModelQuestion) -> JSONObject:
    """Return the body of a request."""
    contents: list[JSONObject] = []
    for text, answer in asked.earlier:
        contents += [_says("user", text), _says("model", answer)]
    contents.append(_says("user", asked.text))
    for one in asked.rounds:
        contents.append(one.content)
        contents.append({"role": "user", "parts": [_result(result) for result in one.results]})
    whole: JSONObject = {"contents": contents}
    if asked.prompt:
        whole["systemInstruction"] = {"parts": [{"text": asked.prompt}]}
    if asked.tools:
        whole["tools"] = asked.tools
    return {**whole, "generationConfig": {"maxOutputTokens": MOST_ANSWER_TOKENS}}


def _says(role: str, text: str) -> JSONObject:
    return {"role": role, "parts": [{"text": text}]}


def _result(result: CallResult) -> JSONObject:
    said = {"error" if result.is_error else "output": result.text}
    named = {} if result.id.startswith(_OURS) else {"id": result.id}
    return {"functionResponse": {**named, "name": result.name, "response": said}}


def read(answer: JSONObject) -> ModelAnswer:
    """Read an answer. Raises MalformedAnswerError."""
    candidates = read_objects(answer.get("candidates") or [], "candidates")
    if not candidates:
        raise MalformedAnswerError("candidates")
    content = read_object(candidates[0].get("content") or {}, "candidates.content")
    parts = read_objects(content.get("parts") or [], "content.parts")
    wanted = [part["functionCall"] for part in parts if "functionCall" in part]
    calls = tuple(_call(place, call) for place, call in enumerate(wanted))
    # Parts marked as thought are the model's notes, not its answer.
    texts = [read_text(part.get("text"), "parts.text") for part in parts if not part.get("thought")]
    usage = read_object(answer.get("usageMetadata") or {}, "usageMetadata")
    written = sum(read_count(usage.get(name), f"usageMetadata.{name}") for name in _WRITTEN)
    return ModelAnswer(
        {"role": "model", "parts": parts},
        "".join(texts),
        check_ids(calls, "functionCall.id"),
        read_count(usage.get("promptTokenCount"), "usageMetadata.promptTokenCount"),
        written,
    )


_WRITTEN = ("candidatesTokenCount", "thoughtsTokenCount")


def _call(place: int, wanted: object) -> WantedCall:
    call = read_object(wanted, "parts.functionCall")
    return WantedCall(
        read_text(call.get("id"), "functionCall.id")[:200] or f"{_OURS}{place}",
        read_name(call.get("name"), "functionCall.name"),
        read_object(call.get("args") or {}, "functionCall.args"),
    )
