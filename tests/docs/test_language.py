"""Docstrings say what something does or is: an imperative or a noun phrase (PEP 257)."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
FOLDERS = ("acl", "catalog", "discovery", "marketplace", "docs", "tests")
# Words that begin a clause in place of a noun or a verb.
CLAUSES = {
    "What", "Whatever", "Whether", "Who", "Whoever", "Whom", "Whose", "One", "That", "Those",
    "Which", "How", "Where", "Why", "When", "Whenever", "If", "As", "From", "Of", "Its", "By",
    "Let", "Nothing", "Nobody", "Everything",
}  # fmt: skip
RELATIVE = re.compile(r"(The|An?)\b[^.:,]*\b(that|which|who|whom|where)\b")
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@pytest.mark.parametrize("folder", FOLDERS)
def test_docstrings_begin_with_a_verb_or_a_noun(folder: str) -> None:
    found = [
        f"{path.relative_to(PROJECT)}: {line}"
        for path in sorted((PROJECT / folder).rglob("*.py"))
        if "migrations" not in path.parts
        for line in _first_lines(path)
        if _begins_badly(line)
    ]

    assert found == []


@pytest.mark.parametrize(
    "line", ["What a key may do.", "Whether it is open.", "The row that was read.", "One key."]
)
def test_clauses_are_noticed(line: str) -> None:
    assert _begins_badly(line)


@pytest.mark.parametrize("line", ["Return the key.", "A stored definition.", "Rules of spaces."])
def test_verbs_and_nouns_pass(line: str) -> None:
    assert not _begins_badly(line)


def _first_lines(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, Documented) and (text := ast.get_docstring(node)):
            yield text.partition("\n")[0]


def _begins_badly(line: str) -> bool:
    return line.split()[0].strip('",.:`;') in CLAUSES or bool(RELATIVE.match(line))
