"""Hostile sources are reported, their secrets stay out, and the rest of the folder loads."""

import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.formats.files import Limits
from catalog.formats.loader import load_path, load_value
from catalog.formats.names import FULL_NAME, SLUG
from catalog.formats.secret_redaction import (
    CAPABILITY_ADDRESSES,
    find_placeholders,
    redact_arguments,
    redact_text,
    redact_url,
)
from tests.examples import EXAMPLES_OF_TEXTS
from tests.formats.folders import SAMPLES, integration, load, reasons, write

GOOD = "---\nname: good\ndescription: Loads.\n---\nText."
NAMES = [
    *("SKILL.md", "CAPABILITY.yaml", "server.yaml", "tools.json"),
    *("mcp.json", "catalog.jsonl", "spec.yaml", "x.json"),
]
SAMPLE_FILES = sorted(path for path in SAMPLES.rglob("*") if path.is_file())
KEYS = st.sampled_from(
    [
        *("name", "kind", "description", "tools", "servers", "server", "mcpServers", "plugins"),
        *("url", "command", "args", "env", "headers", "annotations", "inputSchema", "arguments"),
        *("packages", "remotes", "extensions", "channels", "edges", "id", "tags", "about"),
        *("type", "image", "remote", "transport", "function", "author", "source", "_meta"),
    ]
)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("SKILL.md", "# No text", "is missing; the folder and the first lines stand for it"),
        ("SKILL.md", "---\n- x\n", "must start with YAML"),
        ("SKILL.md", "---\nname: x\n---\n", "description: is required"),
        ("SKILL.md", "---\n- a\n---\n", "must be a mapping"),
        ("SKILL.md", "---\nname: &a x\ndescription: *a\n---\n", "read as text"),
        ("SKILL.md", "---\n&a\n---\n", "alias or anchor"),
        ("SKILL.md", f"---\nname: x\ndescription: {'y' * 17_000}\n---\n", "16,384 bytes"),
        ("CAPABILITY.yaml", "a: !!python/name:os.system", "YAML tag"),
        ("x.json", b"\xff\xfa", "not UTF-8"),
        ("x.json", "[" * 100_000, "nested more than 64 deep"),
        ("x.json", b" " * (5 * 1024 * 1024 + 1), "the limit is 5,242,880"),
        ("x.json", '{"tools": [], "tools": []}', "occurs twice"),
        ("a.jsonl", b"x" * (1024 * 1024 + 2), "line 1: has more than 1,048,576 bytes"),
        ("server.yaml", "name: x\ntype: server\nabout: 7", "about: must be a mapping"),
    ],
)
def test_hostile_file_is_reported_and_the_rest_loads(
    tmp_path: Path, name: str, content: str | bytes, reason: str
) -> None:
    write(tmp_path, f"bad/{name}", content)
    write(tmp_path, "good/SKILL.md", GOOD)

    loaded = load_path(tmp_path)

    assert "good" in {one.full_name for one in loaded.capabilities}
    assert reason in reasons(loaded)[0]
    assert loaded.defects[0].file == f"bad/{name}"


def test_linked_files_and_folders_are_not_followed(tmp_path: Path) -> None:
    write(tmp_path, "outside/SKILL.md", GOOD)
    root = tmp_path / "root"
    root.mkdir()
    (root / "folder").symlink_to(tmp_path / "outside")
    (root / "SKILL.md").symlink_to(tmp_path / "outside" / "SKILL.md")
    (root / "loop").symlink_to(root)

    loaded = load_path(root)

    assert not loaded.capabilities
    assert reasons(loaded) == ["SKILL.md: file: leads out of the folder"]


def test_pipe_with_the_name_of_a_source_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "tools.json")

    assert "not a regular file" in reasons(load_path(tmp_path))[0]


def test_folders_are_walked_only_so_deep(tmp_path: Path) -> None:
    write(tmp_path, "/".join("abcdef") + "/SKILL.md", GOOD)

    loaded = load_path(tmp_path, limits=Limits(folder_depth=3))

    assert reasons(loaded) == ["a/b/c/d: file: is more than 3 folders deep"]


