"""Texts, names, categories and limits of what is read from sources."""

import json
import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.formats._side_effects import (
    side_effect_declared,
    side_effect_from_verbs,
    side_effect_of_tool,
)
from catalog.formats.categories import canonical_category, infer_category, resolve_category
from catalog.formats.descriptors import SideEffect
from catalog.formats.entry import Document, Entry
from catalog.formats.names import (
    FULL_NAME,
    RESERVED,
    SLUG,
    display_name_for,
    full_name_for,
    identifier_for,
    short_form,
    slug_for,
)
from catalog.formats.text_cleanup import AmbiguousKeysError, clean_name, clean_text, clean_value
from catalog.registration._derived_columns import summarize_parameters
from tests.formats.folders import capability, integration, load

# Without ESC and CSI, which start terminal sequences that are removed as a whole.
HIDDEN = st.one_of(
    st.characters(categories=["Cf", "Co", "Cs", "Cn"]),
    st.characters(categories=["Cc"], exclude_characters="\n\t\r\x1b\x9b"),
    st.characters(min_codepoint=0xFE00, max_codepoint=0xFE0F),
    st.characters(min_codepoint=0xE0100, max_codepoint=0xE01EF),
)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=60)


@given(TEXTS, st.lists(st.tuples(st.integers(0, 60), HIDDEN), max_size=8))
def test_inserted_hidden_characters_change_nothing(
    text: str, insertions: list[tuple[int, str]]
) -> None:
    dirty = text
    for place, character in insertions:
        place = min(place, len(dirty))
        dirty = dirty[:place] + character + dirty[place:]

    assert clean_text(dirty).text == clean_text(text).text


@given(st.text())
def test_clean_text_shows_all_it_says(text: str) -> None:
    clean = clean_text(text).text

    assert clean_text(clean) == (clean, 0)
    assert not any(unicodedata.category(character) in ("Cf", "Co", "Cs") for character in clean)


@given(TEXTS, st.sampled_from(["\x1b[31m", "\x1b[0m", "\x9b2J", "\x1b[38;5;1m"]))
def test_terminal_sequences_go_as_a_whole(text: str, sequence: str) -> None:
    clean = clean_text(text).text

    assert clean_text(sequence + clean + sequence).text == clean


@pytest.mark.parametrize(
    ("dirty", "clean", "hidden"),
    [
        ("plain\ntext\twith tab", "plain\ntext\twith tab", 0),
        ("a\r\nb", "a\nb", 0),
        ("read\u200bme", "readme", 1),
        ("pay \u202e001\u202c", "pay 001", 2),
        ("ok" + "".join(chr(0xE0000 + ord(letter)) for letter in "ignore"), "ok", 6),
        ("\x1b[31mred\x1b[0m", "red", 9),
        ("\x1b[\u200b31mred", "red", 6),
        ("heart\ufe0f", "heart", 1),
        ("half \ud800 pair", "half  pair", 1),
        ("nul\x00l", "null", 1),
    ],
)
def test_hidden_characters_are_counted(dirty: str, clean: str, hidden: int) -> None:
    assert clean_text(dirty) == (clean, hidden)


def test_names_are_folded_to_one_line_and_one_form() -> None:
    assert clean_name("  ｓｅａｒｃｈ\n ﬁle ").text == "search file"  # noqa: RUF001 - full width is the point


def test_every_text_of_a_value_is_cleaned() -> None:
    dirty = {"na\u200bme": ["a\u200b", {"enum": ["b\u2060"], "default": 1}], "flag": True}

    clean, hidden = clean_value(dirty)

    assert clean == {"name": ["a", {"enum": ["b"], "default": 1}], "flag": True}
    assert hidden == 3


def test_keys_that_differ_in_hidden_characters_only_are_refused() -> None:
    with pytest.raises(AmbiguousKeysError, match="'path'"):
        clean_value({"path": 1, "pa\u200bth": 2})


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("gmail", "gmail"),
        ("Exa Search", "exa-search"),
        ("google_calendar", "google_calendar"),
        ("a__b", "a_b"),
        ("@scope/server", "scope-server"),
        ("Memory (beta)", "memory-beta"),
    ],
)
def test_slug_reads_like_its_title(title: str, slug: str) -> None:
    assert slug_for(title) == slug


@pytest.mark.parametrize("title", ["gіthub", "C++", "必优科技", "Café", "mcp", "search_tools"])  # noqa: RUF001
def test_title_that_could_be_taken_for_another_gets_a_hash(title: str) -> None:
    slug = slug_for(title)

    assert SLUG.fullmatch(slug)
    assert re.search(r"[0-9a-f]{8}$", slug)
    assert slug not in {"github", "c", "cafe", *RESERVED}


