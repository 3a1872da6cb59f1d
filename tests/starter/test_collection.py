"""The starter collection is complete, legal and readable."""

from collections import Counter

import pytest
from jsonschema import Draft202012Validator  # ships no types

from catalog.formats.descriptors import Descriptor
from catalog.formats.names import FULL_NAME, SLUG
from marketplace.offers.kinds.starter import starter_collection

COLLECTION = starter_collection()
CAPABILITIES = COLLECTION.capabilities
CORE = {
    *("memory__search", "memory__store", "memory__recall", "memory__forget"),
    *("tasks__list", "tasks__create", "tasks__update_status"),
    *("frontend__show_card", "frontend__show_form", "frontend__show_choices"),
    *("notifications__send", "tool_discovery__find"),
}
BUILTINS = {
    *("llm", "memory", "frontend", "tasks", "spaces", "notifications", "cron", "google_calendar"),
    *("gmail", "filesystem", "webhook", "echo", "settings", "skills", "tool_discovery", "mcp"),
}

each_capability = pytest.mark.parametrize(
    "capability", CAPABILITIES, ids=[capability.full_name for capability in CAPABILITIES]
)


def test_collection_loads_without_defects() -> None:
    assert COLLECTION.defects == ()
    assert 60 <= len(CAPABILITIES) <= 80


def test_collection_reads_the_same_twice() -> None:
    again = starter_collection()

    assert again == COLLECTION
    assert [c.definition_hash for c in again.capabilities] == [
        c.definition_hash for c in CAPABILITIES
    ]


def test_core_tools_are_exactly_the_twelve() -> None:
    assert {c.full_name for c in CAPABILITIES if c.core} == CORE


def test_only_the_discovery_tool_is_pinned() -> None:
    assert [c.full_name for c in CAPABILITIES if c.pinned] == ["tool_discovery__find"]


def test_every_builtin_integration_is_there() -> None:
    slugs = {i.slug for i in COLLECTION.integrations if i.kind == "builtin"}

    assert slugs >= BUILTINS


def test_every_kind_but_the_emergent_one_is_there() -> None:
    kinds = {c.kind for c in CAPABILITIES}

    assert kinds == {"tool", "skill", "extension", "channel", "voice"}


def test_names_and_ids_are_unique() -> None:
    names = [c.full_name for c in CAPABILITIES]
    ids = [c.identifier for c in CAPABILITIES]
    slugs = [i.slug for i in COLLECTION.integrations]

    assert max(Counter(names + ids + [f"integration {s}" for s in slugs]).values()) == 1


def test_every_integration_has_a_legal_slug_and_something_to_offer() -> None:
    offered = {c.integration for c in CAPABILITIES}

    assert {i.slug for i in COLLECTION.integrations} == offered
    assert all(SLUG.fullmatch(slug) for slug in offered)


@each_capability
def test_names_texts_and_effects_are_whole_from_the_first_start_on(capability: Descriptor) -> None:
    alone = capability.full_name == capability.integration
    expected = capability.integration if alone else f"{capability.integration}__{capability.action}"

    assert FULL_NAME.fullmatch(capability.full_name)
    assert capability.full_name == expected
    assert capability.identifier == f"{capability.kind}:{capability.full_name}"
    assert 40 <= len(capability.description) <= 400
    assert capability.description.endswith(".")
    assert capability.display_name
    assert capability.category
    assert 2 <= len(capability.tags) <= 6
    assert len(set(capability.tags)) == len(capability.tags)
    assert capability.examples
    asks_first = capability.ai_access == "propose"
    forgetting = capability.full_name == "memory__forget"  # core: it removes the user's own data
    assert capability.side_effect in ("read", "write", "delete")
    assert asks_first or forgetting or capability.side_effect != "delete"
    assert not (asks_first and capability.side_effect == "read")
    assert capability.available
    assert capability.ai_access != "blocked"


@each_capability
def test_parameters_are_a_described_schema_whose_defaults_fit(capability: Descriptor) -> None:
    if capability.kind == "skill":
        assert capability.input_schema is None
        return

    schema = capability.input_schema

    assert schema is not None
    Draft202012Validator.check_schema(schema)
    assert set(schema["required"]) <= set(schema["properties"])
    assert all(parameter["description"] for parameter in schema["properties"].values())
    defaults = {name: part for name, part in schema["properties"].items() if "default" in part}
    assert all(Draft202012Validator(part).is_valid(part["default"]) for part in defaults.values())
    assert not set(defaults) & set(schema["required"])


def test_what_they_refer_to_exists() -> None:
    known = {name for c in CAPABILITIES for name in (c.full_name, c.identifier)}

    for capability in CAPABILITIES:
        targets = {edge.target for edge in capability.edges} | set(capability.required_tools)
        assert targets <= known - {capability.full_name}, capability.full_name


def test_channels_are_communication_and_name_their_secret() -> None:
    channels = [c for c in CAPABILITIES if c.kind == "channel"]

    assert len(channels) >= 6
    assert {c.category for c in channels} == {"communication"}
    assert all(c.required_secrets and c.side_effect == "write" for c in channels)


def test_skills_bring_instructions_worth_reading() -> None:
    skills = [c for c in CAPABILITIES if c.kind == "skill"]

    assert len(skills) >= 6
    assert all(len(skill.content) > 600 for skill in skills)
    assert all(skill.content.startswith("# ") for skill in skills)
