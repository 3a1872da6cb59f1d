"""Tools of servers: names, schemas and limits (DOS-1, DOS-2, SHD-1)."""

import json
from pathlib import Path
from typing import Any

import pytest

from catalog.formats.descriptors import IntegrationDescriptor, Loaded
from catalog.formats.read_limits import Limits
from catalog.formats.readers.tools_list import normalize_tools
from tests.formats.folders import capability, load, reasons

SERVER = IntegrationDescriptor(slug="box", kind="mcp", title="Box")


def tools(*definitions: Any, **limits: int) -> Loaded:
    return normalize_tools(list(definitions), integration=SERVER, limits=Limits(**limits))


def with_schema(schema: Any) -> dict[str, Any]:
    return {"name": "pack", "description": "Packs.", "inputSchema": schema}


def nested(depth: int) -> Any:
    schema: Any = {}
    for _ in range(depth):
        schema = {"items": schema}
    return schema


def test_answer_becomes_capabilities_of_its_server() -> None:
    loaded = tools(with_schema({"type": "object"}), {"name": "open", "title": "Open it"})

    assert loaded.integrations == (SERVER,)
    assert [one.full_name for one in loaded.capabilities] == ["box__pack", "box__open"]
    assert loaded.capabilities[1].display_name == "Open it"


def test_one_bad_tool_does_not_stop_the_others() -> None:
    loaded = tools({"description": "nameless"}, "text", with_schema([]), {"name": "open"})

    assert [one.action for one in loaded.capabilities] == ["open"]
    assert [defect.field for defect in loaded.defects] == [
        *("tools[0].name", "tools[1]"),
        "tools[2].inputSchema",
    ]


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (nested(50), "nested more than 32 deep"),
        ({"anyOf": [{} for _ in range(3_000)]}, "more than 2,000 nodes"),
        ({"description": "x" * 70_000}, "bytes; the limit is 65,536"),
        ({"enum": ["x" * 100] * 1_000}, "bytes; the limit is 65,536"),
        ("object", "must be a mapping"),
        (False, "must be a mapping"),
    ],
)
def test_schema_over_the_limits_refuses_its_tool(schema: Any, reason: str) -> None:
    loaded = tools(with_schema(schema))

    assert not loaded.capabilities
    assert loaded.defects[0].field == "tools[0].inputSchema"
    assert reason in loaded.defects[0].reason


@pytest.mark.parametrize("depth", [100, 900, 100_000])
def test_deep_definition_costs_only_itself(depth: int) -> None:
    loaded = tools(with_schema(nested(depth)), {"name": "open"})

    assert capability(loaded).action == "open"
    assert "tools[0]: is nested more than 64 deep" in reasons(loaded)[0]


def test_bad_output_schema_costs_only_itself() -> None:
    loaded = tools({"name": "pack", "outputSchema": nested(50)})

    assert capability(loaded).output_schema is None
    assert loaded.defects[0].field == "tools[0].outputSchema"


@pytest.mark.parametrize(
    "schema",
    [
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
        {"properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}},
    ],
)
def test_references_and_patterns_are_kept(schema: dict[str, Any]) -> None:
    loaded = tools(with_schema(schema))

    assert capability(loaded).input_schema == schema


@pytest.mark.parametrize(
    "reference", ["http://127.0.0.1:1/schema.json", "file:///etc/passwd", "#/$defs/none", "#none"]
)
def test_reference_to_nothing_here_is_left_out_and_never_followed(reference: str) -> None:
    loaded = tools(with_schema({"properties": {"a": {"$ref": reference}, "b": {"minLength": 1}}}))

    schema = {"properties": {"a": {}, "b": {"minLength": 1}}}
    assert capability(loaded).input_schema == schema
    assert reference in loaded.defects[0].reason


def test_property_called_description_stays() -> None:
    schema = {"properties": {"description": {"type": "string"}}}

    assert capability(tools(with_schema(schema))).input_schema == schema


def test_long_description_is_cut_and_reported() -> None:
    loaded = tools({"name": "pack", "description": "ä" * 8_000})

    assert len(capability(loaded).description.encode()) <= 8_192
    assert reasons(loaded) == [
        "box: tools/list: tools[0].description: has 16,000 bytes and was cut to 8,192"
    ]


def test_only_so_many_tools_are_taken_from_one_server() -> None:
    loaded = tools(*({"name": f"t{number}"} for number in range(12)), tools_per_server=10)

    assert len(loaded.capabilities) == 10
    assert "only the first 10 are read" in reasons(loaded)[0]


def test_hidden_characters_go_from_every_text_and_are_counted() -> None:
    schema = {"properties": {"p\u200b": {"enum": ["e\u2060"], "title": "t\U000e0041"}}}
    definition = with_schema(schema) | {
        "description": "d\u202e",
        "annotations": {"title": "x\ufe0f"},
    }

    tool = capability(tools(definition))

    assert tool.input_schema == {"properties": {"p": {"enum": ["e"], "title": "t"}}}
    assert (tool.description, tool.annotations) == ("d", {"title": "x"})
    assert tool.hidden_characters == 5


@pytest.mark.parametrize("name", ["se\u200barch", "a\x00b", "", "   ", "x" * 300, None, [], {}])
def test_name_that_cannot_be_called_is_refused(name: Any) -> None:
    loaded = tools({"name": name})

    assert loaded.defects[0].field == "tools[0].name"
    assert not loaded.capabilities


def test_letters_outside_ascii_are_flagged() -> None:
    loaded = tools({"name": "sеarch"}, {"name": "search"})  # noqa: RUF001 - a Cyrillic letter

    assert loaded.capabilities[0].action == "sеarch"  # noqa: RUF001
    assert loaded.capabilities[0].full_name != "box__search"
    assert "non-ASCII letters" in reasons(loaded)[0]


@pytest.mark.parametrize(
    "definition",
    [
        {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}},
        {"name": "add", "input_schema": {"type": "object"}},
        {"name": "add", "inputSchema": {"type": "object"}},
    ],
)
def test_usual_shapes_of_a_definition_are_read(tmp_path: Path, definition: dict[str, Any]) -> None:
    loaded = load(tmp_path, "sums.json", json.dumps([definition]))

    assert capability(loaded).full_name == "sums__add"
    assert capability(loaded).input_schema == {"type": "object"}


def test_json_rpc_answer_is_read(tmp_path: Path) -> None:
    answer = {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "add"}]}}

    assert capability(load(tmp_path, "sums.json", json.dumps(answer))).full_name == "sums__add"


@pytest.mark.parametrize(
    ("meta", "access"),
    [
        ({"ui": {"visibility": ["app"]}}, "app"),
        ({"ui": {"visibility": []}}, "app"),
        ({"openai/visibility": "private"}, "app"),
        ({"ui": {"visibility": ["model"]}}, "execute"),
        ({"ui": {"visibility": ["app", "model"]}}, "execute"),
        ({"ui": {"visibility": "app"}}, "execute"),  # not as the extension has it
        ({"ui": {}}, "execute"),
        ({"ui": None, "openai/visibility": "public"}, "execute"),
    ],
    ids=str,
)
def test_tool_for_its_servers_app_only_is_no_models(meta: dict[str, Any], access: str) -> None:
    loaded = tools({"name": "act", "inputSchema": {"type": "object"}, "_meta": meta})

    assert capability(loaded).ai_access == access
