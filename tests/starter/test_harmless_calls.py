"""Harmless calls: tools that only read, with arguments that their schemas suggest."""

from typing import Any

import pytest

from lab.atlas.harmless_calls import choose_calls, fill_required


def tool(name: str, effect: str = "read", **more: Any) -> dict[str, Any]:
    return {"full_name": f"it__{name}", "side_effect": effect, "input_schema": {}, **more}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"default": "."}, "."),
        ({"const": 3}, 3),
        ({"examples": ["a", "b"]}, "a"),
        ({"enum": [None, "x"]}, "x"),
        ({"type": "boolean"}, False),
        ({"type": "integer", "minimum": 1}, 1),
        ({"type": "string", "description": "A zone (e.g., 'Europe/Berlin')."}, "Europe/Berlin"),
    ],
)
def test_a_required_argument_gets_the_value_that_its_schema_suggests(
    schema: dict[str, Any], value: object
) -> None:
    whole = {"properties": {"it": schema, "other": {"default": 1}}, "required": ["it"]}

    assert fill_required(whole) == {"it": value}


def test_nothing_is_called_with_an_invented_argument() -> None:
    assert fill_required({"properties": {"it": {"type": "string"}}, "required": ["it"]}) is None
    assert fill_required({"required": ["unknown"]}) is None


def test_only_tools_that_read_are_called_those_with_few_arguments_first() -> None:
    needy = {"properties": {"at": {"default": 1}}, "required": ["at"]}
    tools = [
        tool("needy", input_schema=needy),
        tool("write", "write"),
        tool("unsure", "unknown"),
        tool("sends", effect_flags=["reaches_outside"]),
        tool("plain", effect_flags=["returns_foreign_text"]),
    ]

    assert choose_calls(tools) == [("it__plain", {}), ("it__needy", {"at": 1})]
