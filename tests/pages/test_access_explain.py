"""Explain, reach, holders, and the deciding ground of one's own tools."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils.http import urlencode

from acl.models import GroupPolicy, Space
from acl.rights.caller_lookup import Caller
from catalog.access.my_tools import grounds_for
from catalog.models import Capability, Rule
from tests.factories import CapabilityFactory, GroupFactory, UserFactory, give, lay_down


@pytest.fixture
def root(support: Group) -> Space:
    return Space.objects.get(group=support, parent=None)


@pytest.fixture
def project(root: Space) -> Space:
    return Space.objects.create(group=root.group, parent=root, name="Project", slug="project")


def ask(client: Client, **asked: int) -> Any:
    """Return Explain's context; by default about alice and sending mail."""
    query: dict[str, str | int] = {"user": "alice", "capability": "gmail__send_email", **asked}
    response = client.get("/access/explain/", query)
    assert response.status_code == 200
    return response.context


def test_a_grant_decides_after_the_spaces(as_admin: Client, alice: User, gmail: Capability) -> None:
    context = ask(as_admin)

    ladder = [(rung.kind, rung.decides) for rung in context["rungs"]]
    assert ladder == [
        ("gate", False),
        ("space", False),
        ("grant", True),
        ("default", False),
        ("own", True),
    ]
    assert context["told"].decision == "propose"


def test_the_nearest_rule_decides_and_the_beaten_one_is_shown(
    as_admin: Client, alice: User, gmail: Capability, root: Space, project: Space
) -> None:
    lay_down(Rule.Effect.DENY, gmail, root)
    lay_down(Rule.Effect.ALLOW, gmail.integration, project)
    query = urlencode(
        {
            "user": "alice",
            "group": str(root.group_id),
            "space": str(project.pk),
            "capability": "gmail__send_email",
        }
    )

    page = as_admin.get(f"/access/explain/?{query}")

    deciding = [rung.label for rung in page.context["rungs"] if rung.decides]
    assert deciding == ["Project", "The tool's own setting"]
    text = page.content.decode()
    assert "overridden" in text
    assert "What works:" in text


def test_nobody_decides_at_once(as_admin: Client, alice: User, gmail: Capability) -> None:
    sales = GroupFactory.create(name="Sales")

    context = ask(as_admin, group=sales.pk)

    assert [rung.kind for rung in context["rungs"] if rung.decides] == ["gate"]
    assert context["told"].decision == "no"


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("", "Choose a person and a tool"),
        ("user=nobody&capability=gmail__send_email", "No user is named nobody"),
        ("user=alice&capability=spoon", "No tool is named spoon"),
        ("user=alice", "Everything alice can use in Support"),
        ("capability=gmail__send_email", "Everyone who can use gmail__send_email"),
        ("user=alice&group=x&space=y&capability=gmail__send_email", "Yes, but it asks first"),
    ],
)
def test_a_question_that_is_not_whole_is_helped(
    as_admin: Client, alice: User, gmail: Capability, query: str, words: str
) -> None:
    assert words in as_admin.get(f"/access/explain/?{query}").content.decode()


def test_a_person_without_a_group_reaches_nothing(as_admin: Client) -> None:
    stranger = UserFactory.create(username="dave")

    text = as_admin.get(f"/access/people/{stranger.pk}/").content.decode()

    assert "dave is in no group" in text


def test_what_a_person_reaches_is_listed_with_its_ground(
    as_admin: Client, alice: User, gmail: Capability, calendar: Capability
) -> None:
    CapabilityFactory.create(full_name="payroll__pay")

    text = as_admin.get(f"/access/people/{alice.pk}/").content.decode()

    assert "gmail is granted to the group Support" in text
    assert "calendar__list_events" in text
    assert "payroll__pay" not in text


def test_what_a_person_reaches_is_searched(
    as_admin: Client, alice: User, gmail: Capability, calendar: Capability
) -> None:
    found = as_admin.get(f"/access/people/{alice.pk}/?q=meetings").context["found"]

    assert [reached.capability for reached in found.items] == [calendar]


def test_who_reaches_a_capability_is_listed_by_group(
    as_admin: Client, alice: User, gmail: Capability
) -> None:
    sales = GroupFactory.create(name="Sales")
    UserFactory.create(username="charlie", groups=[sales])
    give(gmail, sales)
    UserFactory.create(username="dave", groups=[GroupFactory.create(name="Finance")])

    everywhere = as_admin.get("/access/tools/gmail__send_email/")
    there = as_admin.get(f"/access/tools/gmail__send_email/?group={sales.pk}")

    everyone = {row.holder.user for row in everywhere.context["rows"]}
    assert everyone == {"alice", "charlie", "root"}
    assert [row.holder.user for row in there.context["rows"]] == ["charlie"]


