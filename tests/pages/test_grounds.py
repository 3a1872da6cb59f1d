"""The displayed ground of a tool is the deciding one."""

import pytest
from django.contrib.auth.models import Group, User

from acl.models import GroupPolicy, Space
from acl.rights.caller_lookup import Caller
from catalog.access.grounds import grounds_for
from catalog.models import Capability, Rule
from tests.factories import CapabilityFactory, GroupFactory, give, lay_down


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