@given(st.text())
def test_every_title_gives_a_legal_slug_without_the_divider(title: str) -> None:
    slug = slug_for(title)

    assert SLUG.fullmatch(slug)
    assert "__" not in slug
    assert slug_for(slug) == slug


@given(st.text(), st.text(min_size=1))
def test_every_full_name_is_legal_and_keeps_its_integration(title: str, action: str) -> None:
    name = full_name_for(slug_for(title), action)

    assert FULL_NAME.fullmatch(name)
    assert name.startswith(f"{slug_for(title)}__")


def test_legal_name_is_kept_as_it_is() -> None:
    assert full_name_for("gmail", "send_email") == "gmail__send_email"
    assert identifier_for("tool", "gmail__send_email") == "tool:gmail__send_email"


@pytest.mark.parametrize("action", ["get.weather", "get weather", "x" * 80, "wetter_für"])
def test_short_form_is_readable_and_stable(action: str) -> None:
    name = full_name_for("sky", action)

    assert name == short_form("tool", "sky", action)
    assert name.startswith(f"sky__{action[:3]}")


@pytest.mark.parametrize(
    ("letters", "example", "reading"),
    [
        (("\u4e00", "\u9fa5"), "查询天气", "Cha_Xun_Tian_Qi"),
        (("\u0430", "\u044f"), "погода", "pogoda"),
        (("\u3042", "\u308f"), "てんき", "tenki"),
        (("\uac00", "\ud7a3"), "날씨", "nalssi"),
        (("\u0905", "\u0914"), "मौसम", "mausm"),
    ],
)
@given(data=st.data())
def test_names_of_any_script_can_be_read(
    letters: tuple[str, str], example: str, reading: str, data: st.DataObject
) -> None:
    alphabet = st.characters(min_codepoint=ord(letters[0]), max_codepoint=ord(letters[1]))
    names = data.draw(st.lists(st.text(alphabet, min_size=1, max_size=80), min_size=2, unique=True))

    full_names = [full_name_for("server", name) for name in names]
    slugs = [slug_for(name) for name in names]

    assert full_name_for("server", example).startswith(f"server__{reading}_")
    assert all(FULL_NAME.fullmatch(name) for name in full_names)
    assert len(set(full_names)) == len(names)
    assert len(set(slugs)) == len({name.lower() for name in names})
    assert slug_for(example).startswith(f"{reading.lower().replace('_', '-')}-")


def test_short_forms_tell_capabilities_apart() -> None:
    names = {
        short_form("tool", "sky", "get.weather"),
        short_form("tool", "sky", "get weather"),
        short_form("skill", "sky", "get.weather"),
        short_form("tool", "sky", "get.weather", "declared"),
        short_form("tool", "sea", "get.weather"),
    }

    assert len(names) == 5


def test_short_form_does_not_repeat_the_integration() -> None:
    assert short_form("tool", "uber", "uber.ride").startswith("uber__ride_")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("github-pr-review", "Github Pr Review"),
        ("send_email", "Send Email"),
        ("createPDF", "Create PDF"),
        ("io.example/clock", "Io Example Clock"),
    ],
)
def test_display_name_comes_from_the_segments(name: str, shown: str) -> None:
    assert display_name_for(name) == shown


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


MANIFEST: dict[str, Any] = {"name": "lamp", "kind": "tool", "description": "Switches a lamp."}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tags", ["t" * 61]),
        ("requiredSecrets", ["S" * 121]),
        ("requiredTools", ["r" * 201]),
        ("displayName", "d" * 201),
        ("version", "v" * 81),
        ("license", "l" * 81),
        ("unavailableReason", "u" * 301),
        ("id", "i" * 201),
    ],
)
def test_overlong_value_costs_only_its_field(tmp_path: Path, field: str, value: Any) -> None:
    body = MANIFEST | {field: value, "available": False}

    loaded = load(tmp_path, "lamp.json", json.dumps(body))

    assert capability(loaded).full_name == "lamp"
    assert [defect.field.partition("[")[0] for defect in loaded.defects] == [field]


@pytest.mark.parametrize(
    ("server", "field"),
    [
        ({"command": "npx", "args": ["z" * 501]}, "a.command"),
        ({"url": "https://example.org/" + "a" * 500}, "a.url"),
    ],
)
def test_server_that_does_not_fit_is_refused(
    tmp_path: Path, server: dict[str, Any], field: str
) -> None:
    loaded = load(tmp_path, "mcp.json", json.dumps({"mcpServers": {"a": server}}))

    assert not loaded.integrations
    assert loaded.defects[0].field == field


def test_long_file_name_gives_a_title_that_fits(tmp_path: Path) -> None:
    loaded = load(tmp_path, f"{'Ab' * 120}.json", '[{"name": "x", "description": "y"}]')

    assert len(integration(loaded).title) <= 200
    assert len(integration(loaded).slug) <= 48
    assert len(capability(loaded).full_name) <= 64
