"""Docs name only what exists, docstrings read well (PEP 257), and test modules stand alone."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from os.path import relpath
from pathlib import Path

import pytest
from django.core.management import get_commands

from marketplace.config.settings_table import SETTINGS
from tests.docs import reference_page, room_map
from tests.docs.commands import papers
from tests.docs.room_map import first_line

PROJECT = Path(__file__).parents[2]
APPS = ("acl", "catalog", "discovery", "marketplace")
MADE_BY_READERS = {
    "docker/.env",
    "docker/settings.env",
    "docker/compose.digests.yaml",
    "docker/secrets",
    "docker/secrets/pegboard_admin_password",
}
PAPERS = papers()
MAKEFILE = (PROJECT / "Makefile").read_text("utf-8")
# Variables of shells, containers and tests.
NO_SETTINGS = {
    *("PEGBOARD_KEY", "PEGBOARD_SITE", "PEGBOARD_TLS", "PEGBOARD_UPSTREAM"),
    "PEGBOARD_TEST_PICTURES",
}
OPERATION = re.compile(r"`((?:GET|POST|PUT|PATCH|DELETE) /(?:api/v1|v0\.1)/[\w/{}.-]+)(?=[`?])")


def _without_names(operation: str) -> str:
    return re.sub(r"\{\w+\}", "{}", operation.rstrip("/"))


OPERATIONS = {
    _without_names(operation)
    for operation in re.findall(
        r"^\| `([A-Z]+ /\S+)`", reference_page.PAGE.read_text("utf-8"), re.M
    )
}
every_paper = pytest.mark.parametrize(
    "paper", PAPERS, ids=lambda paper: str(paper.relative_to(PROJECT))
)


@every_paper
def test_links_commands_files_settings_and_operations_exist(paper: Path) -> None:
    text = paper.read_text("utf-8")
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    commands = set(re.findall(r"manage\.py ([a-z_]+)", text))
    targets = set(re.findall(r"(?:`|^)make ([a-z-]+)", text, re.MULTILINE))
    files = re.findall(
        rf"(?:{'|'.join(APPS)}|tests|\blab|templates|static|docker)/[\w./-]+\w", text
    )
    modules = set(re.findall(r"`(\w+\.py)`", text))
    settings = set(re.findall(r"\bPEGBOARD_[A-Z0-9_]*[A-Z0-9](?![A-Z0-9_…])", text))
    # Operations that are named in full, such as `GET /api/v1/calls/{id}?wait=20`.
    operations = set(map(_without_names, OPERATION.findall(text)))

    assert [link for link in links if not _leads_somewhere(paper, link)] == []
    assert commands <= get_commands().keys()
    assert targets <= set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    # Helm counts from its chart.
    roots = (PROJECT, PROJECT / "docker" / "chart")
    missing = {name for name in files if not any((root / name).exists() for root in roots)}
    assert missing <= MADE_BY_READERS
    assert modules - _module_names() <= {"manage.py"}
    assert settings - {setting.name for setting in SETTINGS} <= NO_SETTINGS
    assert operations <= OPERATIONS


def _leads_somewhere(paper: Path, link: str) -> bool:
    if link.startswith(("http://", "https://")):
        return True
    path, _, anchor = link.partition("#")
    target = (paper.parent / path).resolve() if path else paper
    return target.exists() and (not anchor or anchor in _anchors(target))


def _anchors(paper: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", paper.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("folder", ["docs", "lab"])
def test_every_paper_is_in_the_list_of_papers(folder: str) -> None:
    papers = PROJECT / folder
    listed = set(re.findall(r"\]\(([^)#]+)", (papers / "README.md").read_text("utf-8")))

    pages = {relpath(page, papers) for page in papers.rglob("*.md")}

    assert pages - listed == {"README.md"}


@cache
def _module_names() -> set[str]:
    return {
        path.name
        for app in (*APPS, "tests", "docs", "lab")
        for path in (PROJECT / app).rglob("*.py")
    }


def test_the_map_says_what_each_room_is_for() -> None:
    rows = [line for line in room_map.render_map().splitlines() if line.startswith("| `")]

    assert len(rows) > 80
    assert not [row for row in rows if row.split(" | ")[1].strip() == ""]


def test_the_reference_is_generated_from_the_code() -> None:
    written = reference_page.PAGE.read_text("utf-8")

    assert written == reference_page.render_reference(), "run python -m tests.docs"


@pytest.mark.parametrize("app", APPS)
def test_every_room_and_every_module_says_what_it_is_for(app: str) -> None:
    modules = [path for path in (PROJECT / app).rglob("*.py") if _says_something(path)]

    silent = [str(path) for path in modules if not first_line(path)]

    assert silent == []


def _says_something(module: Path) -> bool:
    """Return False for migrations, which have names, and for packages that Django looks for."""
    if "migrations" in module.parts:
        return False
    return module.name != "__init__.py" or "management" not in module.parts


def test_tests_that_the_page_of_seeds_names_exist() -> None:
    named = re.findall(r"`(test_\w+)`", (PROJECT / "lab" / "seeds.md").read_text("utf-8"))
    sources = (path.read_text("utf-8") for path in (PROJECT / "tests").rglob("test_*.py"))
    defined = {name for text in sources for name in re.findall(r"def (test_\w+)\(", text)}

    missing = [name for name in named if name not in defined]

    assert len(named) > 50
    assert missing == []


def test_changelog_is_short_enough_to_be_read() -> None:
    """Guards against union merges, which bring back entries merged into one."""
    words = (PROJECT / "CHANGELOG.md").read_text("utf-8").split()

    assert len(words) < 4_000, "remove entries that a merge brought back, or merge some into one"


TESTS = Path(__file__).parents[1]


def test_no_test_module_is_imported_by_another() -> None:
    borrowed = {
        f"{path.relative_to(TESTS)} imports {name}"
        for path in TESTS.rglob("*.py")
        for name in _imported_modules(path)
        if name.rpartition(".")[2].startswith("test_")
    }

    assert borrowed == set()


def _imported_modules(path: Path) -> set[str]:
    """Return the dotted names that a file's import statements may mean as modules."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {name for name in names if name.startswith("tests.")}


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
