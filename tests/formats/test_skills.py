"""Front matter of skills as people write it, folders without a name, and `.skill` archives."""

import io
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.formats.entry import Document
from catalog.formats.skill import read as read_skill
from tests.examples import EXAMPLES_OF_TEXTS
from tests.formats.folders import capability, load, reasons

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
    ],
)
def test_archive_is_the_skill_in_it(tmp_path: Path, files: dict[str, str], name: str) -> None:
    loaded = load(tmp_path, "packed.skill", archive(files))

    assert capability(loaded).full_name == name
    assert capability(loaded).content == "Do it."


@pytest.mark.parametrize("body", [b"no archive", archive({"a.txt": "A"}), archive({"../x": "A"})])
def test_archive_without_a_skill_is_refused_with_the_reason(tmp_path: Path, body: bytes) -> None:
    loaded = load(tmp_path, "packed.skill", body)

    assert not loaded.capabilities
    assert len(loaded.defects) == 1
