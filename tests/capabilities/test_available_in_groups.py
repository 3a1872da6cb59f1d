"""`available_in_groups`: it counts only groups that the caller may know of."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from acl.keys.lifecycle import create_key
from catalog.models import Capability
from tests.factories import CapabilityFactory, GroupFactory, UserFactory, give

pytestmark = pytest.mark.django_db


@pytest.fixture
def support() -> Group:
    return GroupFactory.create(name="Support")


@pytest.fixture
def tool(support: Group) -> Capability:
    row = CapabilityFactory.create(action="send")
    give(row.integration, support)
    return row


def test_groups_of_the_caller_that_have_it_are_counted(
    client: Client, support: Group, tool: Capability
) -> None:
    sales, other = GroupFactory.create(name="Sales"), GroupFactory.create(name="Other")
    give(tool.integration, sales)
    client.force_login(UserFactory.create(groups=[support, sales, other]))

    body = {"names": [tool.full_name], "detail": "full_schema", "group": "Support"}

    assert _ask(client, tool, group="Support")["available_in_groups"] == 2
    [found] = _post(client, body)["found"]
    assert found["available_in_groups"] == 2


def test_groups_of_others_change_nothing(client: Client, support: Group, tool: Capability) -> None:
    client.force_login(UserFactory.create(groups=[support], is_staff=True))
    before = _ask(client, tool)

    give(tool.integration, GroupFactory.create(name="Board"))
    GroupFactory.create(name="Open house", open=True)

    assert _ask(client, tool) == before
    assert before["available_in_groups"] == 1


def test_key_counts_only_groups_that_it_works_in(support: Group, tool: Capability) -> None:
    sales = GroupFactory.create(name="Sales")
    alice = UserFactory.create(username="alice", groups=[support, sales])
    of_support = _key(support, alice)
    before = _ask(of_support, tool)

    give(tool.integration, sales)

    assert _ask(of_support, tool) == before
    assert before["available_in_groups"] == 1
    assert _ask(_key(None, alice), tool)["available_in_groups"] == 2


def test_short_details_do_not_have_it(client: Client, support: Group, tool: Capability) -> None:
    client.force_login(UserFactory.create(groups=[support]))

    assert "available_in_groups" not in _ask(client, tool, detail="compact_schema")


def _key(group: Group | None, owner: User) -> Client:
    where: dict[str, Any] = {"group": group} if group else {"all_groups": True}
    _, raw = create_key(by=None, name="k", scopes=["discover"], owner=owner, **where)
    return Client(headers={"Authorization": f"Bearer {raw}", "X-Request-ID": "same"})


def _post(client: Client, body: dict[str, Any]) -> Any:
    path = "/api/v1/capabilities/batch"
    return client.post(path, body, content_type="application/json").json()


def _ask(client: Client, tool: Capability, **query: str) -> Any:
    return client.get(f"/api/v1/capabilities/{tool.full_name}", query).json()
