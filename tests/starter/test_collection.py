"""The starter collection is complete, legal and readable."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # ships no types

from catalog.formats.descriptors import Descriptor, IntegrationDescriptor
from catalog.formats.names import FULL_NAME, SLUG
from catalog.formats.package_names import check_constraint
from lab.atlas.__main__ import choose_packages
from lab.atlas.harmless_calls import choose_calls, fill_required
from lab.atlas.packages import AtlasPackage, read_packages
from lab.atlas.results import KEPT, read_results, write_results
from marketplace.offers.kinds.starter import read_findings, starter_collection, starter_listings
from marketplace.offers.offer import WORKING, offer_of, read_package_test
from tests.docs.atlas_page import PAGE, render_atlas

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


PACKAGES = read_packages()
OFFERED = {one.slug for one in starter_listings() if one.command}
FINDINGS = read_findings()

each_package = pytest.mark.parametrize("package", PACKAGES, ids=[one.slug for one in PACKAGES])


@each_package
def test_package_has_a_finding_of_its_version_and_is_offered_if_it_works(
    package: AtlasPackage,
) -> None:
    found = FINDINGS[package.slug]

    assert (found["package"], found["version"]) == (
        f"{package.index}:{package.name}",
        package.version,
    )
    assert (found["state"] in WORKING) == (package.slug in OFFERED)
    assert bool(found["tools"]) == (package.slug in OFFERED)
    assert bool(found["reason"]) != (package.slug in OFFERED)
    assert [check_constraint(one) for one in found["bounds"]] == found["bounds"]
    assert not found["called"] or (found["tools"][found["called"]] == "read" and not package.needs)


def test_no_finding_is_left_of_a_package_that_nobody_lists() -> None:
    assert FINDINGS.keys() == {one.slug for one in PACKAGES}


def test_listings_have_the_findings_and_the_effects_of_their_tools() -> None:
    listings = {one.slug: one for one in starter_listings()}
    sqlite = listings["sqlite"]

    test = read_package_test(sqlite.source_ref)

    assert test is not None
    assert (test.version, test.bounds, test.called) == (sqlite.version, ("mcp<2",), "list_tables")
    assert {"name": "read_query", "side_effect": "read"} in offer_of(sqlite).tools
    assert read_package_test(listings["github"].source_ref) is None  # reached over the network


def test_findings_are_written_as_they_are_read(tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("atlas") / "atlas.json"

    write_results(dict(reversed(read_results().items())), file)

    assert file.read_bytes() == KEPT.read_bytes()


def test_a_run_takes_what_has_no_finding_what_is_named_or_everything() -> None:
    newer = AtlasPackage("time", "pypi", "mcp-server-time", "9999.1.1", ("uvx",))
    packages = [newer, *(one for one in PACKAGES if one.slug == "git")]

    def chosen(*only: str, anew: bool = False, limit: int = 0) -> list[str]:
        wanted = choose_packages(packages, only=list(only), anew=anew, limit=limit)
        return [one.slug for one in wanted]

    assert chosen() == ["time"]
    assert chosen("git") == ["git"]
    assert chosen(anew=True) == ["time", "git"]
    assert chosen(anew=True, limit=1) == ["time"]


def test_page_has_all_figures() -> None:
    assert PAGE.read_text("utf-8") == render_atlas(), "run python -m tests.docs"


SAMPLES = Path(__file__).resolve().parents[3] / "shared" / "samples" / "mcp-tools-list"
LISTINGS = starter_listings()
REAL_SERVERS = {
    *("mcp-server-time", "mcp-server-git", "mcp-server-fetch", "mcp-server-sqlite"),
    *("@modelcontextprotocol/server-everything", "@modelcontextprotocol/server-filesystem"),
    *("@modelcontextprotocol/server-memory", "@modelcontextprotocol/server-sequential-thinking"),
}

each_listing = pytest.mark.parametrize("listing", LISTINGS, ids=[each.slug for each in LISTINGS])


def test_reference_servers_are_offered() -> None:
    packages = {each.source_ref["package"]["name"] for each in LISTINGS if each.command}

    assert packages >= REAL_SERVERS


def test_listings_never_share_a_slug_with_one_another_or_with_the_collection() -> None:
    slugs = [each.slug for each in (*LISTINGS, *starter_collection().integrations)]

    assert max(Counter(slugs).values()) == 1


@each_listing
def test_listing_says_what_an_admin_asks_first_and_has_one_way_to_connect(
    listing: IntegrationDescriptor,
) -> None:
    assert SLUG.fullmatch(listing.slug)
    assert listing.kind == "mcp"
    assert listing.title
    assert listing.publisher
    assert 30 <= len(listing.description) <= 400
    assert listing.homepage.startswith("https://")
    local = listing.transport == "stdio"
    assert bool(listing.command) == local
    assert listing.endpoint.startswith("https://") != local


@each_listing
def test_packages_are_pinned_to_an_exact_version(listing: IntegrationDescriptor) -> None:
    if not listing.command:
        assert listing.version == ""
        return

    pinned = [part for part in listing.command if part.endswith(listing.version)]

    assert listing.command[0] in ("uvx", "npx")
    assert re.fullmatch(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?", listing.version)
    assert len(pinned) == 1
    assert listing.licence


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the recorded answers are not beside the project")
def test_named_tools_are_those_that_the_real_servers_list() -> None:
    named = {
        _package_stem(each): {one["name"] for one in offer_of(each).tools} for each in LISTINGS
    }

    answers = {path.stem: json.loads(path.read_text("utf-8")) for path in SAMPLES.glob("*.json")}
    listed = {server: {t["name"] for t in answer["tools"]} for server, answer in answers.items()}

    assert len(listed) >= 6
    assert listed == {server: named.get(server) for server in listed}


def _package_stem(listing: IntegrationDescriptor) -> str:
    package = listing.source_ref.get("package", {"name": listing.slug})
    return str(package["name"]).split("/")[-1]


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
