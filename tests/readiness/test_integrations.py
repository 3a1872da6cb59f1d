"""Readiness of integrations, in the served registry, the matrix and the list."""

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from catalog.models import Integration
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
