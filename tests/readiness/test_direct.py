"""`direct` names only a tool whose call runs at once."""

import json
from typing import Any

import pytest
from django.test import Client

from tests.factories import CapabilityFactory, GroupFactory, IntegrationFactory, UserFactory, give

pytestmark = pytest.mark.django_db
SKILL = {"kind": "skill", "content": "Look at the clock."}


@pytest.mark.parametrize(
    ("server", "tool", "is_direct"),
    [
        ({}, SKILL, True),
        ({}, {**SKILL, "ai_access": "propose"}, False),
        ({"connection": "disconnected"}, SKILL, False),
        ({"required_secrets": ["TOKEN"], "transport": "http"}, SKILL, False),
        ({"connection": "failing", "transport": "http"}, SKILL, False),
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
