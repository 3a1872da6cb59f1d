"""CAPABILITY.yaml: required and optional fields, and paths that it may not reach."""

from pathlib import Path

import pytest

from catalog.formats.loader import load_path
from tests.formats.folders import capability, integration, load, reasons, write

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
