"""The docs name only what exists."""

import re
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
    "docker/secrets",
    "docker/secrets/pegboard_admin_password",
}
PAPERS = papers()
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
def test_links_lead_somewhere(paper: Path) -> None:
    links = re.findall(r"\]\(([^)\s]+)\)", paper.read_text("utf-8"))

    broken = [link for link in links if not _leads_somewhere(paper, link)]

    assert broken == []


def _leads_somewhere(paper: Path, link: str) -> bool:
    if link.startswith(("http://", "https://")):
        return True
    path, _, anchor = link.partition("#")
    target = (paper.parent / path).resolve() if path else paper
    return target.exists() and (not anchor or anchor in _anchors(target))


def _anchors(paper: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", paper.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_paper_is_in_the_list_of_papers() -> None:
    docs = PROJECT / "docs"
    listed = set(re.findall(r"\]\(([^)#]+)", (docs / "README.md").read_text("utf-8")))

    folders = (docs, PROJECT / "lab")
    pages = {relpath(page, docs) for folder in folders for page in folder.rglob("*.md")}

    assert pages - listed == {"README.md"}


@every_paper
def test_commands_exist(paper: Path) -> None:
    text = paper.read_text("utf-8")

    commands = set(re.findall(r"manage\.py ([a-z_]+)", text))
    targets = set(re.findall(r"(?:`|^)make ([a-z-]+)", text, re.MULTILINE))

    assert commands <= get_commands().keys()
    assert targets <= _make_targets()


def _make_targets() -> set[str]:
    makefile = (PROJECT / "Makefile").read_text("utf-8")
    return set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))


@every_paper
def test_files_exist(paper: Path) -> None:
    named = re.findall(
        rf"(?:{'|'.join(APPS)}|tests|\blab|templates|static|docker)/[\w./-]+\w",
        paper.read_text("utf-8"),
    )

    # Helm counts from its chart.
    roots = (PROJECT, PROJECT / "docker" / "chart")
    missing = {name for name in named if not any((root / name).exists() for root in roots)}

    assert missing <= MADE_BY_READERS


@every_paper
def test_modules_named_without_their_folder_exist(paper: Path) -> None:
    named = set(re.findall(r"`(\w+\.py)`", paper.read_text("utf-8")))

    assert named - _module_names() <= {"manage.py"}


@cache
def _module_names() -> set[str]:
    return {
        path.name
        for app in (*APPS, "tests", "docs", "lab")
        for path in (PROJECT / app).rglob("*.py")
    }


@every_paper
def test_settings_exist(paper: Path) -> None:
    named = set(
        re.findall(r"\bPEGBOARD_[A-Z0-9_]*[A-Z0-9](?![A-Z0-9_…])", paper.read_text("utf-8"))
    )

    assert named - {setting.name for setting in SETTINGS} <= NO_SETTINGS


@every_paper
def test_operations_of_the_api_exist(paper: Path) -> None:
    """Covers operations named in full, such as `GET /api/v1/calls/{id}?wait=20`."""
    named = OPERATION.findall(paper.read_text("utf-8"))

    missing = {operation for operation in map(_without_names, named) if operation not in OPERATIONS}

    assert missing == set()


def test_the_map_says_what_each_room_is_for() -> None:
    rows = [line for line in room_map.render_map().splitlines() if line.startswith("| `")]

    assert len(rows) > 100
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
