"""Links that mend a tool: each leads its reader to a page that they may open."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse

from acl.models import Space
from catalog.models import Capability, Integration, Rule
from catalog.readiness.obstacles import Obstacle
from catalog.readiness.readiness import Readiness, ToolReadiness
from tests.factories import (
    CapabilityFactory,
    GroupFactory,
    IntegrationFactory,
    UserFactory,
    give,
    lay_down,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def group() -> Group:
    return GroupFactory.create(name="Support")


def test_own_secret_leads_to_my_connections(client: Client, group: Group) -> None:
    tool = _tool(group, own_secrets=True, required_secrets=["TOKEN"])
    client.force_login(UserFactory.create(groups=[group]))

    answer = _ask(client, tool)

    assert answer["mend_path"] == reverse("my-secret", args=["crm"])
    assert client.get(answer["mend_path"]).status_code == 200


def test_own_secret_of_a_tool_of_another_group_can_be_set_from_any_group(
    client: Client, group: Group
) -> None:
    first = GroupFactory.create(name="Accounting")  # the page's own group: the first by name
    _tool(group, own_secrets=True, required_secrets=["TOKEN"])
    client.force_login(UserFactory.create(groups=[first, group]))

    page = client.get(reverse("my-secret", args=["crm"]))

    assert page.status_code == 200
    assert "Crm" in client.get(reverse("my-secrets")).text


def test_secret_page_of_a_tool_of_others_is_not_found(client: Client, group: Group) -> None:
    _tool(group, own_secrets=True, required_secrets=["TOKEN"])
    client.force_login(UserFactory.create(groups=[GroupFactory.create(name="Sales")]))

    assert client.get(reverse("my-secret", args=["crm"])).status_code == 404


@pytest.mark.parametrize(
    ("staff", "facts", "page"),
    [
        (True, {"required_secrets": ["TOKEN"]}, "/integrations/crm/"),
        (True, {"unconfirmed": True}, "/integrations/crm/confirm/"),
        (True, {"connection": "failing"}, "/integrations/crm/"),
        (False, {"required_secrets": ["TOKEN"]}, "/tools/requests/?wish=crm__find"),
        (False, {"unconfirmed": True}, "/tools/requests/?wish=crm__find"),
        (False, {"connection": "failing"}, ""),
    ],
)
def test_what_needs_an_admin_leads_to_the_page_that_the_reader_may_open(
    client: Client, group: Group, staff: bool, facts: dict[str, Any], page: str
) -> None:
    tool = _tool(group, **facts)
    client.force_login(UserFactory.create(groups=[group], is_staff=staff))

    answer = _ask(client, tool)

    path = answer.get("mend_path", "")
    assert path.startswith(page)
    assert bool(path) == bool(page)
    assert not path or client.get(path).status_code == 200


@pytest.mark.parametrize("obstacle", Obstacle)
def test_nobody_tells_an_admin_to_ask_one(obstacle: Obstacle) -> None:
    sentences = {
        staff: ToolReadiness(obstacle=obstacle, for_staff=staff).sentence for staff in (True, False)
    }

    assert "admin" not in sentences[True].lower()
    state = ToolReadiness(obstacle=obstacle).state
    assert ("admin" in sentences[False].lower()) is (
        state is Readiness.NEEDS_ADMIN and obstacle is not Obstacle.NOT_AVAILABLE
    )


def test_request_for_an_admin_is_filled_in(client: Client, group: Group) -> None:
    tool = _tool(group, required_secrets=["TOKEN"])
    client.force_login(UserFactory.create(groups=[group]))

    page = client.get(_ask(client, tool)["mend_path"])

    assert "crm__find: It needs a secret that an admin must set.</textarea>" in page.text


def test_pages_show_the_link(client: Client, group: Group) -> None:
    tool = _tool(group, own_secrets=True, required_secrets=["TOKEN"])
    client.force_login(UserFactory.create(groups=[group]))
    link = f'href="{reverse("my-secret", args=["crm"])}"'

    for page in ("my-tools", "tool", "tool-why"):
        args = [] if page == "my-tools" else [tool.full_name]
        assert link in client.get(reverse(page, args=args)).text, page


def test_selection_tells_the_link(client: Client, group: Group) -> None:
    tool = _tool(group, connection="failing")
    client.force_login(UserFactory.create(groups=[group], is_staff=True))
    body = {"message": tool.full_name}

    answer = client.post("/api/v1/select", json.dumps(body), content_type="application/json")

    assert [one["mend_path"] for one in answer.json()["selected"]] == ["/integrations/crm/"]


def test_admin_who_explains_is_not_sent_to_the_secrets_of_someone_else(
    client: Client, group: Group
) -> None:
    personal = _tool(group, own_secrets=True, required_secrets=["TOKEN"])
    shared = _tool(group, slug="erp", required_secrets=["TOKEN"])
    alice = UserFactory.create(username="alice", groups=[group])
    client.force_login(UserFactory.create(username="admin", is_staff=True))

    assert "/tools/connections/" not in _explained(client, alice, personal)
    assert 'href="/integrations/erp/"' in _explained(client, alice, shared)


OWN = {"own_secrets": True, "required_secrets": ["TOKEN"]}
REQUEST, SECRET = 'name="wish"', 'name="value"'
CHECK = 'action="/integrations/{}/check/"'
OWN_SIGN_IN = 'action="/tools/connections/{}/sign-in/"'
# The facts, and what mends them on the page: for a caller, and for one who is an admin.
MEANS: dict[str, tuple[dict[str, Any], str, str]] = {
    "own-secret": (OWN, SECRET, SECRET),
    "own-account": ({"own_secrets": True, "problem": "sign_in_needed"}, OWN_SIGN_IN, OWN_SIGN_IN),
    "secret": ({"required_secrets": ["TOKEN"]}, REQUEST, SECRET),
    "account": ({"problem": "sign_in_needed"}, REQUEST, 'action="/integrations/{}/sign-in/"'),
    "unconfirmed": ({"unconfirmed": True}, REQUEST, 'name="confirmed"'),
    "disconnected": ({"connection": "disconnected"}, REQUEST, CHECK),
    "not-allowed": ({"problem": "not_allowed"}, REQUEST, CHECK),
    "changed-files": ({"problem": "files_changed"}, REQUEST, CHECK),
    "failing": ({"connection": "failing"}, "", CHECK),
}


@pytest.mark.parametrize("staff", [False, True])
@pytest.mark.parametrize("way", ["grant", "rule of a sub-space", "second group"])
def test_each_link_leads_its_caller_to_the_means(
    client: Client, group: Group, staff: bool, way: str
) -> None:
    more = [GroupFactory.create(name="Accounting")] if way == "second group" else []
    client.force_login(UserFactory.create(groups=[*more, group], is_staff=staff))

    for slug, (facts, for_member, for_staff) in MEANS.items():
        tool, asked = _reach(group, way, slug=slug, **facts)
        answer = client.get(f"/api/v1/capabilities/{tool.full_name}", asked).json()
        path, means = answer.get("mend_path", ""), for_staff if staff else for_member
        assert bool(path) == bool(means), slug
        page = client.get(path or "/tools/")
        assert page.status_code == 200, slug
        assert means.format(slug) in page.text, slug


def _reach(group: Group, way: str, **facts: Any) -> tuple[Capability, dict[str, str]]:
    """Create a tool that the group reaches this way only; return how to ask for it."""
    if way != "rule of a sub-space":
        return _tool(group, **facts), {"group": group.name}
    tool = _tool(GroupFactory.create(), **facts)
    root = Space.objects.get(group=group, parent=None)
    team, _ = Space.objects.get_or_create(group=group, parent=root, name="Team", slug="team")
    lay_down(Rule.Effect.ALLOW, tool, team, group=group)
    return tool, {"group": group.name, "space": team.slug}


def test_connections_list_what_only_a_sub_space_allows(client: Client, group: Group) -> None:
    _reach(group, "rule of a sub-space", **OWN)
    client.force_login(UserFactory.create(groups=[group]))

    assert reverse("my-secret", args=["crm"]) in client.get(reverse("my-secrets")).text


def test_secret_of_a_sub_space_stays_hidden_from_others(client: Client, group: Group) -> None:
    tool, _ = _reach(group, "rule of a sub-space", **OWN)
    inner = Space.objects.get(slug="team")
    lay_down(Rule.Effect.DENY, tool, inner, group=group)
    client.force_login(UserFactory.create(groups=[group]))

    assert client.get(reverse("my-secret", args=["crm"])).status_code == 404


def _explained(client: Client, user: User, tool: Capability) -> str:
    asked = {"user": user.username, "capability": tool.full_name}
    return client.get(reverse("access-explain"), asked).text


def _tool(group: Group, slug: str = "crm", **facts: Any) -> Capability:
    integration: Integration = IntegrationFactory.create(
        slug=slug, title=slug.title(), kind="mcp", transport="http",
        endpoint="https://crm.example/mcp", **{"connection": "connected", **facts},
    )  # fmt: skip
    give(integration, group)
    return CapabilityFactory.create(integration=integration, action="find")


def _ask(client: Client, tool: Capability) -> Any:
    return client.get(f"/api/v1/capabilities/{tool.full_name}").json()
