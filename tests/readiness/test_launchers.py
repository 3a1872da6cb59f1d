"""Launchers that are missing or not allowed are known before a tool is offered."""

import sys

import pytest
from pytest_django.fixtures import Settings

from acl.rights.caller_lookup import Caller
from catalog.access.my_tools import load_readiness
from catalog.models import Integration
from catalog.readiness.obstacles import Obstacle
from catalog.servers.tasks import check_integration, check_integrations
from discovery.calls.execution import execute
from discovery.select.selection import SelectRequest
from discovery.select.selector import select_capabilities
from tests.factories import CapabilityFactory, GroupFactory, IntegrationFactory, UserFactory, give

pytestmark = pytest.mark.django_db


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
