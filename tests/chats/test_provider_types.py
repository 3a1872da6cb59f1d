"""Requests and the fakes' answers, by the types of the providers' own SDKs."""

from typing import Any

import pytest
from pydantic import TypeAdapter

from catalog.trust.reviewed_texts import trust_own_schema, trust_own_text
from discovery.answer.formats.base import Tool
from discovery.answer.formats.registry import write_tools
from discovery.chats.providers.base import CallResult, ModelQuestion, Round
from discovery.chats.providers.registry import APIS
from tests.chats import fake_models
from tests.chats.fake_models import MODEL, CallTools, FakeModel

ASKS = CallTools((("letters__polite", {"tone": "warm"}),), text="I look it up.")
SCHEMA = {"type": "object", "properties": {"tone": {"type": "string"}}}
PROVIDERS = tuple(APIS)


def types_of(provider: str) -> tuple[Any, Any]:
    """Import the types of a request and of an answer here: SDKs take seconds to load."""
    if provider == "anthropic":
        import anthropic.types
        from anthropic.types.message_create_params import MessageCreateParamsNonStreaming

        return MessageCreateParamsNonStreaming, anthropic.types.Message
    if provider == "gemini":
        import google.genai.types as gemini

        return gemini.Content, gemini.GenerateContentResponse
    import openai.types.chat
    from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming

    return CompletionCreateParamsNonStreaming, openai.types.chat.ChatCompletion


def as_read(kind: Any, payload: Any) -> Any:
    """Parse with the SDK, which drops unknown fields and rejects wrong ones."""
    adapter = TypeAdapter(kind)
    read = adapter.validate_python(payload)
    return adapter.dump_python(read, mode="json", by_alias=True, exclude_unset=True)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_requests_and_answers_are_what_the_sdk_has(provider: str) -> None:
    request_type, answer_type = types_of(provider)
    fake, api = FakeModel(provider), APIS[provider]
    answer = fake_models.APIS[provider].answer(fake, ASKS)

    TypeAdapter(answer_type).validate_python(answer)
    read = api.read(answer)
    results = tuple(CallResult(one.id, one.name, "…", is_error=False) for one in read.calls)
    body = api.body(_question(provider, Round(read.content, results)))

    assert [(one.name, one.arguments) for one in read.calls] == list(ASKS.calls)
    if provider == "gemini":
        assert [as_read(request_type, one)["role"] for one in body["contents"]] == [
            "user", "model", "user", "model", "user",
        ]  # fmt: skip
    else:
        written = {name: part for name, part in body.items() if name != "messages"}
        checked = as_read(request_type, body)
        assert {name: checked[name] for name in written} == written
        assert len(list(checked["messages"])) == len(body["messages"])


def _question(provider: str, one: Round) -> ModelQuestion:
    tool = Tool("letters__polite", trust_own_text("Polite"), trust_own_text("Polite letters."),
                trust_own_schema(SCHEMA))  # fmt: skip
    tools = write_tools([tool], APIS[provider].FORMAT) or []
    return ModelQuestion(MODEL, "Be brief.", (("hello", "Hello!"),), "a letter", (one,), tools)