def test_only_so_many_files_are_read(tmp_path: Path) -> None:
    for number in range(5):
        write(tmp_path, f"{number}/SKILL.md", GOOD.replace("good", f"good-{number}"))

    loaded = load_path(tmp_path, limits=Limits(folder_files=3))

    assert len(loaded.capabilities) == 3
    assert "past the limit of 3 files" in reasons(loaded)[0]


def test_version_control_and_packages_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path, ".git/SKILL.md", GOOD)
    write(tmp_path, "node_modules/x/SKILL.md", GOOD)

    assert not load_path(tmp_path).capabilities


def test_files_of_a_skill_are_its_own(tmp_path: Path) -> None:
    write(tmp_path, "SKILL.md", GOOD)
    write(tmp_path, "data/evals.json", "[1]")

    assert not load_path(tmp_path).defects


def test_catalog_has_a_limit_of_its_own(tmp_path: Path) -> None:
    lines = "\n".join(json.dumps({"name": f"t{number}"}) for number in range(20))
    path = write(tmp_path, "catalog.jsonl", lines)

    loaded = load_path(path, limits=Limits(catalog_lines=10))

    assert len(loaded.capabilities) == 10
    assert reasons(loaded) == ["catalog.jsonl: line 11: is past the limit of 10 lines"]


def test_many_faults_end_in_one_line_about_the_rest(tmp_path: Path) -> None:
    path = write(tmp_path, "catalog.jsonl", "x\n" * 50)

    loaded = load_path(path, limits=Limits(defects_per_file=10))

    assert len(loaded.defects) == 11
    assert "more problems than are listed" in reasons(loaded)[-1]


def test_long_skill_is_cut_and_reported(tmp_path: Path) -> None:
    path = write(tmp_path, "SKILL.md", GOOD + "x" * 2_000)

    loaded = load_path(path, limits=Limits(content=1_000))

    assert len(loaded.capabilities[0].content) == 1_000
    assert loaded.defects[0].field == "content"


def test_reports_show_nothing_hidden(tmp_path: Path) -> None:
    write(tmp_path, "x.json", '{"\u202ea": 1, "\u202ea": 2}')

    assert "\u202e" not in repr(load_path(tmp_path).defects)


@given(name=st.sampled_from(NAMES), content=st.binary(max_size=300))
def test_random_bytes_never_crash_the_reader(
    tmp_path_factory: pytest.TempPathFactory, name: str, content: bytes
) -> None:
    folder = tmp_path_factory.mktemp("random")

    loaded = load_path(write(folder, name, content))

    assert loaded == load_path(folder / name)


@given(value=JSON_VALUES)
def test_random_values_never_crash_the_reader(value: object) -> None:
    loaded = load_value(value, file="x.json")

    assert all(FULL_NAME.fullmatch(one.full_name) for one in loaded.capabilities)
    assert all(SLUG.fullmatch(one.slug) for one in loaded.integrations)
    assert loaded.integrations or loaded.capabilities or loaded.defects


@given(data=st.data())
def test_mutated_samples_never_crash_the_reader(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    sample = data.draw(st.sampled_from(SAMPLE_FILES))
    content = sample.read_bytes()
    start = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(start, min(len(content), start + 30)))
    mutated = content[:start] + data.draw(st.binary(max_size=6)) + content[end:]

    loaded = load_path(write(tmp_path_factory.mktemp("mutated"), sample.name, mutated))

    assert {one.integration for one in loaded.capabilities} <= {
        one.slug for one in loaded.integrations
    }


@pytest.mark.parametrize("depth", [100, 900, 100_000])
def test_deep_values_in_memory_are_refused(depth: int) -> None:
    deep: object = 1
    for _ in range(depth):
        deep = [deep]

    loaded = load_value({"mcpServers": {"x": {"command": "y", "env": {"a": deep}}}}, file="x.json")

    assert reasons(loaded) == ["x.json: x: is nested more than 64 deep"]


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
