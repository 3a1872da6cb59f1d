"""Third-party files, manifests and skills are read within limits, and nothing outside of them."""

import io
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.formats.entry import Document
from catalog.formats.files import (
    DEFAULT_LIMITS,
    Limits,
    RefusedError,
    parse_json,
    parse_yaml,
    read_lines,
    read_text,
    resolve_types,
)
from catalog.formats.loader import load_path
from catalog.formats.skill import read as read_skill
from tests.examples import EXAMPLES_OF_TEXTS
from tests.formats.folders import capability, integration, load, reasons, write

BILLION_LAUGHS = "a: &a [x, x]\n" + "".join(
    f"{name}: &{name} [*{before}, *{before}]\n"
    for before, name in zip("abcdefg", "bcdefgh", strict=True)
)


def read_yaml(text: str, limits: Limits = DEFAULT_LIMITS) -> Any:
    return resolve_types(parse_yaml(text, limits=limits))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (BILLION_LAUGHS, "alias or anchor"),
        ("a: *b", "alias or anchor"),
        ("a: !!python/object/apply:os.system [ls]", "YAML tag"),
        ("a: !!str 1", "YAML tag"),
        ("!custom {a: 1}", "YAML tag"),
        ("a: " + "[" * 30 + "]" * 30, "nested more than 20"),
        ("a: [" + "x, " * 3_000 + "]", "more than 2,000 YAML elements"),
        ("a: " + "x" * 20_000, "more than 16,384 bytes"),
        ("a: 1\na: 2", "'a' occurs twice"),
        ("? [a, b]\n: 1", "key is not a plain text"),
        ("a: b: c", "not valid YAML"),
        ("a: 1\n---\nb: 2", "not valid YAML"),
        ("a: \x07", "not valid YAML"),
        ("a: '", "line 1"),
    ],
)
def test_hostile_yaml_is_refused(text: str, reason: str) -> None:
    with pytest.raises(RefusedError, match=reason):
        parse_yaml(text, limits=DEFAULT_LIMITS)


def test_yaml_scalars_stay_the_text_that_was_written() -> None:
    value = parse_yaml("a: no\nb: 1:30\nc: 2026-05-01\nd: 1.10\ne: 007", limits=DEFAULT_LIMITS)

    assert value == {"a": "no", "b": "1:30", "c": "2026-05-01", "d": "1.10", "e": "007"}


def test_yaml_scalars_have_types_where_types_are_wanted() -> None:
    value = read_yaml("{a: 1, b: '1', c: 1.5, d: true, e: ~, f: no, g: [2, x], h: 1e3, i: .nan}")

    assert (value["a"], value["b"], value["c"], value["d"], value["e"]) == (1, "1", 1.5, True, None)
    assert (value["f"], value["g"], value["h"], value["i"]) == ("no", [2, "x"], 1000.0, ".nan")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[" * 100_000, "nested more than 64"),
        ('{"a":' * 100_000, "nested more than 64"),
        ('{"a": 1, "a": 2}', "'a' occurs twice"),
        ("NaN", "NaN is no JSON number"),
        ("[-Infinity]", "-Infinity is no JSON number"),
        ("1e999", "too large"),
        ("9" * 5_000, "not valid JSON"),
        ('{"a": }', "column 7"),
        ('"' + '\\"' * 400_000 + "[" * 100, "not valid JSON"),
        ("", "not valid JSON"),
    ],
)
def test_hostile_json_is_refused(text: str, reason: str) -> None:
    with pytest.raises(RefusedError, match=reason):
        parse_json(text, max_depth=64)


def test_brackets_inside_texts_are_not_nesting() -> None:
    assert parse_json('["' + "[" * 500 + '"]', max_depth=64) == ["[" * 500]


def test_file_over_the_limit_is_not_read(tmp_path: Path) -> None:
    path = write(tmp_path, "large.json", b" " * 2_000)

    with pytest.raises(RefusedError, match="2,000 bytes; the limit is 1,000"):
        read_text(path, tmp_path, limit=1_000)


def test_text_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "latin.json", "é".encode("latin-1"))

    with pytest.raises(RefusedError, match="not UTF-8"):
        read_text(path, tmp_path, limit=1_000)


def test_byte_order_mark_is_dropped(tmp_path: Path) -> None:
    path = write(tmp_path, "mark.json", b"\xef\xbb\xbf{}")

    assert read_text(path, tmp_path, limit=1_000) == "{}"


@pytest.mark.parametrize("target", ["../outside.txt", "inside.txt"])
def test_symbolic_link_is_refused(tmp_path: Path, target: str) -> None:
    root = tmp_path / "root"
    write(tmp_path, "outside.txt", "secret")
    write(root, "inside.txt", "plain")
    (root / "link.txt").symlink_to(target)

    with pytest.raises(RefusedError, match=r"leads out|symbolic link"):
        read_text(root / "link.txt", root, limit=1_000)


def test_file_in_a_linked_folder_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "outside/a.txt", "secret")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "linked").symlink_to(tmp_path / "outside")

    with pytest.raises(RefusedError, match="leads out"):
        read_text(tmp_path / "root" / "linked" / "a.txt", tmp_path / "root", limit=1_000)


