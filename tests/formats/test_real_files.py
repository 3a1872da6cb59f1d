"""Each real third-party file loads, or is reported by file, field and reason."""

from pathlib import Path

import pytest

from catalog.formats.descriptors import Loaded
from catalog.formats.loader import load_path
from catalog.formats.names import FULL_NAME, SLUG
from tests.formats.folders import SHARED, needs_shared, reasons

SAMPLES = SHARED / "samples"
CATALOGUES = SHARED / "eval"

# Integrations, capabilities and faults of each folder, verified by hand.
EXPECTED = [
    ("agent-skills", 50, 50, 1),  # two skills are called skill-creator and differ
    ("agent-skills-full", 2, 2, 0),
    ("capability-yaml", 2, 2, 2),  # one is malformed, one names a missing SKILL.md
    ("claude-plugin-json", 27, 0, 0),
    ("claude-plugin-marketplace", 494, 0, 99),  # other versions of the same plugins
    ("docker-mcp-registry", 67, 320, 0),
    ("mcp-json-client-config", 12, 0, 1),  # thirteen files, one server twice
    ("mcp-registry-api", 129, 0, 0),
    ("mcp-registry-server-json", 98, 0, 0),
    ("mcp-registry-server-json-legacy-2025-05", 24, 0, 0),
    ("mcp-tools-list", 6, 45, 0),
    ("schemas", 0, 0, 6),  # JSON schemas are no sources
    ("toolhive-registry", 20, 255, 0),
]

pytestmark = needs_shared


def is_sound(loaded: Loaded) -> bool:
    """Return True for legal, unique names, existing integrations, and complete reports."""
    slugs = {one.slug for one in loaded.integrations}
    names = {one.full_name for one in loaded.capabilities}
    identifiers = {one.identifier for one in loaded.capabilities}
    return (
        all(SLUG.fullmatch(slug) for slug in slugs)
        and all(FULL_NAME.fullmatch(name) for name in names)
        and len(names) == len(identifiers) == len(loaded.capabilities)
        and {one.integration for one in loaded.capabilities} <= slugs
        and all(defect.file and defect.field and defect.reason for defect in loaded.defects)
    )


@pytest.mark.parametrize(("folder", "integrations", "capabilities", "defects"), EXPECTED)
def test_real_samples_load_or_are_reported(
    folder: str, integrations: int, capabilities: int, defects: int
) -> None:
    loaded = load_path(SAMPLES / folder)

    found = (len(loaded.integrations), len(loaded.capabilities), len(loaded.defects))
    assert found == (integrations, capabilities, defects), reasons(loaded)[:5]
    assert is_sound(loaded)


@pytest.mark.parametrize("folder", [folder for folder, *_ in EXPECTED])
def test_every_real_file_gives_something_or_a_reason(folder: str) -> None:
    suffixes = {".json", ".yaml", ".md"}
    files = [path for path in (SAMPLES / folder).rglob("*") if path.suffix in suffixes]

    silent = [file.name for file in files if not any(_answer(file))]

    assert files
    assert not silent


def _answer(path: Path) -> tuple[object, ...]:
    loaded = load_path(path)
    return (*loaded.integrations, *loaded.capabilities, *loaded.defects)


@pytest.mark.parametrize(
    ("name", "servers", "tools"),
    [
        ("toucan-mcp-catalog", 726, 5_191),
        ("seal-tools", 1, 4_076),
        ("bfcl-pooled", 432, 1_496),
        ("toollinkos", 1, 573),
        ("metatool", 1, 199),
    ],
)
def test_catalogue_of_tools_loads_whole(name: str, servers: int, tools: int) -> None:
    loaded = load_path(CATALOGUES / name / "catalog.jsonl")

    assert (len(loaded.integrations), len(loaded.capabilities)) == (servers, tools)
    assert is_sound(loaded)


@pytest.mark.long
def test_names_of_a_catalogue_do_not_depend_on_its_order(tmp_path: Path) -> None:
    lines = (CATALOGUES / "toucan-mcp-catalog" / "catalog.jsonl").read_text().splitlines()
    (tmp_path / "catalog.jsonl").write_text("\n".join(reversed(lines)))

    forwards = load_path(CATALOGUES / "toucan-mcp-catalog" / "catalog.jsonl")
    backwards = load_path(tmp_path / "catalog.jsonl")

    assert {one.identifier: one.full_name for one in forwards.capabilities} == {
        one.identifier: one.full_name for one in backwards.capabilities
    }


def test_everything_at_once_loads_the_same_twice() -> None:
    once = load_path(SAMPLES)

    assert is_sound(once)
    assert once == load_path(SAMPLES)
