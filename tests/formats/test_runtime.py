"""Sources added at runtime by API."""

from typing import Any

import pytest

from catalog.formats.runtime import normalize_runtime
from tests.formats.folders import capability, integration, reasons


def test_voice_provider_is_read() -> None:
    loaded = normalize_runtime(
        {"kind": "voice", "name": "whisper", "description": "Turns speech into text."}
    )

    assert capability(loaded).identifier == "voice:whisper"
    assert integration(loaded).kind == "voice"


def test_skill_of_a_user_has_its_content() -> None:
    loaded = normalize_runtime(
        {"kind": "skill", "name": "haiku", "description": "Writes haiku.", "content": "5, 7, 5."}
    )

    assert (capability(loaded).content, capability(loaded).side_effect) == ("5, 7, 5.", "read")


def test_emergent_tool_may_belong_to_an_integration() -> None:
    body = {"kind": "emergent-tool", "name": "sum_up", "description": "Sums up.", "inputSchema": {}}

    loaded = normalize_runtime(body, integration="office")

    assert capability(loaded).full_name == "office__sum_up"
    assert capability(loaded).identifier == "emergent-tool:office__sum_up"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ([], "request: file: must be a mapping"),
        ({}, "request: name: is required"),
        ({"name": "x", "description": "y"}, "request: kind: is required"),
        (
            {"name": "x", "kind": "tool", "description": "y"},
            "request: kind: must be one of voice, skill, emergent-tool",
        ),
        ({"name": ["x"], "kind": "voice"}, "request: name: must be text"),
        (
            {"name": "x", "kind": "voice", "description": "y", "inputSchema": 3},
            "request: inputSchema: must be a mapping (a JSON schema)",
        ),
    ],
)
def test_refused_body_says_which_field(body: Any, reason: str) -> None:
    loaded = normalize_runtime(body)

    assert not loaded.capabilities
    assert reasons(loaded) == [reason]


def test_body_reaches_no_file() -> None:
    body = {"kind": "skill", "name": "x", "description": "y", "skillContent": "/etc/hostname"}

    assert capability(normalize_runtime(body)).content == ""
