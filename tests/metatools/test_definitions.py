"""Definitions of the meta-tools: legal for all providers, short, and consistent."""

import re

import jsonschema
import pytest

from catalog.readiness.obstacles import OWN_INTEGRATIONS
from catalog.token_counter import estimate_tokens
from discovery.metatools.metatool import MetaTool
from discovery.metatools.registry import EXPLORING, META_TOOLS
from marketplace.offers.kinds.starter import starter_collection

INTEGRATIONS = {"mcp", "tool_discovery"}
every_tool = pytest.mark.parametrize("tool", META_TOOLS.values(), ids=META_TOOLS)


def test_registry_has_what_the_specification_names() -> None:
    assert list(META_TOOLS) == [
        "list_categories",
        "browse_category",
        "search_tools",
        "get_tool",
        "execute_tool",
        "get_call",
        "discover_capabilities",
        "tool_discovery__find",
        "tool_discovery__list_all",
        "tool_discovery__describe",
        "mcp__list_servers",
        "mcp__call_tool",
        "mcp__register_server",
    ]


@every_tool
def test_definition_is_legal_for_every_provider(tool: MetaTool) -> None:
    schema = tool.input_schema

    jsonschema.Draft202012Validator.check_schema(schema)
    assert re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}", tool.name)
    assert set(schema["required"]) <= set(schema["properties"])
    assert 0 < len(tool.description) <= 250


def test_definitions_stay_within_their_budgets() -> None:
    assert estimate_tokens(META_TOOLS["discover_capabilities"].as_tool()) <= 85
    assert sum(estimate_tokens(tool.as_tool()) for tool in EXPLORING) <= 600


def test_starter_collection_says_the_same_of_those_that_are_its_capabilities() -> None:
    collected = {
        capability.full_name: (
            capability.display_name, capability.description, capability.input_schema,
        )
        for capability in starter_collection().capabilities
        if capability.integration in INTEGRATIONS
    }  # fmt: skip

    assert collected == {
        tool.name: (tool.title, tool.description, tool.input_schema)
        for tool in META_TOOLS.values()
        if tool.name.split("__")[0] in INTEGRATIONS
    }


@pytest.mark.parametrize("kind", ["any", "all"])
@pytest.mark.parametrize("name", ["discover_capabilities", "search_tools"])
def test_every_kind_has_two_names(name: str, kind: str) -> None:
    jsonschema.validate({"query": "mail", "kind": kind}, META_TOOLS[name].input_schema)


def test_integrations_of_own_tools_are_those_that_pegboard_answers_itself() -> None:
    """Compare the rule for tools with the rule for integrations."""
    own = {name.partition("__")[0] for name in META_TOOLS if "__" in name}

    assert own == set(OWN_INTEGRATIONS)
