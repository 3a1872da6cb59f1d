"""Readiness of integrations and launchers in every surface; `direct` only where calls run."""

import json
import sys
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from pytest_django.fixtures import Settings

from acl.rights.caller_lookup import Caller
from catalog.access.my_tools import load_readiness
from catalog.models import Integration
from catalog.readiness.obstacles import Obstacle
from catalog.readiness.readiness import Readiness, ToolReadiness
from catalog.servers.tasks import check_integration, check_integrations
from discovery.calls.execution import execute
from discovery.select.selection import SelectRequest
from discovery.select.selector import select_capabilities
from tests.factories import CapabilityFactory, GroupFactory, IntegrationFactory, UserFactory, give

pytestmark = pytest.mark.django_db

OWN = "pegboard/readiness"
SKILL = {"kind": "skill", "side_effect": "read"}


@pytest.fixture
def group() -> Group:
    return GroupFactory.create(name="Support")


def test_registry_counts_only_tools_that_the_caller_may_use(client: Client, group: Group) -> None:
    crm = _server("crm")
    mine = CapabilityFactory.create(integration=crm, action="find", **SKILL)
    CapabilityFactory.create(integration=crm, action="erase", ai_access="propose")
    give(mine, group)
    client.force_login(UserFactory.create(groups=[group]))

    [entry] = client.get("/v0.1/servers").json()["servers"]

    assert entry["_meta"][OWN] == {"readiness": "ready", "tools": {"ready": 1}}


def test_registry_tells_what_is_in_the_way(client: Client, group: Group) -> None:
    worlds: dict[str, dict[str, object]] = {
        "failing": {"connection": "failing"},
        "own": {"required_secrets": ["TOKEN"], "own_secrets": True},
        "shared": {"required_secrets": ["TOKEN"]},
    }
    for slug, facts in worlds.items():
        server = _server(slug, **facts)
        CapabilityFactory.create(integration=server)
        give(server, group)
    client.force_login(UserFactory.create(groups=[group]))

    servers = client.get("/v0.1/servers").json()["servers"]

    told = {one["server"]["name"]: one["_meta"][OWN] for one in servers}
    assert {name: each["readiness"] for name, each in told.items()} == {
        "testserver/failing": "failing",
        "testserver/own": "needs_you",
        "testserver/shared": "needs_admin",
    }
    assert told["testserver/own"]["mend_path"] == reverse("my-secret", args=["own"])


def test_matrix_and_list_show_the_states_by_the_same_statements(
    client: Client, group: Group
) -> None:
    client.force_login(UserFactory.create(is_staff=True, groups=[group]))
    counts = []
    for number in range(1, 8):
        server = _server(f"crm-{number}", required_secrets=["TOKEN"])
        CapabilityFactory.create(integration=server)
        if number in {1, 7}:
            counts.append([_statements(client, page) for page in ("access", "integrations")])

    assert counts[0] == counts[1]
    assert client.get(reverse("access")).text.count('title="Needs an admin: 1"') == 7
    assert client.get(reverse("integrations")).text.count('title="Needs an admin"') == 7


def test_integration_that_is_off_has_no_readiness(client: Client, group: Group) -> None:
    tool = CapabilityFactory.create(integration=_server("crm"), **SKILL)
    client.force_login(UserFactory.create(is_staff=True, groups=[group]))

    before = client.get(reverse("access")).text
    Integration.objects.filter(pk=tool.integration_id).update(enabled=False)

    assert "ready</span>" in before
    assert "ready</span>" not in client.get(reverse("access")).text


def _statements(client: Client, page: str) -> int:
    client.get(reverse(page))
    with CaptureQueriesContext(connection) as queries:
        assert client.get(reverse(page)).status_code == 200
    return len(queries)


def _server(slug: str, **facts: object) -> Integration:
    row: Integration = IntegrationFactory.create(
        slug=slug, kind="mcp", transport="http", endpoint="https://crm.example/mcp",
        **{"connection": "connected", **facts},
    )  # fmt: skip
    return row


DIRECT_SKILL = {"kind": "skill", "content": "Look at the clock."}


