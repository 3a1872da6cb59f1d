"""Payloads, validated by the types of the providers' own SDKs."""

import re
from pathlib import Path
from typing import Any, Literal, NotRequired, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pegboard_client.answers import Format
from pydantic import TypeAdapter
from typing_extensions import TypedDict

from catalog.formats.names import FULL_NAME
from catalog.trust.findings import trust_own_schema, trust_own_text
from discovery.answer.formats.base import Tool
from discovery.answer.formats.registry import (
    FORMATS,
    SEARCHING,
    renamed,
    write_searchable,
    write_tools,
)
from discovery.answer.injection import as_tools
from discovery.metatools import META_TOOLS
from discovery.playground._callers import OUTPUTS
from tests.visible_text.schemas import GOOD

SEARCH = as_tools([META_TOOLS["discover_capabilities"]])[0]


def tool_of(
    name: str, title: str, description: str, schema: Any = None, *rest: Any, **more: Any
) -> Tool:
    """Create a tool whose texts have passed the gate."""
    reviewed = None if schema is None else trust_own_schema(schema)
    return Tool(name, trust_own_text(title), trust_own_text(description), reviewed, *rest, **more)


TOOLS = [
    tool_of("gmail__send_email", "Send email", "Sends a mail.", GOOD, "write", asks_first=True),
    tool_of("7zip__pack", "Pack", "", {"properties": {"$level": {}, "level": {}, "a b": True}}),
    tool_of("_7zip__pack", "Pack", "Another one.", {"anyOf": [{"type": "object"}], "type": "any"}),
    tool_of("x" * 64, "Long", "word " * 2000, None, "delete"),
    *as_tools(META_TOOLS.values()),
]


class MistralFunction(TypedDict):
    """A function, as Mistral publishes its schema."""

    name: str
    description: NotRequired[str]
    strict: NotRequired[bool]
    parameters: dict[str, Any]


class MistralTool(TypedDict):
    """A tool, as Mistral publishes its schema."""

    type: NotRequired[Literal["function"]]
    function: MistralFunction


def type_of(payload: str) -> Any:
    """Import the type here: SDKs take seconds to load, which other test processes are spared."""
    if payload == "mistral":
        return list[MistralTool]
    if payload == "mcp":
        import mcp.types

        return list[mcp.types.Tool]
    if payload == "gemini":
        import google.genai.types

        return list[google.genai.types.Tool]
    if payload.startswith("anthropic"):
        import anthropic.types

        result = anthropic.types.ToolResultBlockParam
        return result if payload == "anthropic result" else list[anthropic.types.ToolParam]
    import openai.types.chat
    import openai.types.responses as responses
    from openai.types.responses import response_tool_search_output_item_param_param as searched

    types: dict[str, Any] = {
        "openai": list[openai.types.chat.ChatCompletionToolParam],
        "openai_responses": list[responses.FunctionToolParam],
        "openai searchable": list[responses.tool_param.ToolParam],
        "openai searched": searched.ResponseToolSearchOutputItemParamParam,
    }
    return types[payload]


def as_read(kind: Any, payload: Any) -> Any:
    """Parse the payload with the SDK, which drops unknown fields and rejects wrong ones."""
    adapter = TypeAdapter(kind)
    read = adapter.validate_python(payload)
    return adapter.dump_python(read, mode="json", by_alias=True, exclude_unset=True)


@pytest.mark.parametrize("provider", FORMATS)
def test_tools_are_what_the_sdk_takes(provider: str) -> None:
    payload = write_tools(TOOLS, provider) or []

    assert as_read(type_of(provider), payload) == payload
    declared = payload[0]["functionDeclarations"] if provider == "gemini" else payload
    assert len(declared) == len(TOOLS)


def test_each_format_is_named_wherever_one_is_chosen() -> None:
    tiers = (Path(__file__).parents[2] / "docs" / "tiers.md").read_text("utf-8")

    assert set(get_args(Format)) == {*FORMATS, "none"}  # generated
    assert FORMATS.keys() <= {value for value, _ in OUTPUTS}
    assert all(f"| `{name}`" in tiers for name in FORMATS)


