"""Hostile sources are reported, and the rest of the folder loads."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.formats.loader import load_path, load_value
from catalog.formats.names import FULL_NAME, SLUG
from catalog.formats.read_limits import Limits
from tests.formats.folders import SAMPLES, reasons, write

GOOD = "---\nname: good\ndescription: Loads.\n---\nText."
NAMES = [
    *("SKILL.md", "CAPABILITY.yaml", "server.yaml", "tools.json"),
    *("mcp.json", "catalog.jsonl", "spec.yaml", "x.json"),
]
SAMPLE_FILES = sorted(path for path in SAMPLES.rglob("*") if path.is_file())
KEYS = st.sampled_from(
    [
        *("name", "kind", "description", "tools", "servers", "server", "mcpServers", "plugins"),
        *("url", "command", "args", "env", "headers", "annotations", "inputSchema", "arguments"),
        *("packages", "remotes", "extensions", "channels", "edges", "id", "tags", "about"),
        *("type", "image", "remote", "transport", "function", "author", "source", "_meta"),
    ]
)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("SKILL.md", "# No text", "is missing; the folder and the first lines stand for it"),
        ("SKILL.md", "---\nname: x\n", "must start with YAML"),
        ("SKILL.md", "---\nname: x\n---\n", "description: is required"),
        ("SKILL.md", "---\n- a\n---\n", "must be a mapping"),
        ("SKILL.md", "---\nname: &a x\ndescription: *a\n---\n", "read as text"),
        ("SKILL.md", "---\n&a\n---\n", "alias or anchor"),
        ("SKILL.md", f"---\nname: x\ndescription: {'y' * 17_000}\n---\n", "16,384 bytes"),
        ("CAPABILITY.yaml", "a: !!python/name:os.system", "YAML tag"),
        ("x.json", b"\xff\xfe", "not UTF-8"),
        ("x.json", "[" * 100_000, "nested more than 64 deep"),
        ("x.json", b" " * (5 * 1024 * 1024 + 1), "the limit is 5,242,880"),
        ("x.json", '{"tools": [], "tools": []}', "occurs twice"),
        ("a.jsonl", b"x" * (1024 * 1024 + 2), "line 1: has more than 1,048,576 bytes"),
        ("server.yaml", "name: x\ntype: server\nabout: 7", "about: must be a mapping"),
    ],
)
def test_hostile_file_is_reported_and_the_rest_loads(
    tmp_path: Path, name: str, content: str | bytes, reason: str
) -> None:
    write(tmp_path, f"bad/{name}", content)
    write(tmp_path, "good/SKILL.md", GOOD)

    loaded = load_path(tmp_path)

    assert "good" in {one.full_name for one in loaded.capabilities}
    assert reason in reasons(loaded)[0]
    assert loaded.defects[0].file == f"bad/{name}"


def test_linked_files_and_folders_are_not_followed(tmp_path: Path) -> None:
    write(tmp_path, "outside/SKILL.md", GOOD)
    root = tmp_path / "root"
    root.mkdir()
    (root / "folder").symlink_to(tmp_path / "outside")
    (root / "SKILL.md").symlink_to(tmp_path / "outside" / "SKILL.md")
    (root / "loop").symlink_to(root)

    loaded = load_path(root)

    assert not loaded.capabilities
    assert reasons(loaded) == ["SKILL.md: file: leads out of the folder"]


def test_pipe_with_the_name_of_a_source_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "tools.json")

    assert "not a regular file" in reasons(load_path(tmp_path))[0]


def test_folders_are_walked_only_so_deep(tmp_path: Path) -> None:
    write(tmp_path, "/".join("abcdef") + "/SKILL.md", GOOD)

    loaded = load_path(tmp_path, limits=Limits(folder_depth=3))

    assert reasons(loaded) == ["a/b/c/d: file: is more than 3 folders deep"]


def test_only_so_many_files_are_read(tmp_path: Path) -> None:
    for number in range(5):
        write(tmp_path, f"{number}/SKILL.md", GOOD.replace("good", f"good-{number}"))

    loaded = load_path(tmp_path, limits=Limits(folder_files=3))

    assert len(loaded.capabilities) == 3
    assert "past the limit of 3 files" in reasons(loaded)[0]


def test_version_control_and_packages_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path, ".git/SKILL.md", GOOD)
    write(tmp_path, "node_modules/x/SKILL.md", GOOD)

    assert not load_path(tmp_path).capabilities


def test_files_of_a_skill_are_its_own(tmp_path: Path) -> None:
    write(tmp_path, "SKILL.md", GOOD)
    write(tmp_path, "data/evals.json", "[1]")

    assert not load_path(tmp_path).defects


def test_catalog_has_a_limit_of_its_own(tmp_path: Path) -> None:
    lines = "\n".join(json.dumps({"name": f"t{number}"}) for number in range(20))
    path = write(tmp_path, "catalog.jsonl", lines)

    loaded = load_path(path, limits=Limits(catalog_lines=10))

    assert len(loaded.capabilities) == 10
    assert reasons(loaded) == ["catalog.jsonl: line 11: is past the limit of 10 lines"]


def test_many_faults_end_in_one_line_about_the_rest(tmp_path: Path) -> None:
    path = write(tmp_path, "catalog.jsonl", "x\n" * 50)

    loaded = load_path(path, limits=Limits(defects_per_file=10))

    assert len(loaded.defects) == 11
    assert "more problems than are listed" in reasons(loaded)[-1]


def test_long_skill_is_cut_and_reported(tmp_path: Path) -> None:
    path = write(tmp_path, "SKILL.md", GOOD + "x" * 2_000)

    loaded = load_path(path, limits=Limits(content=1_000))

    assert len(loaded.capabilities[0].content) == 1_000
    assert loaded.defects[0].field == "content"


def test_reports_show_nothing_hidden(tmp_path: Path) -> None:
    write(tmp_path, "x.json", '{"\u202ea": 1, "\u202ea": 2}')

    assert "\u202e" not in repr(load_path(tmp_path).defects)


@given(name=st.sampled_from(NAMES), content=st.binary(max_size=300))
def test_random_bytes_never_crash_the_reader(
    tmp_path_factory: pytest.TempPathFactory, name: str, content: bytes
) -> None:
    folder = tmp_path_factory.mktemp("random")

    loaded = load_path(write(folder, name, content))

    assert loaded == load_path(folder / name)


@given(value=JSON_VALUES)
def test_random_values_never_crash_the_reader(value: object) -> None:
    loaded = load_value(value, file="x.json")

    assert all(FULL_NAME.fullmatch(one.full_name) for one in loaded.capabilities)
    assert all(SLUG.fullmatch(one.slug) for one in loaded.integrations)
    assert loaded.integrations or loaded.capabilities or loaded.defects


@given(data=st.data())
def test_mutated_samples_never_crash_the_reader(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    sample = data.draw(st.sampled_from(SAMPLE_FILES))
    content = sample.read_bytes()
    start = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(start, min(len(content), start + 30)))
    mutated = content[:start] + data.draw(st.binary(max_size=6)) + content[end:]

    loaded = load_path(write(tmp_path_factory.mktemp("mutated"), sample.name, mutated))

    assert {one.integration for one in loaded.capabilities} <= {
        one.slug for one in loaded.integrations
    }


@pytest.mark.parametrize("depth", [100, 900, 100_000])
def test_deep_values_in_memory_are_refused(depth: int) -> None:
    deep: object = 1
    for _ in range(depth):
        deep = [deep]

    loaded = load_value({"mcpServers": {"x": {"command": "y", "env": {"a": deep}}}}, file="x.json")

    assert reasons(loaded) == ["x.json: x: is nested more than 64 deep"]
