"""Connect an assistant, and install a client's whole configuration at once."""

import json
import os
import re
import tomllib
from base64 import b64decode
from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Any, Literal
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
import yaml
from cryptography.fernet import Fernet
from django.contrib.auth.models import Group, User
from django.db import connection
from django.db import connection as database
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from playwright.sync_api import Page, expect
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from acl.keys.lifecycle import create_key
from acl.models import ApiKey
from acl.people.spaces import create_space, ensure_root
from catalog.models import Capability, Integration
from catalog.servers.secrets.sealed_values import values_for
from discovery.mcp.connect import CLIENTS, ClientAddress, Setup
from marketplace.models import Addition, Installation
from tests.examples import EXAMPLES_OF_STORIES
from tests.factories import CapabilityFactory, GroupFactory, IntegrationFactory, give
from tests.pages.conftest import sign_in
from tests.sessions import session_of

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


ADD, TOGETHER = "/marketplace/add/", "/marketplace/add/together/"
KEY = "0b1f51a8-5a1c-4d7e-9a53-1f7f4d5a3b21"
SECRET = "canary-{}-Qm47vXk2Lp9sTz"


@pytest.fixture
def as_root(db: None, settings: Settings) -> Client:
    settings.PEGBOARD_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    return session_of(User.objects.create_superuser("root"))


def configuration(random: Random) -> tuple[dict[str, Any], dict[str, str], dict[str, str]]:
    """Return servers by name, the secrets that the file has, and what is wrong with a server."""
    servers: dict[str, Any] = {}
    secrets: dict[str, str] = {}
    wrong: dict[str, str] = {}
    for number in range(random.randint(2, 5)):
        name = f"tool{number}"
        kind = random.choice(["package", "address", "private", "nothing"])
        secret = SECRET.format(number)
        has_secret = random.random() < 0.6
        value = secret if has_secret else random.choice(["", "<token>", "${TOKEN}", "YOUR_TOKEN"])
        if kind == "package":
            args = ["-y", f"@acme/{name}@1.0.{number}"]
            servers[name] = {"command": "npx", "args": args, "env": {f"TOKEN_{number}": value}}
        elif kind in ("address", "private"):
            host = "https://mcp.example.com" if kind == "address" else "http://localhost:8205"
            headers = {"Authorization": f"Bearer {value}"} if has_secret else {}
            servers[name] = {"url": f"{host}/{name}", "headers": headers}
        else:
            servers[name] = {"nothing": True}
            wrong[name] = "needs a command or an address"
        if has_secret and kind in ("package", "address"):
            secrets[name] = secret
    servers["always"] = {"url": "https://mcp.example.com/always"}
    return servers, secrets, wrong


def stored_text() -> str:
    """Return the rows of all tables that could hold what was pasted, as text."""
    texts = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names():
            if table.startswith(("marketplace_", "catalog_", "acl_", "django_session")):
                cursor.execute(f'SELECT row_to_json(t)::text FROM "{table}" t')  # noqa: S608
                texts += [row[0] for row in cursor.fetchall()]
    return "\n".join(texts)


def fields(page: str) -> dict[str, list[str]]:
    """Return the page's inputs by name, as a browser would send them."""
    sent: dict[str, list[str]] = {}
    for tag in re.findall(r"<input\b[^>]*>", page):
        attributes = dict(re.findall(r'([\w-]+)="([^"]*)"', tag))
        is_ticked = attributes.get("type") != "checkbox" or " checked" in tag
        if (name := attributes.get("name")) and is_ticked:
            sent.setdefault(name, []).append(attributes.get("value", ""))
    return sent


@pytest.mark.parametrize("seed", range(EXAMPLES_OF_STORIES))
def test_whole_configuration_is_installed_from_one_page(as_root: Client, seed: int) -> None:
    random = Random(seed)
    group: Group = GroupFactory.create(name="Everybody else")
    servers, secrets, wrong = configuration(random)

    answer = as_root.post(ADD, {"what": json.dumps({"mcpServers": servers})})
    page = answer.content.decode()

    assert answer.status_code == 200
    for name in servers:
        assert name.capitalize() in page or name in page
    assert all(reason in page for reason in wrong.values())
    assert all(secret in page for secret in secrets.values())
    assert "canary" not in stored_text()
    sent = fields(page)
    chosen = [slug for slug in sent["chosen"] if random.random() < 0.8] or sent["chosen"][:1]
    form = {**sent, "chosen": chosen, "groups": [str(group.pk)], "has_read": ["on"]}
    installed = as_root.post(TOGETHER, form)

    assert installed.status_code == 302
    rows = {row.integration.listing: row for row in Installation.objects.all()}
    assert set(rows) == set(chosen)
    for row in rows.values():
        assert list(row.groups.all()) == [group]
        name = str(row.descriptor["source_ref"]["name"])
        values = values_for(row.integration).values()
        has = any(secrets.get(name, "-") in value for value in values)
        assert has is (name in secrets)
    after = as_root.get(installed["Location"]).content.decode()
    assert "canary" not in after
    assert after.count("/marketplace/installations/") == len(chosen)


