"""Secrets of client configurations do not get into the catalogue."""

import json
from pathlib import Path

import pytest

from catalog.formats.secret_redaction import find_placeholders, redact_arguments, redact_text
from tests.normalizing.folders import integration, load, reasons


@pytest.mark.parametrize(
    "text",
    [
        "--api-key=canary",
        "--apiKey=canary",
        "API_KEY=canary",
        "Authorization: Bearer canary",
        "X-Api-Key:canary",
        "Bearer canary",
        "https://me:canary@example.org/x",
        "https://example.org/mcp?access_token=canary&page=2",
        "postgresql://me:canary@example.org/db",
        "--database=postgresql://me:canary@example.org/db",
        "npx -y server --api-key canary --port 3",
        "sh -c 'TOKEN=canary server'",
        '{"apiKey": "canary", "port": 3}',
        "${API_KEY:-canary}",
        "sk-canarycanarycanary1",
        "ghp_canarycanarycanarycanary1",
        "https://example.org/sk-canarycanarycanary1/mcp",
    ],
)
def test_secret_is_taken_out_of_a_text(text: str) -> None:
    assert "canary" not in redact_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "-y",
        "@playwright/mcp@latest",
        "git+https://github.com/oraios/serena",
        "--shell=bun",
        "${CLAUDE_PLUGIN_ROOT}",
        "--token=${TOKEN}",
        "Authorization: Bearer ${input:token}",
        "ghcr.io/example/server@sha256:" + "a" * 64,
        "https://example.org/mcp?page=2&size=10",
    ],
)
def test_text_without_a_secret_stays_as_it_is(text: str) -> None:
    assert redact_text(text) == text


def test_value_after_a_secret_option_is_taken_out() -> None:
    kept, changed = redact_arguments(["-y", "server", "--token", "canary", "--port", "3"])

    assert kept == ("-y", "server", "--token", "[redacted]", "--port", "3")
    assert changed == (3,)


def test_gaps_of_a_text_are_named() -> None:
    assert find_placeholders("${A} ${input:b} $C {{d}} {e} <your key>") == (
        *("A", "b", "C", "d"),
        *("e", "your key"),
    )


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "http://[::1"]
)
def test_address_that_is_not_of_the_web_is_refused(tmp_path: Path, address: str) -> None:
    loaded = load(tmp_path, "mcp.json", json.dumps({"mcpServers": {"a": {"url": address}}}))

    assert not loaded.integrations
    assert "must be an address" in reasons(loaded)[0]


def test_environment_gives_names_only(tmp_path: Path) -> None:
    server = {"command": "uvx", "args": ["a"], "env": {"A_KEY": "canary", "MODE": "canary"}}

    loaded = load(tmp_path, "mcp.json", json.dumps({"mcpServers": {"a": server}}))

    assert integration(loaded).required_secrets == ("A_KEY", "MODE")
    assert "canary" not in repr(loaded)
