"""Secrets of client configurations do not get into the catalogue."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.formats.loader import load_value
from catalog.formats.secret_redaction import (
    CAPABILITY_ADDRESSES,
    find_placeholders,
    redact_arguments,
    redact_text,
    redact_url,
)
from tests.examples import EXAMPLES_OF_TEXTS
from tests.formats.folders import integration, load, reasons


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


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("A_KEY", "canary"), ("PASSPHRASE", "canary"), ("DB_DSN", "canary"), ("PIN", "canary")),
        ("MODE", "sk-canarycanarycanary1"),
        ("DATABASE", "postgresql://me:canary@example.org/db"),
        ("HOOK", "https://hooks.slack.com/services/canary"),
        ("VALUE", "c4n4ry-Canary1canary2"),
        ("MODE", "canary\ncanary"),
        ("MODE", "canary" * 40),
    ],
)
def test_secret_of_an_environment_gives_its_name_only(
    tmp_path: Path, name: str, value: str
) -> None:
    server = {"command": "uvx", "args": ["a"], "env": {name: value}}

    loaded = load(tmp_path, "mcp.json", json.dumps({"mcpServers": {"a": server}}))

    assert integration(loaded).required_secrets == (name,)
    assert "canary" not in repr(loaded).lower()


@settings(max_examples=EXAMPLES_OF_TEXTS)
@given(
    name=st.sampled_from(["MODE", "LOG_LEVEL", "PORT", "REGION", "DEFAULT_ENGINE", "TZ"]),
    value=st.one_of(
        st.sampled_from(["stdio", "bing", "eu-west-1", "Europe/Berlin", "/srv/data", "a, b"]),
        st.integers(0, 65_535),
        st.booleans(),
    ),
)
def test_setting_of_an_environment_keeps_its_value(name: str, value: str | int) -> None:
    server = {"command": "uvx", "args": ["a"], "env": {name: value, "API_KEY": "canary"}}

    loaded = integration(load_value({"mcpServers": {"a": server}}, file="mcp.json"))

    text = str(value).lower() if isinstance(value, bool) else str(value)
    assert loaded.required_secrets == ("API_KEY",)
    assert loaded.source_ref["variables"][0]["default"] == text


@settings(max_examples=EXAMPLES_OF_TEXTS * 2)
@given(
    form=st.sampled_from(sorted(CAPABILITY_ADDRESSES)),
    data=st.data(),
    user=st.sampled_from(["", "me@", "me:pw@"]),
    around=st.sampled_from(["{}", "--url={}", "url: {}", "see {} there", '"{}"']),
)
def test_address_that_is_a_secret_is_redacted_wherever_it_stands(
    form: str, data: st.DataObject, user: str, around: str
) -> None:
    prefix = data.draw(st.from_regex(re.compile(CAPABILITY_ADDRESSES[form], re.A), fullmatch=True))
    address = f"https://{user}{prefix}T0000/c4naryc4naryc4nary"
    text = around.format(address)

    assert "c4nary" not in redact_text(text)
    assert "c4nary" not in redact_url(address)
    assert redact_text(redact_text(text)) == redact_text(text)
    argument, changed = redact_arguments(["--send", address])
    assert "c4nary" not in str(argument)
    assert changed == (1,)


@pytest.mark.parametrize("form", sorted(CAPABILITY_ADDRESSES))
def test_placeholder_in_place_of_such_a_path_stays(form: str) -> None:
    samples = {
        "Slack": "https://hooks.slack.com/services/${PATH_OF_HOOK}",
        "Teams": "https://acme.webhook.office.com/webhookb2/${PATH_OF_HOOK}",
        "Power Automate": "https://prod-1.westus.logic.azure.com/workflows/${PATH_OF_HOOK}",
        "Discord": "https://discord.com/api/webhooks/${PATH_OF_HOOK}",
        "Google Chat": "https://chat.googleapis.com/v1/spaces/${PATH_OF_HOOK}",
        "Zapier": "https://hooks.zapier.com/hooks/catch/${PATH_OF_HOOK}",
        "IFTTT": "https://maker.ifttt.com/trigger/x/with/key/${PATH_OF_HOOK}",
        "Telegram": "https://api.telegram.org/bot${PATH_OF_HOOK}",
    }
    address = samples.get(form, "https://chat.example.org/hooks/${PATH_OF_HOOK}")

    assert redact_text(address) == redact_url(address) == address