def two_programs() -> dict[str, Any]:
    package = {"command": "npx", "args": ["-y", "@acme/one@1.0.0"], "env": {"TOKEN": "<token>"}}
    return {"mcpServers": {"one": package, "two": {**package, "args": ["-y", "@acme/two@1.0.0"]}}}


def test_same_secret_is_asked_once_and_kept_for_each(as_root: Client) -> None:
    page = as_root.post(ADD, {"what": json.dumps(two_programs())}).content.decode()
    sent = fields(page)
    assert (sent["name"], sent["value"]) == (["TOKEN"], [""])

    as_root.post(TOGETHER, {**sent, "value": ["abc"], "has_read": ["on"]})

    rows = Installation.objects.all()
    assert [values_for(row.integration) for row in rows] == [{"TOKEN": "abc"}] * 2


def test_nothing_starts_before_the_commands_were_read(as_root: Client) -> None:
    sent = fields(as_root.post(ADD, {"what": json.dumps(two_programs())}).content.decode())

    unread = as_root.post(TOGETHER, sent)
    none = as_root.post(TOGETHER, {**sent, "chosen": [], "has_read": ["on"]})
    other = {name: ["0" * 64] for name in sent if name.startswith("confirmed-")}
    changed = as_root.post(TOGETHER, {**sent, **other, "has_read": ["on"]}, follow=True)

    assert [unread.status_code, none.status_code] == [422, 422]
    assert "command has changed" in changed.content.decode()
    assert not Installation.objects.exists()


def test_only_admins_see_it(as_root: Client) -> None:
    as_root.post(ADD, {"what": json.dumps(two_programs())})
    of = ",".join(str(row.public_id) for row in Addition.objects.all())
    member = session_of(User.objects.create_user("bob"))

    assert as_root.get(f"{TOGETHER}?of={of}").status_code == 200
    assert member.get(f"{TOGETHER}?of={of}").status_code == 404
    assert member.post(TOGETHER, {"of": of, "key": KEY}).status_code == 404
    for wrong in ("", "x", KEY):
        assert as_root.get(f"{TOGETHER}?of={wrong}").status_code == 404


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1440, "light")])
def test_page_in_a_browser(
    page: Page,
    admin: User,
    live_server: LiveServer,
    settings: Settings,
    width: int,
    scheme: Literal["dark", "light"],
) -> None:
    settings.PEGBOARD_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    page.set_viewport_size({"width": width, "height": 1000})
    page.emulate_media(color_scheme=scheme)
    sign_in(page, admin, live_server)
    page.goto(ADD)
    servers = {
        **two_programs()["mcpServers"],
        "wiki": {"url": "https://wiki.example.com/mcp", "headers": {"Authorization": "Bearer abc"}},
        "own": {"url": "http://localhost:8205/mcp"},
        "broken": {"nothing": True},
    }
    page.get_by_label("Address, package, command or document").fill(
        json.dumps({"mcpServers": servers})
    )
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("heading", name="Install together")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    if folder := os.environ.get("SHOTS"):
        page.screenshot(path=f"{folder}/together-{width}.png", full_page=True)
    page.get_by_label("I have read these commands").check()
    page.get_by_role("button", name="Install all").click()

    expect(page.get_by_text("Waiting for a worker.")).to_have_count(3)
    if folder:
        page.screenshot(path=f"{folder}/together-after-{width}.png")


@given(
    st.lists(st.sampled_from(["seen", "new", "revoked", "expired", "bobs", "select"]), max_size=5)
)
@hypothesis_settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_connect_says_when_each_assistant_was_last_seen(
    as_alice: Client, alice: User, admin: User, support: Group, kinds: list[str]
) -> None:
    ApiKey.objects.all().delete()
    for number, kind in enumerate(kinds):
        key, _raw = create_key(
            by=None, name=f"{kind}-{number}-key", group=support,
            owner=admin if kind == "bobs" else alice,
            scopes=["select"] if kind == "select" else ["discover"],
        )  # fmt: skip
        ApiKey.objects.filter(pk=key.pk).update(
            last_used_at=Now() - timedelta(minutes=2) if kind == "seen" else None,
            revoked_at=Now() if kind == "revoked" else None,
            expires_at=Now() - timedelta(hours=1) if kind == "expired" else None,
        )

    page = as_alice.get(PAGE).text

    shown = [f"{kind}-{number}-key" in page for number, kind in enumerate(kinds)]
    assert shown == [kind in {"seen", "new"} for kind in kinds]
    assert page.count("last seen 2\xa0minutes ago") == kinds.count("seen")
    assert page.count("not seen yet") == kinds.count("new")


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_address_is_tested_from_the_page(
    page: Page, alice: User, gmail: Capability, live_server: LiveServer
) -> None:
    sign_in(page, alice, live_server)
    page.goto(PAGE)
    page.get_by_role("button", name="Test").click()

    expect(page.locator("#test-said")).to_contain_text(re.compile(r"It works: \d+ tools answered"))

    gmail.integration.delete()
    User.groups.through.objects.all().delete()
    page.get_by_role("button", name="Test").click()
    expect(page.locator("#test-said")).to_contain_text("It does not work")
