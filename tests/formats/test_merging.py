"""Merging of several files' entries, without one replacing another."""

import json
from pathlib import Path
from typing import Any

from catalog.formats._merge import merge, with_short_name
from catalog.formats.descriptors import Loaded
from catalog.formats.loader import load_path
from tests.formats.folders import capability, reasons, write


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