def test_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")

    with pytest.raises(RefusedError, match="not a regular file"):
        read_text(tmp_path / "pipe.json", tmp_path, limit=1_000)


def test_link_to_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "loop.json").symlink_to("loop.json")

    with pytest.raises(RefusedError):
        read_text(tmp_path / "loop.json", tmp_path, limit=1_000)


def test_overlong_line_is_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path, "lines.jsonl", b"one\n" + b"x" * 300 + b"\nthree\n" + b"y" * 100)
    limits = Limits(catalog_line=100)

    lines = list(read_lines(path, tmp_path, limits=limits))

    assert lines == [(1, b"one\n"), (2, None), (3, b"three\n"), (4, b"y" * 100)]


MINIMAL = "name: lamp\nkind: tool\ndescription: Switches a lamp.\n"
NAME = "CAPABILITY.yaml"


def test_three_fields_are_enough(tmp_path: Path) -> None:
    lamp = capability(load(tmp_path, NAME, MINIMAL))

    assert (lamp.identifier, lamp.full_name, lamp.integration) == ("tool:lamp", "lamp", "lamp")
    assert (lamp.display_name, lamp.available, lamp.side_effect) == ("Lamp", True, "write")


@pytest.mark.parametrize("field", ["name", "kind", "description"])
def test_required_field_is_missed_by_name(tmp_path: Path, field: str) -> None:
    lines = [line for line in MINIMAL.splitlines() if not line.startswith(field)]

    loaded = load(tmp_path, NAME, "\n".join(lines))

    assert not loaded.capabilities
    assert reasons(loaded) == [f"{NAME}: {field}: is required"]


def test_unknown_kind_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    loaded = load(tmp_path, NAME, MINIMAL.replace("tool", "gadget"))

    assert reasons(loaded) == [
        f"{NAME}: kind: must be one of tool, skill, extension, channel, voice, emergent-tool"
    ]


def test_declared_id_is_kept(tmp_path: Path) -> None:
    assert capability(load(tmp_path, NAME, MINIMAL + "id: lamp-7\n")).identifier == "lamp-7"


def test_name_that_yaml_would_read_as_something_else_stays_a_text(tmp_path: Path) -> None:
    loaded = load(tmp_path, NAME, "name: no\nkind: tool\ndescription: 1:30\ntags: [on, 2026-01-01]")

    assert (capability(loaded).full_name, capability(loaded).description) == ("no", "1:30")
    assert capability(loaded).tags == ("on", "2026-01-01")


@pytest.mark.parametrize("key", ["inputSchema", "input_schema", "schema"])
def test_schema_has_types_in_every_key_style(tmp_path: Path, key: str) -> None:
    schema = f"{key}: {{type: object, properties: {{n: {{enum: [1, '1', yes], default: 1}}}}}}\n"

    lamp = capability(load(tmp_path, NAME, MINIMAL + schema))

    assert lamp.input_schema is not None
    assert lamp.input_schema["properties"] == {"n": {"enum": [1, "1", "yes"], "default": 1}}


def test_wrong_types_are_reported_and_the_rest_loads(tmp_path: Path) -> None:
    wrong = "tags: {a: b}\navailable: perhaps\nexamples: [{q: 1}]\nedges: [x, {target: y}]\n"

    loaded = load(tmp_path, NAME, MINIMAL + wrong)

    assert capability(loaded).examples == ('{"q":1}',)
    assert {defect.field: defect.reason for defect in loaded.defects} == {
        "available": "must be true or false",
        "tags": "must be a list of texts",
        "edges[0]": "must be a mapping",
        "edges[1].type": "is required",
    }


def test_unknown_ai_access_is_taken_as_blocked(tmp_path: Path) -> None:
    loaded = load(tmp_path, NAME, MINIMAL + "aiAccess: always\n")

    assert capability(loaded).ai_access == "blocked"
    assert loaded.defects[0].field == "aiAccess"


def test_skill_beside_the_manifest_is_its_content(tmp_path: Path) -> None:
    write(tmp_path, "SKILL.md", "---\nname: other\n---\nTurn it on first.\n")

    loaded = load_path(write(tmp_path, NAME, MINIMAL).parent)

    assert capability(loaded).content == "Turn it on first."
    assert integration(loaded).kind == "manifest"


@pytest.mark.parametrize(
    "path", ["../secret.md", "/etc/hostname", "a/../../secret.md", "link.md", "..\\\\secret.md"]
)
def test_content_outside_the_folder_is_refused(tmp_path: Path, path: str) -> None:
    write(tmp_path, "secret.md", "canary")
    folder = tmp_path / "lamp"
    folder.mkdir()
    (folder / "link.md").symlink_to("../secret.md")

    loaded = load(folder, NAME, f"{MINIMAL}skillContent: '{path}'\n")

    assert capability(loaded).content == ""
    assert loaded.defects[0].field == "skillContent"
    assert "canary" not in repr(loaded)


