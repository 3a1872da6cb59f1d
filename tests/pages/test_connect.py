"""Connect an assistant: the addresses one may use, and each client's own format."""

import json
import tomllib
from base64 import b64decode
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
import yaml
from django.contrib.auth.models import Group, User
from django.db import connection as database
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import Settings

from acl.people.spaces import create_space, ensure_root
from catalog.models import Integration
from discovery.mcp.connect._client_setups import CLIENTS, ClientAddress, Setup
from tests.factories import CapabilityFactory, GroupFactory, IntegrationFactory, give

PAGE = "/tools/connect/"
TO = ClientAddress("pegboard-hub", "https://pegboard.example/mcp/hub")


@pytest.fixture
def hub(support: Group) -> Integration:
    hub = IntegrationFactory.create(slug="hub", title="Code hub", transport="http")
    give(hub, support)
    for action in ("merge", "read_file"):
        CapabilityFactory.create(integration=hub, action=action)
    return hub


def set_up(slug: str, *, by_key: bool = True) -> Setup:
    [client] = [one for one in CLIENTS if one.slug == slug]
    return client.set_up(ClientAddress(TO.name, TO.address, by_key=by_key))


def servers_of(slug: str, *, by_key: bool = True) -> dict[str, Any]:
    """Read a client's set-up as the client does, and return its only server."""
    text = set_up(slug, by_key=by_key).text
    readers: dict[str, Callable[[str], Any]] = {"codex": tomllib.loads}
    readers |= {"goose": yaml.safe_load, "librechat": yaml.safe_load}
    document = readers.get(slug, json.loads)(text)
    [servers] = [part for name, part in document.items() if name != "inputs"]
    return dict(servers[TO.name])


@pytest.mark.parametrize(
    ("slug", "field", "authorization"),
    [
        ("cursor", "url", "Bearer ${env:PEGBOARD_KEY}"),
        ("vs-code", "url", "Bearer ${input:pegboard-key}"),
        ("windsurf", "serverUrl", "Bearer ${env:PEGBOARD_KEY}"),
        ("goose", "uri", "Bearer pb_…"),
        ("gemini-cli", "httpUrl", "Bearer $PEGBOARD_KEY"),
        ("librechat", "url", "Bearer {{PEGBOARD_KEY}}"),
    ],
)
def test_each_file_names_the_address_as_its_client_reads_it(
    slug: str, field: str, authorization: str
) -> None:
    server = servers_of(slug)

    assert server[field] == TO.address
    assert server["headers"] == {"Authorization": authorization}
    assert "headers" not in servers_of(slug, by_key=False)


def test_codex_and_claude_take_the_key_from_the_environment() -> None:
    assert servers_of("codex") == {"url": TO.address, "bearer_token_env_var": "PEGBOARD_KEY"}
    command = set_up("claude-code").text
    assert command.startswith("claude mcp add --transport http pegboard-hub https://")
    assert '"Authorization: Bearer $PEGBOARD_KEY"' in command


def test_claude_desktop_needs_a_program_only_to_send_a_key() -> None:
    server = servers_of("claude-desktop")

    assert server["args"][:3] == ["-y", "mcp-remote", TO.address]
    assert "--allow-http" not in server["args"]
    assert set_up("claude-desktop", by_key=False).text == TO.address


def test_links_hold_the_same_as_the_file() -> None:
    cursor = parse_qs(urlsplit(set_up("cursor").link).query)
    code = json.loads(unquote(set_up("vs-code").link.removeprefix("vscode:mcp/install?")))

    assert cursor["name"] == [TO.name]
    assert json.loads(b64decode(cursor["config"][0])) == servers_of("cursor")
    assert {**servers_of("vs-code"), "name": TO.name} == {
        name: part for name, part in code.items() if name != "inputs"
    }
    assert [one["id"] for one in code["inputs"]] == ["pegboard-key"]


def test_addresses_are_those_that_serve_the_person(
    as_alice: Client, alice: User, support: Group, hub: Integration
) -> None:
    create_space(by=alice, group=support, name="Desk", parent=ensure_root(support))
    CapabilityFactory.create(
        integration=IntegrationFactory.create(slug="payroll", transport="http")
    )
    GroupFactory.create(name="Finance")

    page = as_alice.get(PAGE)

    paths = [one.path for one in page.context["addresses"]]
    assert paths == ["/mcp", "/mcp/space/desk", "/mcp/hub"]
    assert page.context["url"] == "http://testserver/mcp"
    assert page.context["count"].listed == 2


def test_chosen_integration_is_set_up_in_the_chosen_client(
    as_alice: Client, hub: Integration
) -> None:
    page = as_alice.get(PAGE, {"address": "/mcp/hub", "client": "codex"})

    text = page.content.decode()
    assert "[mcp_servers.pegboard-hub]" in text
    assert "Lists 2 tools, by the names" in text
    unknown = as_alice.get(PAGE, {"address": "/mcp/payroll", "client": "netscape"})
    assert (unknown.context["address"].path, unknown.context["client"].slug) == (
        "/mcp",
        "claude-desktop",
    )


def test_many_tools_are_said_to_be_a_choice(
    as_alice: Client, hub: Integration, settings: Settings
) -> None:
    settings.PEGBOARD_MCP_TOOLS = 1

    text = as_alice.get(PAGE).content.decode()

    assert "Lists up to 1 of your 2 tools" in text


def test_without_tools_the_page_says_how_to_get_some(as_alice: Client) -> None:
    text = as_alice.get(PAGE).content.decode()

    assert "None of your tools runs here yet" in text
    assert "/tools/requests/" in text


def test_space_that_two_groups_have_names_its_group(
    as_alice: Client, alice: User, admin: User, support: Group
) -> None:
    finance = GroupFactory.create(name="Finance")
    alice.groups.add(finance)
    for group in (support, finance):
        create_space(by=admin, group=group, name="Desk", parent=ensure_root(group))

    page = as_alice.get(PAGE)

    paths = [one.path for one in page.context["addresses"]]
    assert paths[1:] == ["/mcp/space/desk?group=Finance", "/mcp/space/desk?group=Support"]


def test_twenty_integrations_take_as_many_statements_as_one(
    as_alice: Client, support: Group, hub: Integration
) -> None:
    def count() -> int:
        with CaptureQueriesContext(
            database,
        ) as asked:
            as_alice.get(PAGE)
        return len(asked)

    few = count()
    for number in range(19):
        more = IntegrationFactory.create(slug=f"more-{number}", transport="http")
        give(more, support)
        CapabilityFactory.create(integration=more)

    assert count() == few
