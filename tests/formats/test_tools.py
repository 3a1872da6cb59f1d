"""Tools of servers and of several files: names, schemas, limits, merged and stored."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from catalog.formats._merge import merge, with_short_name
from catalog.formats.descriptors import (
    Descriptor,
    EdgeDescriptor,
    IntegrationDescriptor,
    Loaded,
    column_values,
    from_columns,
)
from catalog.formats.files import Limits
from catalog.formats.loader import load_path
from catalog.formats.readers.tools_list import normalize_tools
from catalog.runtime.service import normalize_runtime
from tests.formats.folders import capability, integration, load, reasons, write

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


def lines(*tools: dict[str, Any]) -> str:
    return "\n".join(json.dumps(tool) for tool in tools)


def skill(name: str, description: str = "Does it.") -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\nText."


def server(name: str, *tools: str) -> str:
    return json.dumps({"server": name, "tools": [{"name": tool} for tool in tools]})


def test_repetition_is_dropped_without_a_word(tmp_path: Path) -> None:
    write(tmp_path, "a/SKILL.md", skill("same"))
    write(tmp_path, "b/SKILL.md", skill("same"))

    loaded = load_path(tmp_path)

    assert capability(loaded).source_ref["file"] == "a/SKILL.md"
    assert not loaded.defects


def test_contradiction_keeps_the_first_and_is_reported(tmp_path: Path) -> None:
    write(tmp_path, "a/SKILL.md", skill("same", "First."))
    write(tmp_path, "b/SKILL.md", skill("same", "Second."))

    loaded = load_path(tmp_path)

    assert capability(loaded).description == "First."
    assert reasons(loaded) == ["b/SKILL.md: name: same is already declared in a/SKILL.md"]


def test_server_and_skill_of_one_name_both_load(tmp_path: Path) -> None:
    write(tmp_path, "a/SKILL.md", skill("github"))
    write(tmp_path, "b/tools.json", server("github", "create_issue"))

    loaded = load_path(tmp_path)

    assert {one.slug: one.kind for one in loaded.integrations} == {
        "github": "mcp",
        "github-skill": "skill",
    }
    assert {one.full_name for one in loaded.capabilities} == {
        "github__create_issue",
        "github-skill",
    }


def test_names_do_not_depend_on_the_order_of_files(tmp_path: Path) -> None:
    write(tmp_path, "one/a/SKILL.md", skill("github"))
    write(tmp_path, "one/b/tools.json", server("github", "create_issue"))
    write(tmp_path, "two/b/SKILL.md", skill("github"))
    write(tmp_path, "two/a/tools.json", server("github", "create_issue"))

    one, two = load_path(tmp_path / "one"), load_path(tmp_path / "two")

    assert {c.identifier for c in one.capabilities} == {c.identifier for c in two.capabilities}


def test_two_that_share_a_name_both_get_a_short_form(tmp_path: Path) -> None:
    first = {"id": "1", "name": "think", "server": "Mind", "description": "One."}
    second = {"id": "2", "name": "think", "server": "mind", "description": "Two."}

    forwards = load_path(write(tmp_path, "a.jsonl", lines(first, second)))
    backwards = load_path(write(tmp_path, "b.jsonl", lines(second, first)))

    names = {one.identifier: one.full_name for one in forwards.capabilities}
    assert names == {one.identifier: one.full_name for one in backwards.capabilities}
    assert len(set(names.values())) == 2
    assert all(name.startswith("mind__think_") for name in names.values())


def test_declared_id_is_never_taken_from_another(tmp_path: Path) -> None:
    first = {"id": "same", "name": "a", "description": "One."}
    second = {"id": "same", "name": "b", "description": "Two."}

    loaded = load_path(write(tmp_path, "catalog.jsonl", lines(first, second)))

    assert capability(loaded).action == "a"
    assert "same is already declared" in reasons(loaded)[0]


def test_short_name_changes_the_id_that_follows_from_it(tmp_path: Path) -> None:
    tool = capability(load_path(write(tmp_path, "tools.json", server("box", "open"))))

    short = with_short_name(tool)

    assert short.full_name.startswith("box__open_")
    assert short.identifier == f"tool:{short.full_name}"


def test_nothing_merges_to_nothing() -> None:
    assert merge([]) == Loaded()


def test_voice_provider_is_read() -> None:
    loaded = normalize_runtime(
        {"kind": "voice", "name": "whisper", "description": "Turns speech into text."}
    )

    assert capability(loaded).identifier == "voice:whisper"
    assert integration(loaded).kind == "voice"


def test_skill_of_a_user_has_its_content() -> None:
    loaded = normalize_runtime(
        {"kind": "skill", "name": "haiku", "description": "Writes haiku.", "content": "5, 7, 5."}
    )

    assert (capability(loaded).content, capability(loaded).side_effect) == ("5, 7, 5.", "read")


def test_emergent_tool_may_belong_to_an_integration() -> None:
    body = {"kind": "emergent-tool", "name": "sum_up", "description": "Sums up.", "inputSchema": {}}

    loaded = normalize_runtime(body, integration="office")

    assert capability(loaded).full_name == "office__sum_up"
    assert capability(loaded).identifier == "emergent-tool:office__sum_up"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ([], "request: file: must be a mapping"),
        ({}, "request: name: is required"),
        ({"name": "x", "description": "y"}, "request: kind: is required"),
        (
            {"name": "x", "kind": "tool", "description": "y"},
            "request: kind: must be one of voice, skill, emergent-tool",
        ),
        ({"name": ["x"], "kind": "voice"}, "request: name: must be text"),
        (
            {"name": "x", "kind": "voice", "description": "y", "inputSchema": 3},
            "request: inputSchema: must be a mapping (a JSON schema)",
        ),
    ],
)
def test_refused_body_says_which_field(body: Any, reason: str) -> None:
    loaded = normalize_runtime(body)

    assert not loaded.capabilities
    assert reasons(loaded) == [reason]


def test_body_reaches_no_file() -> None:
    body = {"kind": "skill", "name": "x", "description": "y", "skillContent": "/etc/hostname"}

    assert capability(normalize_runtime(body)).content == ""


def test_capability_comes_back_from_json() -> None:
    one = Descriptor(
        kind="tool",
        integration="mail",
        action="send",
        full_name="mail__send",
        identifier="tool:mail__send",
        display_name="Send",
        description="Sends a mail.",
        category="mail",
        tags=("post",),
        examples=("mail it",),
        input_schema={"required": ["to"]},
        edges=(EdgeDescriptor("mail__search", "REQUIRES", 0.5),),
    )

    assert from_columns(Descriptor, json.loads(json.dumps(column_values(one)))) == one


def test_integration_comes_back_without_fields_that_it_does_not_have() -> None:
    one = IntegrationDescriptor("mail", "mcp", "Mail", command=("npx", "mail"))

    stored = json.loads(json.dumps(column_values(one))) | {"state": "approved"}

    assert from_columns(IntegrationDescriptor, stored) == one
    assert from_columns(IntegrationDescriptor, stored | {"command": None}).command == ()


def test_columns_of_an_integration_have_lists_in_place_of_tuples() -> None:
    descriptor = IntegrationDescriptor(
        slug="clock", kind="mcp", title="Clock", command=("uvx", "clock"), source_ref={"file": "x"}
    )

    values = column_values(descriptor)

    lists = {"command": ["uvx", "clock"], "required_secrets": []}
    assert values == asdict(descriptor) | lists
    assert values["source_ref"] is not descriptor.source_ref


def test_columns_of_a_capability_have_its_relations_as_plain_values() -> None:
    edge = EdgeDescriptor(target="clock.set", type="follows", weight=0.5)
    descriptor = Descriptor(
        kind="tool",
        integration="clock",
        action="get",
        full_name="clock_get",
        identifier="clock.get",
        display_name="Get",
        description="Tell the time.",
        category="time",
        edges=(edge,),
        tags=("time",),
    )

    values = column_values(descriptor)

    assert values["edges"] == [{"target": "clock.set", "type": "follows", "weight": 0.5}]
    assert (values["tags"], values["examples"]) == (["time"], [])