def test_linked_schema_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "schema.json", "{}")
    folder = tmp_path / "lamp"
    folder.mkdir()
    (folder / "schema.json").symlink_to("../schema.json")

    loaded = load(folder, NAME, MINIMAL)

    assert reasons(loaded) == [f"{NAME}: schema.json: leads out of the folder"]


def test_channel_in_a_manifest_is_communication_too(tmp_path: Path) -> None:
    loaded = load(tmp_path, NAME, MINIMAL.replace("kind: tool", "kind: channel\ncategory: lights"))

    assert capability(loaded).category == "communication"


# Descriptions that other loaders take and YAML does not, or takes for something else.
ODD = [
    "Use when: the user asks for a plan",
    "[x] - marks what is done",
    "*Always* use this first",
    "`code` and @mentions",
    "&anchors and !tags",
    '"Quoted" at the start only',
    "- a dash, not a list: really",
    "{braces} first",
    "100% of the work: done",
    "> not a block: a quotation",
    "don't: worry",
    "# 1 in its kind",
]
WORDS = st.lists(
    st.sampled_from(["plan", "the", "day", "x: y", "[a]", "#b"]), min_size=1, max_size=5
)


@settings(max_examples=EXAMPLES_OF_TEXTS * 2)
@given(odd=st.sampled_from(ODD), words=WORDS, end=st.sampled_from(["\n", "\r\n"]))
def test_description_that_is_no_yaml_is_read_as_text(odd: str, words: list[str], end: str) -> None:
    described = f"{odd} {' '.join(words)}"
    lines = [
        "---",
        "name: day-planner",
        f"description: {described}",
        "license: MIT",
        "---",
        "Do it.",
    ]
    document = Document(file="day-planner/SKILL.md", value=end.join(lines))

    [skill] = read_skill(document).capabilities

    assert skill.full_name == "day-planner"
    assert skill.content == "Do it."
    first = next(word for word in described.replace("#", " ").split() if word.isalpha())
    assert first in skill.description or document.defects


@pytest.mark.parametrize("odd", ODD[:5])
def test_what_was_read_as_text_is_told(tmp_path: Path, odd: str) -> None:
    text = f"---\nname: planner\ndescription: {odd}\nallowed-tools: [Read, Write]\n---\nDo it."
    loaded = load(tmp_path, "planner/SKILL.md", text)

    assert capability(loaded).description == odd
    assert capability(loaded).annotations["allowedTools"] == ["Read", "Write"]
    assert ["description" in reason for reason in reasons(loaded)] == [True]


def archive(files: dict[str, str]) -> bytes:
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as packed:
        for name, text in files.items():
            packed.writestr(name, text)
    return body.getvalue()


SKILL = "---\ndescription: Plans a day.\n---\nDo it."


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({"day-planner/SKILL.md": SKILL, "day-planner/a.md": "A"}, "day-planner"),
        ({"SKILL.md": SKILL}, "packed"),
        ({"skill.md": SKILL, "scripts/x.py": "1"}, "packed"),
        ({"a/b/Skill.md": SKILL.replace("---\n", "---\nname: own\n", 1)}, "own"),
        ({"day-planner\\SKILL.md": SKILL, "day-planner\\scripts\\x.py": "1"}, "day-planner"),
    ],
)
def test_archive_is_the_skill_in_it(tmp_path: Path, files: dict[str, str], name: str) -> None:
    loaded = load(tmp_path, "packed.skill", archive(files))

    assert capability(loaded).full_name == name
    assert capability(loaded).content == "Do it."


def test_archive_of_several_skills_has_them_all(tmp_path: Path) -> None:
    loaded = load(tmp_path, "packed.skill", archive({f"{name}/SKILL.md": SKILL for name in "ab"}))

    assert {skill.full_name for skill in loaded.capabilities} == {"a", "b"}


# How front matter begins and ends in files that other loaders take.
FRONTS = {
    "end of a document": ("---\n{}...\n", 0),
    "comment before": ("<!-- markdownlint-disable -->\n---\n{}---\n", 0),
    "no end, then a heading": ("---\n{}# Title\n\n", 1),
    "no end, then a blank line": ("---\n{}\n", 1),
    "blank lines before": ("\n\n---\n{}---  \n", 0),
}


@pytest.mark.parametrize(("front", "defects"), FRONTS.values(), ids=FRONTS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_front_matter_is_read_however_it_ends(
    tmp_path: Path, front: str, defects: int, encoding: str, end: str
) -> None:
    fields = "name: day-planner\ndescription: Plans\n  a day.\n"
    text = front.format(fields).replace("\n", end) + "Straße."

    loaded = load(tmp_path, "x/SKILL.md", text.encode(encoding))

    skill = capability(loaded)
    assert (skill.full_name, skill.description) == ("day-planner", "Plans a day.")
    assert skill.content.endswith("Straße.")
    assert len(reasons(loaded)) == defects


@pytest.mark.parametrize("body", [b"no archive", archive({"a.txt": "A"}), archive({"../x": "A"})])
def test_archive_without_a_skill_is_refused_with_the_reason(tmp_path: Path, body: bytes) -> None:
    loaded = load(tmp_path, "packed.skill", body)

    assert not loaded.capabilities
    assert len(loaded.defects) == 1