@pytest.mark.parametrize(
    ("server", "tool", "is_direct"),
    [
        ({}, DIRECT_SKILL, True),
        ({}, {**DIRECT_SKILL, "ai_access": "propose"}, False),
        ({"connection": "disconnected"}, DIRECT_SKILL, False),
        ({"required_secrets": ["TOKEN"], "transport": "http"}, DIRECT_SKILL, False),
        ({"connection": "failing", "transport": "http"}, DIRECT_SKILL, False),
    ],
)
def test_direct_is_told_only_of_what_runs_at_once(
    client: Client, server: dict[str, Any], tool: dict[str, Any], is_direct: bool
) -> None:
    group = GroupFactory.create(name="Support")
    facts = {"connection": "connected", **server}
    clock = IntegrationFactory.create(slug="clock", kind="mcp", **facts)
    row = CapabilityFactory.create(
        integration=clock, action="tell_time", description="Tell the current time.",
        side_effect="read", **tool,
    )  # fmt: skip
    give(clock, group)
    client.force_login(UserFactory.create(groups=[group]))

    answer = _post(client, "select", {"message": row.full_name})

    assert answer["direct"] == (row.full_name if is_direct else None)
    if is_direct:
        call = _post(client, "execute", {"name": answer["direct"], "arguments": {}})
        assert call["status"] == "completed"


def _post(client: Client, path: str, body: dict[str, Any]) -> Any:
    return client.post(f"/api/v1/{path}", json.dumps(body), content_type="application/json").json()


def _offer(program: str) -> tuple[Integration, Caller]:
    group = GroupFactory.create()
    alice = UserFactory.create(groups=[group])
    integration = IntegrationFactory.create(
        slug="sums", transport="stdio", command=[program, "-I", __file__]
    )
    give(integration, group)
    CapabilityFactory.create(integration=integration, action="add", side_effect="read")
    return integration, Caller(alice.pk, group.pk)


@pytest.mark.parametrize("launchers", [(), ("no-such-launcher",)])
def test_an_idle_program_that_may_not_start_is_not_offered(
    settings: Settings, launchers: tuple[str, ...]
) -> None:
    settings.PEGBOARD_LAUNCHERS, settings.PEGBOARD_APPROVE = launchers, "propose"
    integration, caller = _offer("no-such-launcher")

    check_integrations()

    [readiness] = load_readiness(caller).values()
    called = execute(caller=caller, full_name="sums__add", arguments={})
    assert readiness.obstacle is Obstacle.NOT_ALLOWED
    assert select_capabilities(SelectRequest("call sums__add", caller)).selected == ()
    assert (called.status, called.reason) == ("failed", "not_allowed")
    assert [check.reason for check in integration.checks.all()] == ["not_allowed"]


def test_one_that_may_start_is_not_started_to_find_out(settings: Settings) -> None:
    settings.PEGBOARD_LAUNCHERS = (sys.executable,)
    integration, caller = _offer(sys.executable)

    check_integrations()

    [readiness] = load_readiness(caller).values()
    assert readiness.obstacle is Obstacle.NONE
    assert not integration.checks.exists()


@pytest.mark.usefixtures("connections")
def test_it_is_tried_again_once_its_launcher_is_allowed(settings: Settings) -> None:
    settings.PEGBOARD_LAUNCHERS = ()
    integration, caller = _offer(sys.executable)
    check_integrations()
    refused = load_readiness(caller)
    settings.PEGBOARD_LAUNCHERS = (sys.executable,)

    check_integration(integration.pk)  # starts it; this file is no server

    [before], [after] = refused.values(), load_readiness(caller).values()
    assert (before.obstacle, after.obstacle) == (Obstacle.NOT_ALLOWED, Obstacle.FAILING)
    assert after.is_tried


@pytest.mark.parametrize(
    ("asks_first", "runs_here", "state", "carried_out_elsewhere"),
    [
        (False, False, Readiness.DESCRIBED_ONLY, True),
        (True, False, Readiness.ASKS_FIRST, True),
        (True, True, Readiness.ASKS_FIRST, False),
        (False, True, Readiness.READY, False),
    ],
)
def test_sentence_says_who_carries_out_the_call(
    asks_first: bool, runs_here: bool, state: Readiness, carried_out_elsewhere: bool
) -> None:
    readiness = ToolReadiness(asks_first=asks_first, runs_here=runs_here)

    assert readiness.state is state
    assert ("your application carries" in readiness.sentence.lower()) is carried_out_elsewhere