def test_a_holder_leads_to_the_explanation(
    as_admin: Client, alice: User, gmail: Capability
) -> None:
    rows = as_admin.get("/access/tools/gmail__send_email/").context["rows"]
    address = next(row.address for row in rows if row.holder.user == "alice")

    assert "Yes, but it asks first" in as_admin.get(address).content.decode()


def test_a_capability_that_is_not_there_has_no_page(as_admin: Client, support: Group) -> None:
    assert as_admin.get("/access/tools/spoon/").status_code == 404


def test_names_are_completed(as_admin: Client, gmail: Capability, calendar: Capability) -> None:
    text = as_admin.get("/access/find/capabilities/?capability=mail").content.decode()

    assert "gmail__send_email" in text
    assert "calendar" not in text


def test_one_sees_why_one_has_a_tool(as_alice: Client, gmail: Capability) -> None:
    detail = as_alice.get("/tools/gmail__send_email/").content.decode()
    why = as_alice.get("/tools/gmail__send_email/why/").content.decode()

    assert "/tools/gmail__send_email/why/" in detail
    assert "gmail is granted to the group Support" in why


def test_the_advice_of_admins_is_not_for_everyone(
    as_alice: Client, gmail: Capability, root: Space
) -> None:
    lay_down(Rule.Effect.ALLOW, gmail.integration, root)
    lay_down(Rule.Effect.PROPOSE, gmail, root)

    text = as_alice.get("/tools/gmail__send_email/why/").content.decode()

    assert "What works:" not in text
    assert "/access/" not in text


def test_what_one_does_not_have_and_what_is_not_there_are_alike(
    as_alice: Client, support: Group
) -> None:
    hidden = CapabilityFactory.create(full_name="payroll__pay")

    answers = {
        (response.status_code, response.content.decode().replace(name, "NAME"))
        for name in (hidden.full_name, "spoon")
        for response in [as_alice.get(f"/tools/{name}/why/")]
    }

    assert len(answers) == 1
    assert answers.pop()[0] == 404


@pytest.fixture
def tool(db: None) -> Capability:
    return CapabilityFactory.create(integration__slug="gmail", integration__title="Gmail")


def test_a_grant_to_the_person_is_named(tool: Capability, alice: User, support: Group) -> None:
    give(tool, alice)

    assert _ground(tool, alice, support) == "it is granted to you"


def test_an_integration_given_to_the_person_is_named(
    tool: Capability, alice: User, support: Group
) -> None:
    give(tool.integration, alice)

    assert _ground(tool, alice, support) == "Gmail is granted to you"


def test_a_grant_of_one_tool_to_the_group_is_named(
    tool: Capability, alice: User, support: Group
) -> None:
    give(tool, support)

    assert _ground(tool, alice, support) == "it is granted to your group Support"


def test_a_grant_to_the_group_is_named_before_its_openness(
    tool: Capability, alice: User, support: Group
) -> None:
    GroupPolicy.objects.filter(group=support).update(open_default=True)
    give(tool.integration, support)

    assert _ground(tool, alice, support) == "Gmail is granted to your group"


def test_a_rule_is_named_before_any_grant(tool: Capability, alice: User, support: Group) -> None:
    give(tool, alice)
    lay_down(Rule.Effect.ALLOW, tool.integration, Space.objects.get(group=support))

    assert _ground(tool, alice, support) == "a rule in Root allows it"


def test_in_one_space_the_strictest_rule_is_named(
    tool: Capability, alice: User, support: Group
) -> None:
    root = Space.objects.get(group=support)
    lay_down(Rule.Effect.ALLOW, tool, root)
    lay_down(Rule.Effect.PROPOSE, tool.integration, root)

    assert _ground(tool, alice, support) == "a rule in Root makes it ask first"


def test_the_rule_of_the_nearest_space_is_named(
    tool: Capability, alice: User, support: Group
) -> None:
    root = Space.objects.get(group=support)
    desk = Space.objects.create(group=support, parent=root, name="Desk", slug="desk")
    lay_down(Rule.Effect.PROPOSE, tool, root)
    lay_down(Rule.Effect.ALLOW, tool, desk)

    caller = Caller(alice.pk, support.pk, desk.pk)

    assert _ground(tool, alice, support, caller) == "a rule in Desk allows it"


def test_a_rule_for_someone_else_is_not_named(
    tool: Capability, alice: User, support: Group
) -> None:
    interns = GroupFactory.create(name="Interns")
    give(tool.integration, support)
    lay_down(Rule.Effect.PROPOSE, tool, Space.objects.get(group=support), group=interns)

    assert _ground(tool, alice, support) == "Gmail is granted to your group"


def _ground(tool: Capability, user: User, group: Group, caller: Caller | None = None) -> str:
    caller = caller or Caller(user.pk, group.pk)
    usable = Capability.objects.usable_by(caller).select_related("integration").get(pk=tool.pk)
    return str(grounds_for(caller=caller, capabilities=[usable])[tool.pk])
