"""Recognition of pasted texts, without contacting anything."""

import json

import pytest

from catalog.formats.descriptors import IntegrationDescriptor
from marketplace.additions.recognition import (
    NotRecognisedError,
    WhichIndexError,
    recognise,
)
from tests.openapi.documents import AS_YAML, library


def server(text: str, **more: str) -> IntegrationDescriptor:
    [one] = recognise(text, **more).servers
    return one


@pytest.mark.parametrize(
    ("text", "slug", "command"),
    [
        ("uvx mcp-server-time", "mcp-server-time", "uvx mcp-server-time"),
        ("$ npx -y @acme/maps@1.2.0 --fast", "maps", "npx -y @acme/maps@1.2.0 --fast"),
        ("@acme/maps", "maps", "npx @acme/maps"),
        ("pypi:mcp-server-time", "mcp-server-time", "uvx mcp-server-time"),
        ("npm:maps", "maps", "npx maps"),
        ("mcp-server-time==1.0.0", "mcp-server-time", "uvx mcp-server-time==1.0.0"),
        ("pip install mcp-server-time", "mcp-server-time", "uvx mcp-server-time"),
        ("npm i -g @acme/maps", "maps", "npx @acme/maps"),
        ("claude mcp add maps -- npx @acme/maps", "maps", "npx @acme/maps"),
        ("docker run -i -e MAPS_KEY acme/maps:2", "maps", "docker run -i -e MAPS_KEY acme/maps:2"),
    ],
)  # fmt: skip
def test_commands_and_packages(text: str, slug: str, command: str) -> None:
    one = server(text)

    assert (one.slug, one.transport) == (slug, "stdio")
    assert " ".join(one.command) == command


def test_variables_of_a_command_become_secrets_without_their_values() -> None:
    one = server("MAPS_KEY=hunter2hunter2 npx @acme/maps")
    image = server("docker run -e MAPS_KEY -e REGION=eu acme/maps")

    assert one.required_secrets == ("MAPS_KEY",)
    assert "hunter2" not in str(one)
    assert image.required_secrets == ("MAPS_KEY", "REGION")


def test_configuration_of_a_client() -> None:
    entry = {"command": "npx", "args": ["@acme/maps"], "env": {"KEY": "hunter2hunter2"}}
    several = json.dumps(
        {"mcpServers": {"maps": entry, "web": {"url": "https://maps.example/mcp"}}}
    )
    inner = json.dumps({"maps": entry})[1:-1]

    assert [one.slug for one in recognise(several).servers] == ["maps", "web"]
    assert server(json.dumps(entry)).slug == "maps"
    assert server(inner).required_secrets == ("KEY",)
    assert "hunter2" not in str(recognise(several))


def test_bare_name_is_asked_for_its_index() -> None:
    with pytest.raises(WhichIndexError):
        recognise("mcp-server-time")

    assert server("mcp-server-time", index="pypi").command == ("uvx", "mcp-server-time")
    assert server("maps", index="npm").command == ("npx", "maps")


def test_addresses_and_documents() -> None:
    assert recognise(" https://maps.example/mcp ").address == "https://maps.example/mcp"
    assert recognise(AS_YAML).document == AS_YAML.strip()
    assert recognise(json.dumps(library())).document


@pytest.mark.parametrize(
    "text",
    [
        *("rm -rf /", "hello there", "{", '{"mcpServers": {}}', "[]", "'", "uvx"[:0] or "?"),
        *("https://maps.example/ mcp", "ftp://maps.example", "x" * 3_000, "$", "A=1"),
        *('{"a": ' * 50, "-y", "\x00"),
    ],
)
def test_anything_else_is_refused_with_what_can_be_pasted(text: str) -> None:
    with pytest.raises(NotRecognisedError) as refused:
        recognise(text)

    assert str(refused.value)


def test_name_is_the_persons() -> None:
    assert server("npx @acme/maps", name="Town maps").slug == "town-maps"
