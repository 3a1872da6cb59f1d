"""Limits of the catalogue's columns: what does not fit is omitted and reported."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.formats.folders import capability, integration, load

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
