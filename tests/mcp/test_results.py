"""Results and definitions as MCP clients get them, whatever a server's were."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from mcp_types import CallToolResult

from catalog.models import Capability, Integration
from catalog.readiness.readiness import Readiness
from discovery.calls.view import Execution
from discovery.mcp.server._client_side import ClientSide
from discovery.mcp.server._mcp_tools import describe_tool
from discovery.mcp.server._tool_results import result_of_call


def result_of(**result: Any) -> CallToolResult:
    done = Execution("completed", "shop__count", "", result=result)
    answer = result_of_call(done, ClientSide(version="2025-03-26"))
    assert isinstance(answer, CallToolResult)
    return answer


def texts(answer: CallToolResult) -> list[str]:
    return [getattr(block, "text", block.type) for block in answer.content]


@pytest.mark.parametrize("value", [{"n": 7}, {"größe": ["ß"]}, [1, 2], 5, False])
def test_structured_value_alone_is_the_text_for_the_model(value: Any) -> None:
    answer = result_of(content=[], structured=value, is_error=False)

    assert [json.loads(text) for text in texts(answer)] == [value]


def test_block_of_a_later_version_costs_no_other_block() -> None:
    link = {"type": "resource_link", "name": "a", "uri": "file:///a"}
    picture = {"type": "image", "data": "aGk=", "mimeType": "image/png"}

    answer = result_of(content=[picture, link, {"type": "text", "text": "Sold."}])

    assert [block.type for block in answer.content] == ["image", "text", "text"]
    assert json.loads(texts(answer)[1]) == link


@pytest.mark.parametrize("reference", ["#/$defs/Screen", "https://example.com/x", "#nowhere"])
def test_output_schema_that_refers_to_nothing_is_left_out(reference: str) -> None:
    items = {"type": "array", "items": {"$ref": reference}}
    row = Capability(
        integration=Integration(slug="shop"),
        display_name="Screens",
        input_schema={"type": "object"},
        output_schema={"type": "object", "properties": {"screens": items}},
        side_effect="read",
    )
    row.readiness = SimpleNamespace(state=Readiness.READY)  # type: ignore[attr-defined]

    assert describe_tool(row, "screen_list", own_schema=True).output_schema is None
    row.output_schema = {"type": "object", "properties": {"screens": {"type": "array"}}}
    assert describe_tool(row, "screen_list", own_schema=True).output_schema == row.output_schema
