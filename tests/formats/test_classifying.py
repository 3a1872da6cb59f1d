"""Categories, side effects and parameter summaries, derived from words."""

import pytest

from catalog.formats._side_effects import (
    side_effect_declared,
    side_effect_from_verbs,
    side_effect_of_tool,
)
from catalog.formats.categories import canonical_category, infer_category, resolve_category
from catalog.formats.descriptors import SideEffect
from catalog.formats.entry import Document, Entry
from catalog.registration._derived_columns import summarize_parameters


@pytest.mark.parametrize(
    ("name", "description", "category"),
    [
        ("run_query", "Execute a SQL query on the Postgres database.", "database"),
        ("readFile", "Reads a file from the disk.", "filesystem"),
        ("send_email", "Sends an email to someone.", "communication"),
        ("post_message", "Posts a message into a Slack channel.", "messaging"),
        ("create_event", "Creates an event in the calendar.", "planning"),
        ("web_search", "Searches the web.", "search"),
        ("get_forecast", "Gives the weather of tomorrow.", "information"),
        ("create_pull_request", "Opens a pull request in a repository.", "developer-tools"),
        ("login", "Authenticates with OAuth.", "auth"),
        ("list_threads", "Lists the threads of a widget.", "other"),
        ("spread", "Tells how wide the bread is spread.", "other"),
        ("", "", "other"),
    ],
)
def test_category_is_worked_out_from_whole_words(
    name: str, description: str, category: str
) -> None:
    assert infer_category(name, description) == category


def test_declared_category_wins_and_gets_one_spelling() -> None:
    assert resolve_category("Web Search & Research", name="send_email", description="") == (
        *("web-search-research", False),
    )
    assert canonical_category("Développement") == "développement"


def test_worked_out_category_is_marked() -> None:
    assert resolve_category("", name="send_email", description="") == ("communication", True)


@pytest.mark.parametrize(
    ("name", "effect"),
    [
        ("get_weather", "read"),
        ("listFiles", "read"),
        ("create_issue", "write"),
        ("sendEmail", "write"),
        ("delete_file", "delete"),
        ("bulkDeleteUsers", "delete"),
        ("weather", None),
        ("undeleted_things", None),
    ],
)
def test_verbs_of_a_name_say_what_it_does(name: str, effect: SideEffect | None) -> None:
    assert side_effect_from_verbs(name) == effect


@pytest.mark.parametrize(
    ("name", "annotations", "effect"),
    [
        ("get_weather", None, "write"),
        ("get_weather", {}, "write"),
        ("delete_all", None, "delete"),
        ("anything", {"readOnlyHint": True}, "read"),
        ("anything", {"readOnlyHint": False}, "write"),
        ("anything", {"readOnlyHint": False, "destructiveHint": True}, "delete"),
        ("delete_all", {"destructiveHint": False}, "write"),
    ],
)
def test_tool_of_a_server_counts_as_write_unless_annotated(
    name: str, annotations: dict[str, bool] | None, effect: SideEffect
) -> None:
    document = Document(file="x", value=None)
    entry = None if annotations is None else Entry(annotations, document=document)

    assert side_effect_of_tool(name, entry) == effect


def test_declared_side_effects_are_honoured() -> None:
    assert side_effect_declared("delete_file", False) == "read"
    assert side_effect_declared("delete_file", True) == "delete"
    assert side_effect_declared("get_file", True) == "write"
    assert side_effect_declared("get_file", None) == "read"
    assert side_effect_declared("file", None) == "write"


def test_parameters_are_summed_up_in_order() -> None:
    schema = {"properties": {"query": {}, "max_results": {}}, "required": ["query"]}

    assert summarize_parameters(schema) == "query, max_results?"


@pytest.mark.parametrize(
    "schema", [None, {}, {"properties": []}, {"properties": {}, "required": "query"}]
)
def test_schema_without_parameters_has_an_empty_summary(schema: dict[str, object] | None) -> None:
    assert summarize_parameters(schema) == ""


def test_long_summary_says_how_many_more_there_are() -> None:
    summary = summarize_parameters({"properties": {f"parameter_{n}": {} for n in range(40)}})

    assert len(summary) <= 200
    assert summary.startswith("parameter_0?, parameter_1?")
    assert summary.count(",") + 1 + int(summary.rpartition("+")[2].split()[0]) == 40
