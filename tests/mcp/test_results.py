"""Results and definitions as MCP clients get them, whatever a server's were."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import CallToolResult

from catalog.formats.descriptors import IntegrationDescriptor, column_values
from catalog.models import Capability, Integration
from catalog.readiness.readiness import Readiness
from catalog.servers.client.mcp_session import ToolResult
from catalog.trust.tool_list import read_tool
from discovery.calls.view import Execution
from discovery.calls.worker import serialize_result
from discovery.mcp.server._client_side import ClientSide
from discovery.mcp.server._mcp_tools import describe_tool, listed_for
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


HOUSE = IntegrationDescriptor(slug="house", kind="mcp", title="House")
names = st.text("abcdefgh/_-.", min_size=1, max_size=12).filter(lambda name: name != "ui")
values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("xyz ", max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
tools = st.fixed_dictionaries(
    {
        "name": st.just("act"),
        "inputSchema": st.just({"type": "object"}),
        "_meta": st.dictionaries(names, values, max_size=3),
    },
    optional={
        "annotations": st.fixed_dictionaries(
            {},
            optional={
                name: st.booleans()
                for name in ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
            }
            | {"title": st.sampled_from(["Act", "Do it"])},
        ),
        "icons": st.lists(
            st.fixed_dictionaries(
                {"src": st.sampled_from(["https://a.example/i.png", "data:image/png;base64,aGk="])},
                optional={"mimeType": st.just("image/png"), "sizes": st.just(["48x48"])},
            ),
            min_size=1,
            max_size=2,
        ),
        "outputSchema": st.sampled_from(
            [
                {"type": "object", "properties": {"n": {"type": "number"}}},
                {"type": "array", "items": {"type": "string"}},
                {"type": ["string", "null"]},
                {"anyOf": [{"type": "number"}, {"type": "boolean"}]},
            ]
        ),
    },
)


@given(tool=tools, effect=st.sampled_from(Capability.SideEffect.values))
def test_what_a_server_says_of_a_tool_reaches_clients_as_it_is(
    tool: dict[str, Any], effect: str
) -> None:
    """Send a definition of any such shape through reader and list, and find it in the answer."""
    of_neighbours = {"pegboard/readiness": "failing", "io.modelcontextprotocol/serverInfo": {}}
    offered = read_tool(HOUSE, {**tool, "_meta": {**tool["_meta"], **of_neighbours}})
    assert offered.descriptor is not None
    assert offered.digest == read_tool(HOUSE, tool).digest  # what is ours changes no definition
    values = {**column_values(offered.descriptor), "side_effect": effect}
    fields = {field.name for field in Capability._meta.concrete_fields} - {"integration"}
    row = Capability(
        integration=Integration(slug="house"),
        **{name: value for name, value in values.items() if name in fields},
    )
    row.readiness = SimpleNamespace(state=Readiness.READY)  # type: ignore[attr-defined]

    listed = describe_tool(row, "act", own_schema=True)
    dumped = listed_for("2026-07-28", listed).model_dump(by_alias=True, exclude_none=True)
    older = listed_for("2025-11-25", listed).output_schema

    derived = {"pegboard/readiness": "ready", "pegboard/effect": effect}
    assert dumped["_meta"] == {**tool["_meta"], **derived}
    assert dumped.get("icons") == tool.get("icons")
    assert dumped.get("outputSchema") == tool.get("outputSchema")
    hints = tool.get("annotations", {})
    if any(name.endswith("Hint") for name in hints):
        assert dumped["annotations"] == hints
    else:
        assert dumped["annotations"].items() >= hints.items()
        assert dumped["annotations"]["readOnlyHint"] == (effect == "read")
    is_object = tool.get("outputSchema", {}).get("type") == "object"
    assert older == (tool["outputSchema"] if is_object else None)


@given(meta=st.dictionaries(names, values, min_size=1, max_size=3), value=values)
def test_what_a_server_adds_to_a_result_reaches_clients_and_no_model(
    meta: dict[str, Any], value: Any
) -> None:
    result = ToolResult([{"type": "text", "text": "Done."}], value, meta=meta)
    stored = json.loads(serialize_result(result, most=10_000))
    shown = {name: stored[name] for name in ("content", "structured") if stored[name] is not None}
    done = Execution("completed", "house__act", "", result=shown, meta=stored["meta"])

    newer = result_of_call(done, ClientSide(version="2026-07-28"))
    older = result_of_call(done, ClientSide(version="2025-11-25"))

    assert isinstance(newer, CallToolResult)
    assert isinstance(older, CallToolResult)
    assert newer.meta == older.meta == meta
    assert newer.structured_content == value
    assert older.structured_content == (value if isinstance(value, dict) else None)
    assert "meta" not in done.as_answer()
    too_long = ToolResult([{"type": "text", "text": "x" * 900}], meta={"a": "b" * 90})
    cut = serialize_result(too_long, most=800)
    assert (len(cut) <= 800, json.loads(cut)["meta"]) == (True, too_long.meta)