def test_wrong_payload_is_noticed() -> None:
    wrong = [{"name": "a", "input_schema": {}, "parameters": {}}]

    assert as_read(type_of("anthropic"), wrong) != wrong


def test_anthropic_loads_what_a_search_of_ours_refers_to() -> None:
    tools, result = write_searchable(TOOLS, TOOLS[:3], SEARCH, "anthropic")

    assert as_read(type_of("anthropic"), tools) == tools
    assert [tool["name"] for tool in tools if not tool.get("defer_loading")] == [SEARCH.name]
    answer = {"type": "tool_result", "tool_use_id": "toolu_1", "content": result}
    assert as_read(type_of("anthropic result"), answer) == answer
    assert [block["tool_name"] for block in result] == [tool.name for tool in TOOLS[:3]]
    assert {block["tool_name"] for block in result} <= {tool["name"] for tool in tools}


def test_search_that_finds_nothing_says_so() -> None:
    _, result = write_searchable([], [], SEARCH, "anthropic")

    answer = {"type": "tool_result", "tool_use_id": "toolu_1", "content": result}
    assert as_read(type_of("anthropic result"), answer) == answer
    assert result[0]["type"] == "text"


def test_openai_is_given_definitions_by_a_search_that_the_client_executes() -> None:
    tools, result = write_searchable(TOOLS, TOOLS[:3], SEARCH, "openai_responses")

    assert as_read(type_of("openai searchable"), tools) == tools
    item = {**result, "call_id": "call_1"}
    assert as_read(type_of("openai searched"), item) == item
    assert all(tool["defer_loading"] for tool in result["tools"])


@pytest.mark.parametrize("provider", sorted({*FORMATS} - {*SEARCHING}))
def test_format_without_a_search_says_so(provider: str) -> None:
    with pytest.raises(ValueError, match="has no search"):
        write_searchable(TOOLS, TOOLS, SEARCH, provider)


NAMES = {
    "anthropic": r"[a-zA-Z0-9_-]{1,128}",
    "mistral": r"[a-zA-Z0-9_-]{1,64}",
    "openai": r"[a-zA-Z0-9_-]{1,64}",
    "openai_responses": r"[a-zA-Z0-9_-]{1,64}",
    "gemini": r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}",
    "mcp": r"[a-zA-Z0-9_.-]{1,128}",
}


@pytest.mark.parametrize("provider", FORMATS)
@given(st.sets(st.from_regex(FULL_NAME, fullmatch=True), max_size=20))
def test_name_is_legal_and_leads_back(provider: str, full_names: set[str]) -> None:
    back = renamed([tool_of(name, "", "") for name in full_names], provider)

    written = {FORMATS[provider].name_of(name): name for name in full_names}
    assert len(written) == len(full_names)
    assert all(re.fullmatch(NAMES[provider], name) for name in written)
    assert written == {name: back.get(name, {"full_name": name})["full_name"] for name in written}


@given(st.sets(st.text(max_size=80), max_size=8))
def test_arguments_that_anthropic_refuses_get_names_that_lead_back(names: set[str]) -> None:
    schema = {"properties": {name: {"title": name} for name in names}, "required": sorted(names)}
    tool = tool_of("a__x", "", "", schema)

    [written] = write_tools([tool], "anthropic") or []

    legal = written["input_schema"]["properties"]
    assert all(re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name) for name in legal)
    back = renamed([tool], "anthropic").get("a__x", {"arguments": {}})["arguments"]
    assert {back.get(name, name): inner["title"] for name, inner in legal.items()} == {
        name: name for name in names
    }
    assert {back.get(name, name) for name in written["input_schema"].get("required", ())} == names


def test_odd_argument_keeps_a_readable_name() -> None:
    back = renamed(TOOLS[1:2], "anthropic")["7zip__pack"]["arguments"]

    assert set(back.values()) == {"$level", "a b"}
    assert back["a_b"] == "a b"
    assert "level" not in back
