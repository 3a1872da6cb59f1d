"""Approvers of a tool that asks first: told alike before a call and by it."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries
from pytest_django.fixtures import Settings

from acl.keys.lifecycle import create_key
from acl.models import ApiKey
from acl.rights.caller_lookup import Caller
from catalog.access.my_tools import load_readiness
from catalog.models import Capability
from tests.factories import CapabilityFactory, GroupFactory, UserFactory, give

pytestmark = pytest.mark.django_db
NOBODY = "Nobody can approve its calls"
# Staff, other admins, PEGBOARD_SELF_APPROVAL: the tool's sentence, and the call's.
CASES = [
    (False, 1, False, "An admin approves each call.", "An admin must approve this call"),
    (True, 1, False, "Another admin approves each call.", "Another admin must approve this call"),
    (True, 0, True, "You or another admin approve each call.", "You or another admin must"),
    (True, 0, False, NOBODY, "Only the requester could approve this call."),
    (False, 0, False, NOBODY, "Only the requester could approve this call."),
]


@pytest.mark.parametrize(("staff", "admins", "self_approval", "of_each", "of_this"), CASES)
def test_every_surface_tells_who_may_approve(
    client: Client,
    settings: Settings,
    *,
    staff: bool,
    admins: int,
    self_approval: bool,
    of_each: str,
    of_this: str,
) -> None:
    settings.PEGBOARD_SELF_APPROVAL = self_approval
    group, tool = _tool_that_asks()
    alice = UserFactory.create(username="alice", groups=[group], is_staff=staff)
    for number in range(admins):
        UserFactory.create(username=f"secret-admin-{number}", is_staff=True)
    client.force_login(alice)

    said = _ask_everywhere(client, tool)

    assert all(sentence.startswith(of_each) for sentence in said.values()), said
    call = _post(client, "execute", {"name": tool.full_name, "arguments": {}})
    assert call["status"] == "approval_needed"
    assert of_this in call["message"]
    assert "secret-admin" not in json.dumps([said, call])
    pages = [reverse("my-tools"), reverse("tool", args=[tool.full_name])]
    pages.append(reverse("tool-why", args=[tool.full_name]))
    assert all(of_each in client.get(page).text for page in pages)


def test_sentence_counts_the_maker_of_the_key(client: Client) -> None:
    group, tool = _tool_that_asks()
    alice = UserFactory.create(username="alice", groups=[group])
    admin = UserFactory.create(username="admin", is_staff=True)
    headers = _key_made_by(admin, group)

    answer = client.get(_path(tool), {"user": "alice", "group": group.name}, headers=headers)
    body = {"name": tool.full_name, "arguments": {}, "user": "alice", "group": group.name}
    call = _post(client, "execute", body, headers=headers)

    # The only admin made the key that asks: they count as one of the askers.
    assert answer.json()["readiness_reason"].startswith(NOBODY)
    assert "Only the requester could approve this call." in call["message"]
    client.force_login(alice)
    assert client.get(_path(tool)).json()["readiness_reason"].startswith("An admin approves")


@pytest.mark.parametrize("self_approval", [True, False])
def test_owner_of_an_admin_key_is_no_admin_of_the_pages(
    client: Client, settings: Settings, *, self_approval: bool
) -> None:
    settings.PEGBOARD_SELF_APPROVAL = self_approval
    group, tool = _tool_that_asks()
    alice = UserFactory.create(username="alice", groups=[group])
    create_key(by=None, name="k", group=group, scopes=["admin"], owner=alice)
    UserFactory.create(is_staff=True)
    client.force_login(alice)

    assert client.get(_path(tool)).json()["readiness_reason"] == "An admin approves each call."


def test_approvers_are_read_once_and_only_if_a_tool_asks(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    group, tool = _tool_that_asks()
    alice = UserFactory.create(groups=[group])
    for number in range(5):
        CapabilityFactory.create(
            integration=tool.integration, action=f"ask_{number}", ai_access="propose"
        )
    caller = Caller(alice.pk, group.pk)

    with django_assert_num_queries(2):
        assert len(load_readiness(caller)) == 6
    Capability.objects.update(ai_access="execute", kind="skill")
    with django_assert_num_queries(1):
        load_readiness(caller)


def _ask_everywhere(client: Client, tool: Capability) -> dict[str, str]:
    message = {"message": tool.full_name}
    [selected] = _post(client, "select", message)["selected"]
    [planned] = _post(client, "plan", message)["selected"]
    [listed] = client.get("/api/v1/capabilities").json()["items"]
    named = client.get(_path(tool)).json()
    explained = client.get(
        "/api/v1/access/explain", {"capability": tool.full_name, "user": "alice"}
    ).json()
    answers = {
        "select": selected,
        "plan": planned,
        "list": listed,
        "single": named,
        "explain": explained,
    }
    return {where: answer["readiness_reason"] for where, answer in answers.items()}


def _tool_that_asks() -> tuple[Group, Capability]:
    group = GroupFactory.create(name="Support")
    tool = CapabilityFactory.create(action="send_mail", ai_access="propose", kind="skill")
    give(tool.integration, group)
    return group, tool


def _post(client: Client, path: str, body: dict[str, Any], **more: Any) -> Any:
    answer = client.post(
        f"/api/v1/{path}", json.dumps(body), content_type="application/json", **more
    )
    return answer.json()


def _path(tool: Capability) -> str:
    return f"/api/v1/capabilities/{tool.full_name}"


def _key_made_by(admin: User, group: Group) -> dict[str, str]:
    scopes = ["select", "discover", "execute"]
    key, raw = create_key(by=None, name="k", group=group, scopes=scopes, acts_for_users=True)
    ApiKey.objects.filter(pk=key.pk).update(created_by=admin)
    return {"Authorization": f"Bearer {raw}"}
